"""One window of one cluster: discover, follow everything at once, write, and stop in time."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from gangboard.decode.admission_policies import POLICY
from gangboard.decode.holds import HOLD
from gangboard.domain.api_resource import WatchState
from gangboard.domain.cluster_reach import second_name_sentence
from gangboard.kube.discovery import Discovery, discover
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.logs import get_logger
from gangboard.plugins import registry
from gangboard.polling import controller_builds
from gangboard.polling.assessor import Assessor
from gangboard.polling.cluster_cache import ClusterCache, resources
from gangboard.polling.reachability import heard_at
from gangboard.polling.reflector import Reflector
from gangboard.polling.resource_watch import News, Watched
from gangboard.polling.store_writer import CONTACT_EVERY, StoreWriter, is_overdue
from gangboard.polling.visibility import are_pods_grouped
from gangboard.store.cluster_leases import renew_lease
from gangboard.store.observations import (
    read_again,
    save_discovery,
    save_identity,
)

log = get_logger(__name__)

REFRESH_SECONDS = 2.0
"""How long a window waits for what is served now; then it goes on with what was served before."""
COMMIT_AT_LEAST_EVERY = 0.5
"""Seconds: under constant load what came is stored this often."""
SILENCE = 0.02
"""Seconds without news after which what came is stored."""
QUEUED = 64
"""Batches that may wait for the writer; readers pause beyond that."""
ROWS_AT_ONCE = 2000
LISTS_AT_ONCE = 8
"""As many as connections stay open between requests: most resources are empty, and to shake hands for
one costs as much as to list it."""
ABSENCE_SECONDS = 60.0
"""How long a resource must be missing before its objects count as gone."""
JOIN_SECONDS = 5.0
LIST_SECONDS = 600.0
"""How much longer than its window a list may take."""


@dataclass(slots=True)
class Contact:
    """The last time in this window that something of the cluster's objects was seen."""

    at: datetime | None = None

    def now(self) -> None:
        """Something was."""
        self.at = datetime.now(UTC)


class Window:
    """Follows one cluster for some seconds, or (`list_only`) until everything was listed once."""

    def __init__(
        self,
        cache: ClusterCache,
        *,
        seconds: float,
        repair_interval: float,
        list_only: bool = False,
        stopping: threading.Event | None = None,
    ) -> None:
        self._cache = cache
        self._repair_interval = repair_interval
        self._list_only = list_only
        self._ends_at = time.monotonic() + seconds
        self._stopping = stopping or threading.Event()
        self._news: queue.Queue[News] = queue.Queue(maxsize=QUEUED)
        self._list_slots = threading.BoundedSemaphore(LISTS_AT_ONCE)
        self._contact = Contact()
        self._followed: set[str] = set()
        """Keys of the resources that have a reflector."""
        self._is_discovered = False
        self._assessor = Assessor(cache)
        self.writer = StoreWriter(cache, self._assessor)
        self.error = cache.trouble
        """Why the cluster as a whole could not be looked at."""

    def run(self) -> None:
        """Do all of it. Raises LeaseLostError when another worker took the cluster, and RestoredError."""
        if not self._discover():
            self._say_why_not()
            return
        reflectors: list[Reflector] = []
        self._follow(reflectors)
        if self._is_discovered:
            # After each discovery, beside the lists.
            controller_builds.read_builds(self._cache)
        try:
            self._write_until_done(reflectors)
        finally:
            for reflector in reflectors:
                reflector.halt()
        self._finish(reflectors)

    def _discover(self) -> bool:
        """Learn what is served where that is due; an old answer serves while a new one is awaited.

        An answer that comes later than the window waits for it is taken by the next one.
        """
        cache, schedule = self._cache, self._cache.discovery_schedule
        groups = {item.group for item in resources()}
        begun = schedule.begin(lambda: discover(cache.connection, groups=groups))
        if cache.discovery is None:
            self._hold(self._ends_at - time.monotonic(), lambda: not schedule.is_under_way)
        elif begun:
            self._hold(REFRESH_SECONDS, lambda: not schedule.is_under_way)
        told = schedule.error.sentence if schedule.error else ""
        answer = schedule.take(is_known=cache.discovery is not None)
        if answer is not None:
            if (stranger := self._is_stranger(answer[0].cluster_uid)) is not None:
                # Its objects must not mix with those of the cluster that was added.
                cache.discovery, schedule.error = None, stranger
                return False
            self._take_discovery(*answer)
        elif schedule.error is not None and schedule.error.sentence != told:
            why = schedule.error.sentence
            log.warning("cluster does not say what it serves", cluster=cache.cluster_name, why=why)
        return cache.discovery is not None

    def _is_stranger(self, uid: str) -> KubeError | None:
        """Return why what answers is not to be read: it is another cluster, or one with a name already."""
        found = save_identity(self._cache.claim, uid)
        if found.is_own:
            return None
        name, host = self._cache.cluster_name, self._cache.connection.host
        if found.known_as:
            sentence = second_name_sentence(found.known_as, name)
            return KubeError(KubeErrorCode.SAME_CLUSTER, sentence)
        return KubeError(
            KubeErrorCode.OTHER_CLUSTER,
            f"Another cluster answers at {host} than the one that was added as {name}: its kube-system "
            "namespace has another uid. Nothing of it is read.",
        )

    def _take_discovery(self, found: Discovery, at: datetime) -> None:
        self._cache.discovery = found
        self._is_discovered = True
        self._apply_discovery(found)
        save_discovery(self._cache.claim, server_version=found.server_version, at=at)

    def _say_why_not(self) -> None:
        """Nothing is known of what is served: say why, and wait until asking again is due."""
        schedule = self._cache.discovery_schedule
        self.error = schedule.error
        if self.error is None and self._list_only:
            host = self._cache.connection.host
            self.error = KubeError(
                KubeErrorCode.TIMEOUT, f"{host} did not say in time what it serves."
            )
        if self.error is not None:
            self.writer.write_contact(None, *self._problem())
        if not self._list_only:
            self._hold(min(self._ends_at, schedule.next_at) - time.monotonic(), lambda: False)

    def _hold(self, seconds: float, is_done: Callable[[], bool]) -> None:
        """Wait, at most that long and until told to stop, and keep the lease meanwhile.

        Raises LeaseLostError.
        """
        give_up_at = time.monotonic() + seconds
        renewed_at = time.monotonic()
        while not is_done() and time.monotonic() < give_up_at and not self._stopping.wait(SILENCE):
            if time.monotonic() - renewed_at > CONTACT_EVERY:
                renew_lease(self._cache.claim)
                renewed_at = time.monotonic()

    def _apply_discovery(self, found: Discovery) -> None:
        """Set for each resource whether it is served, and in which version we read it."""
        for watched in self._cache.watched.values():
            resource = watched.resource
            items = found.resources.get((resource.group, resource.plural), ())
            served = [item.version for item in items]
            failure = found.failure_of(resource.group)
            version = resource.readable_version(served)
            if version:
                self._read_in(watched, version)
            elif served:
                names = ", ".join(sorted(set(served)))
                watched.version = watched.resource_version = ""
                watched.show(
                    WatchState.UNKNOWN_VERSION,
                    f"{resource.key} is served as {names}, which this release cannot read",
                )
            elif failure is not None:
                watched.show(WatchState.FAILING, failure.sentence)
            else:
                self._take_away(watched)

    def _read_in(self, watched: Watched, version: str) -> None:
        """Read a resource in a version from now on. Raises LeaseLostError.

        Objects keep their resourceVersion when the API version changes, so all of them count as unread;
        none counts as gone. An unknown version that could not be read is tried again, and stays
        unobserved until its list came to its end.
        """
        if version != watched.version:
            watched.version, watched.resource_version = version, ""
            versions = self._cache.versions[watched.resource.key]
            if versions:
                versions.update(dict.fromkeys(versions, ""))
                read_again(self._cache.claim, [watched.resource.key])
        is_known_again = watched.state == WatchState.UNKNOWN_VERSION and not watched.is_guess
        if watched.state == WatchState.NOT_SERVED or is_known_again:
            watched.show(WatchState.LISTING)

    def _take_away(self, watched: Watched) -> None:
        """Forget the objects of a resource that is not served any more.

        But an API server that has just started does not know its custom resources yet: what was
        there a moment ago is kept until the absence has lasted.
        """
        key = watched.resource.key
        watched.version = watched.resource_version = ""
        if self._cache.versions[key] and not is_overdue(
            watched.contact_at, ABSENCE_SECONDS, datetime.now(UTC)
        ):
            self._cache.discovery_schedule.hasten()
            watched.show(
                WatchState.FAILING, f"{key} was served before and is not now; what was seen is kept"
            )
            return
        watched.show(WatchState.NOT_SERVED)
        watched.is_current = False
        self.writer.forget_resource(key)

    def _follow(self, reflectors: list[Reflector]) -> bool:
        """Begin to follow what is served and needed now and is not followed yet; return whether there was any."""
        new = [one for one in self._needed() if one.resource.key not in self._followed]
        for watched in new:
            self._followed.add(watched.resource.key)
            reflectors.append(reflector := self._reflector(watched))
            reflector.start()
        return bool(new)

    def _needed(self) -> list[Watched]:
        """Return what is served and needed now; what was kept of anything else goes."""
        return [one for one in self._cache.watched.values() if one.version and self._is_needed(one)]

    def _is_needed(self, watched: Watched) -> bool:
        key = watched.resource.key
        if key not in registry.read_on_demand() or key in self._followed:
            return True
        if not are_pods_grouped(self._cache.watched):
            return False
        if key in self._cache.ownership_graph.owners_to_read():
            if watched.state == WatchState.NOT_NEEDED:
                watched.show(WatchState.LISTING)
            return True
        if watched.state != WatchState.NOT_NEEDED:
            watched.resource_version, watched.is_current = "", False
            watched.show(WatchState.NOT_NEEDED)
            self.writer.forget_resource(key)
        return False

    def _reflector(self, watched: Watched) -> Reflector:
        key = watched.resource.key
        if watched.is_silent:
            log.warning("watches are silent", cluster=self._cache.cluster_name, resource=key)
        if watched.is_silent or is_overdue(
            watched.listed_at, self._repair_interval, datetime.now(UTC)
        ):
            watched.resource_version = ""
        return Reflector(
            connection=self._cache.connection,
            watched=watched,
            versions=self._cache.versions[key],
            list_slots=self._list_slots,
            out=self._news,
            ends_at=self._ends_at,
            list_only=self._list_only,
            on_contact=self._contact.now,
            meter=self._cache.meter,
        )

    def _write_until_done(self, reflectors: list[Reflector]) -> None:
        first_pending: float | None = None
        while (
            any(reflector.is_alive() for reflector in reflectors)
            or not self._news.empty()
            or self._follow(reflectors)
        ):
            self._raise_defects(reflectors)
            controller_builds.store_builds(self._cache)
            if self._is_over(reflectors):
                return
            try:
                self.writer.take(self._news.get(timeout=SILENCE if first_pending else 0.1))
                first_pending = first_pending or time.monotonic()
                overdue = time.monotonic() - first_pending > COMMIT_AT_LEAST_EVERY
                if not overdue and len(self.writer) < ROWS_AT_ONCE:
                    continue
            except queue.Empty:
                pass
            self._follow(reflectors)
            self.writer.commit()
            first_pending = None
            self.error = self._common_error(reflectors)
            if self.writer.contact_is_due:
                self.writer.write_contact(heard_at(self._cache.watched), *self._problem())

    def _is_over(self, reflectors: list[Reflector]) -> bool:
        """The time is up. A list that has begun is let end, or a large cluster never got in.

        So is a watch that is about to end by itself: its connection is the next window's then.
        """
        if self._stopping.is_set():
            return True
        late = time.monotonic() - self._ends_at
        if late < 0 or self._list_only:
            return False
        return late > LIST_SECONDS or not any(
            reflector.is_listing or reflector.ends_by_itself for reflector in reflectors
        )

    def _finish(self, reflectors: list[Reflector]) -> None:
        """Take what is still queued while the readers end, and store from where to go on."""
        give_up_at = time.monotonic() + JOIN_SECONDS
        while any(reflector.is_alive() for reflector in reflectors) or not self._news.empty():
            try:
                self.writer.take(self._news.get(timeout=SILENCE))
            except queue.Empty:
                if time.monotonic() > give_up_at:
                    break
        self._raise_defects(reflectors)
        self._needed()  # no verdict waits for what turns out not to be
        self.writer.commit(settle=self._list_only)
        if self._list_only and (build := self._cache.build) is not None:
            self._hold(self._ends_at - time.monotonic(), build.done)
        controller_builds.store_builds(self._cache)
        if any(reflector.vanished for reflector in reflectors) or self._holds_should_be_served():
            self._cache.discovery_schedule.hasten()
        self.error = self._cache.trouble = self._last_error(reflectors)
        self.writer.write_contact(heard_at(self._cache.watched), *self._problem())
        self.writer.store_everything()

    def _holds_should_be_served(self) -> bool:
        """The Hold's policy is there and its resource was not: whoever installs it waits for us."""
        cache = self._cache
        return bool(cache.versions[POLICY.key]) and not cache.watched[HOLD.key].version

    def _raise_defects(self, reflectors: list[Reflector]) -> None:
        for reflector in reflectors:
            if reflector.crash is not None:
                raise reflector.crash

    def _common_error(self, reflectors: list[Reflector]) -> KubeError | None:
        """The cluster has a problem as a whole only when nothing of it can be read.

        Before anything has answered in this window, what was wrong is wrong still.
        """
        errors = [reflector.error for reflector in reflectors]
        if errors and all(error is not None for error in errors):
            return errors[0]
        return self.error if self._contact.at is None else None

    def _last_error(self, reflectors: list[Reflector]) -> KubeError | None:
        """Return the problem at the end of a window; when nothing answered, ask for the reason."""
        error = self._common_error(reflectors)
        if self._contact.at is not None or not reflectors:
            return error
        error = error or self._cache.discovery_schedule.error
        if error is None:
            self._cache.discovery_schedule.hasten()
        return error

    def _problem(self) -> tuple[str, str]:
        return (self.error.code, self.error.sentence) if self.error else ("", "")
