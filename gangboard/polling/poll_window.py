"""One poll window of one cluster: discover, list and watch all resources at once, store the changes, stop in time."""

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
from gangboard.polling.assessor import Assessor
from gangboard.polling.cluster_cache import ClusterCache, resources
from gangboard.polling.reachability import last_contact_at
from gangboard.polling.reflector import Reflector
from gangboard.polling.resource_watch import WatchedResource
from gangboard.polling.store_writer import CONTACT_EVERY, StoreWriter, is_overdue
from gangboard.polling.visibility import are_groups_listed
from gangboard.polling.watch_batches import WatchUpdate
from gangboard.store.cluster_leases import renew_lease
from gangboard.store.observations import (
    invalidate_resources,
    save_controller_build,
    save_discovery,
    save_identity,
)

log = get_logger(__name__)

REFRESH_SECONDS = 2.0
"""Seconds that a window waits for a new discovery before it continues with the last one."""
COMMIT_AT_LEAST_EVERY = 0.5
"""Seconds between two commits under constant load."""
SILENCE = 0.02
"""Seconds without an update after which the pending updates are stored."""
QUEUED = 64
"""Updates that may wait for the writer. Reflectors block above that."""
ROWS_AT_ONCE = 2000
LISTS_AT_ONCE = 8
"""The number of connections that stay open between requests. Most resources are empty, so a TLS handshake costs as much as
their list."""
ABSENCE_SECONDS = 60.0
"""Seconds after which the objects of a resource that is no longer served count as deleted."""
JOIN_SECONDS = 5.0
LIST_SECONDS = 600.0
"""Seconds by which a list may exceed its window."""


@dataclass(slots=True)
class LastContact:
    """The last time in this window that objects of the cluster were read."""

    at: datetime | None = None

    def now(self) -> None:
        """Record a contact."""
        self.at = datetime.now(UTC)


class PollWindow:
    """Watches one cluster for some seconds, or (`list_only`) until everything was listed once."""

    def __init__(
        self,
        cache: ClusterCache,
        *,
        seconds: float,
        repair_interval: float,
        list_only: bool = False,
        stopping: threading.Event | None = None,
    ) -> None:
        if cache.connection is None:
            raise ValueError("a window needs a connection")
        self._cache = cache
        self._connection = cache.connection
        self._repair_interval = repair_interval
        self._list_only = list_only
        self._ends_at = time.monotonic() + seconds
        self._stopping = stopping or threading.Event()
        self._updates: queue.Queue[WatchUpdate] = queue.Queue(maxsize=QUEUED)
        self._list_slots = threading.BoundedSemaphore(LISTS_AT_ONCE)
        self._contact = LastContact()
        self._reflected: set[str] = set()
        """Keys of the resources that have a reflector."""
        self._is_discovered = False
        self._assessor = Assessor(cache)
        self.writer = StoreWriter(cache, self._assessor)
        self.error = cache.error
        """Why the cluster as a whole could not be read."""

    def run(self) -> None:
        """Run the window. Raises LeaseLostError if another worker took the cluster, and RestoredError."""
        if not self._discover():
            self._report_no_discovery()
            return
        reflectors: list[Reflector] = []
        self._start_reflectors(reflectors)
        if self._is_discovered:
            cache = self._cache
            cache.builds.start(self._connection, cache.watched, cache.cluster_name)
        try:
            self._write_until_done(reflectors)
        finally:
            for reflector in reflectors:
                reflector.halt()
        self._finish(reflectors)

    def _discover(self) -> bool:
        """Run discovery if it is due. Return whether the cluster has one, which may be an older one.

        The next window takes a discovery that is later than this window waits for it.
        """
        cache, schedule = self._cache, self._cache.discovery_schedule
        groups = {item.group for item in resources()}
        is_started = schedule.start(lambda: discover(self._connection, groups=groups))
        if cache.discovery is None:
            self._wait(self._ends_at - time.monotonic(), lambda: not schedule.is_running)
        elif is_started:
            self._wait(REFRESH_SECONDS, lambda: not schedule.is_running)
        logged = schedule.error.sentence if schedule.error else ""
        result = schedule.take_result(is_known=cache.discovery is not None)
        if result is not None:
            if (error := self._identity_error(result[0].cluster_uid)) is not None:
                # The objects of two clusters must not be mixed.
                cache.discovery, schedule.error = None, error
                return False
            self._take_discovery(*result)
        elif schedule.error is not None and schedule.error.sentence != logged:
            why = schedule.error.sentence
            log.warning("cluster does not say what it serves", cluster=cache.cluster_name, why=why)
        return cache.discovery is not None

    def _identity_error(self, uid: str) -> KubeError | None:
        """Return why this cluster must not be read: it is another one, or it has a name in gangboard already."""
        identity = save_identity(self._cache.lease, uid)
        if identity.is_own:
            return None
        name, host = self._cache.cluster_name, self._connection.host
        if identity.known_as:
            sentence = second_name_sentence(identity.known_as, name)
            return KubeError(KubeErrorCode.SAME_CLUSTER, sentence)
        return KubeError(
            KubeErrorCode.OTHER_CLUSTER,
            f"Another cluster answers at {host} than the one that was added as {name}: its kube-system "
            "namespace has another uid. Nothing of it is read.",
        )

    def _take_discovery(self, discovery: Discovery, at: datetime) -> None:
        self._cache.discovery = discovery
        self._is_discovered = True
        self._apply_discovery(discovery)
        save_discovery(self._cache.lease, server_version=discovery.server_version, at=at)

    def _report_no_discovery(self) -> None:
        """Record why there is no discovery, and wait until the next one is due."""
        schedule = self._cache.discovery_schedule
        self.error = schedule.error
        if self.error is None and self._list_only:
            host = self._connection.host
            self.error = KubeError(
                KubeErrorCode.TIMEOUT, f"{host} did not say in time what it serves."
            )
        if self.error is not None:
            self.writer.record_contact(None, *self._problem())
        if not self._list_only:
            self._wait(min(self._ends_at, schedule.next_at) - time.monotonic(), lambda: False)

    def _wait(self, seconds: float, is_done: Callable[[], bool]) -> None:
        """Wait, and renew the lease meanwhile. A shutdown ends the wait. Raises LeaseLostError."""
        give_up_at = time.monotonic() + seconds
        renewed_at = time.monotonic()
        while not is_done() and time.monotonic() < give_up_at and not self._stopping.wait(SILENCE):
            if time.monotonic() - renewed_at > CONTACT_EVERY:
                renew_lease(self._cache.lease)
                renewed_at = time.monotonic()

    def _apply_discovery(self, discovery: Discovery) -> None:
        """Set whether each resource is served, and in which version it is read."""
        for watched in self._cache.watched.values():
            resource = watched.resource
            items = discovery.resources.get((resource.group, resource.plural), ())
            served = [item.version for item in items]
            failure = discovery.failure_of(resource.group)
            version = resource.readable_version(served)
            if version:
                self._set_version(watched, version)
            elif served:
                names = ", ".join(sorted(set(served)))
                watched.version = watched.resource_version = ""
                watched.set_state(
                    WatchState.UNKNOWN_VERSION,
                    f"{resource.key} is served as {names}, which this release cannot read",
                )
            elif failure is not None:
                watched.set_state(WatchState.FAILING, failure.sentence)
            else:
                self._set_not_served(watched)

    def _set_version(self, watched: WatchedResource, version: str) -> None:
        """Set the API version in which a resource is read. Raises LeaseLostError.

        Objects keep their resourceVersion when the API version changes, so all of them must be read again. They do
        not count as deleted. An unknown version that could not be read is tried again. It stays unobserved until it
        was listed completely.
        """
        if version != watched.version:
            watched.version, watched.resource_version = version, ""
            versions = self._cache.versions[watched.resource.key]
            if versions:
                versions.update(dict.fromkeys(versions, ""))
                invalidate_resources(self._cache.lease, [watched.resource.key])
        is_readable_again = (
            watched.state == WatchState.UNKNOWN_VERSION and not watched.is_version_guessed
        )
        if watched.state == WatchState.NOT_SERVED or is_readable_again:
            watched.set_state(WatchState.LISTING)

    def _set_not_served(self, watched: WatchedResource) -> None:
        """Delete the objects of a resource that is no longer served.

        They are kept for ABSENCE_SECONDS, because an API server that has just started does not know its custom
        resources yet.
        """
        key = watched.resource.key
        watched.version = watched.resource_version = ""
        if self._cache.versions[key] and not is_overdue(
            watched.contact_at, ABSENCE_SECONDS, datetime.now(UTC)
        ):
            self._cache.discovery_schedule.make_due()
            watched.set_state(
                WatchState.FAILING, f"{key} was served before and is not now; what was seen is kept"
            )
            return
        watched.set_state(WatchState.NOT_SERVED)
        watched.is_current = False
        self.writer.remove_resource(key)

    def _start_reflectors(self, reflectors: list[Reflector]) -> bool:
        """Start the missing reflectors of needed resources. Return whether any was missing."""
        new = [
            watched
            for watched in self._needed_resources()
            if watched.resource.key not in self._reflected
        ]
        for watched in new:
            self._reflected.add(watched.resource.key)
            reflectors.append(reflector := self._new_reflector(watched))
            reflector.start()
        return bool(new)

    def _needed_resources(self) -> list[WatchedResource]:
        """Return the resources that are served and needed. Delete the objects of the others."""
        return [
            watched
            for watched in self._cache.watched.values()
            if watched.version and self._is_needed(watched)
        ]

    def _is_needed(self, watched: WatchedResource) -> bool:
        key = watched.resource.key
        if key not in registry.read_on_demand() or key in self._reflected:
            return True
        if not are_groups_listed(self._cache.watched):
            return False
        if key in self._cache.ownership_graph.owners_to_read():
            if watched.state == WatchState.NOT_NEEDED:
                watched.set_state(WatchState.LISTING)
            return True
        if watched.state != WatchState.NOT_NEEDED:
            watched.resource_version, watched.is_current = "", False
            watched.set_state(WatchState.NOT_NEEDED)
            self.writer.remove_resource(key)
        return False

    def _new_reflector(self, watched: WatchedResource) -> Reflector:
        key = watched.resource.key
        if watched.needs_relist:
            log.warning("watches are silent", cluster=self._cache.cluster_name, resource=key)
        if watched.needs_relist or is_overdue(
            watched.listed_at, self._repair_interval, datetime.now(UTC)
        ):
            watched.resource_version = ""
        return Reflector(
            connection=self._connection,
            watched=watched,
            versions=self._cache.versions[key],
            list_slots=self._list_slots,
            out=self._updates,
            ends_at=self._ends_at,
            list_only=self._list_only,
            on_contact=self._contact.now,
            meter=self._cache.meter,
        )

    def _write_until_done(self, reflectors: list[Reflector]) -> None:
        first_pending: float | None = None
        while (
            any(reflector.is_alive() for reflector in reflectors)
            or not self._updates.empty()
            or self._start_reflectors(reflectors)
        ):
            self._raise_defects(reflectors)
            self._store_builds()
            if self._is_over(reflectors):
                return
            try:
                self.writer.apply(self._updates.get(timeout=SILENCE if first_pending else 0.1))
                first_pending = first_pending or time.monotonic()
                overdue = time.monotonic() - first_pending > COMMIT_AT_LEAST_EVERY
                if not overdue and len(self.writer) < ROWS_AT_ONCE:
                    continue
            except queue.Empty:
                pass
            self._start_reflectors(reflectors)
            self.writer.commit()
            first_pending = None
            self.error = self._common_error(reflectors)
            if self.writer.is_contact_due:
                self.writer.record_contact(last_contact_at(self._cache.watched), *self._problem())

    def _is_over(self, reflectors: list[Reflector]) -> bool:
        """Return whether the window ends now.

        A running list may finish, because a large cluster could not be read otherwise. A watch that is about to end may
        end as well, because its connection then serves the next window.
        """
        if self._stopping.is_set():
            return True
        late = time.monotonic() - self._ends_at
        if late < 0 or self._list_only:
            return False
        return late > LIST_SECONDS or not any(
            reflector.is_listing or reflector.is_about_to_end for reflector in reflectors
        )

    def _finish(self, reflectors: list[Reflector]) -> None:
        """Apply the queued updates while the reflectors end. Store them and the resourceVersions."""
        give_up_at = time.monotonic() + JOIN_SECONDS
        while any(reflector.is_alive() for reflector in reflectors) or not self._updates.empty():
            try:
                self.writer.apply(self._updates.get(timeout=SILENCE))
            except queue.Empty:
                if time.monotonic() > give_up_at:
                    break
        self._raise_defects(reflectors)
        self._needed_resources()  # so that no verdict waits for a resource that is not needed
        self.writer.commit(settle=self._list_only)
        if self._list_only:
            builds = self._cache.builds
            self._wait(self._ends_at - time.monotonic(), lambda: not builds.is_running)
        self._store_builds()
        if any(reflector.is_not_served for reflector in reflectors) or self._awaits_holds():
            self._cache.discovery_schedule.make_due()
        self.error = self._cache.error = self._last_error(reflectors)
        self.writer.record_contact(last_contact_at(self._cache.watched), *self._problem())
        self.writer.store_all()

    def _store_builds(self) -> None:
        """Store the builds of controllers once they were read. Raises LeaseLostError."""
        builds = self._cache.builds.take_result()
        if builds is not None:
            save_controller_build(self._cache.lease, builds)

    def _awaits_holds(self) -> bool:
        """Return whether the policy of Holds exists and the resource does not, because it is being installed."""
        cache = self._cache
        return bool(cache.versions[POLICY.key]) and not cache.watched[HOLD.key].version

    def _raise_defects(self, reflectors: list[Reflector]) -> None:
        for reflector in reflectors:
            if reflector.crash is not None:
                raise reflector.crash

    def _common_error(self, reflectors: list[Reflector]) -> KubeError | None:
        """Return the error of the cluster as a whole. It has one only if none of its resources can be read.

        Until the first contact in this window, the error of the last window stands.
        """
        errors = [reflector.error for reflector in reflectors]
        if errors and all(error is not None for error in errors):
            return errors[0]
        return self.error if self._contact.at is None else None

    def _last_error(self, reflectors: list[Reflector]) -> KubeError | None:
        """Return the error at the end of a window. Without contact and error, make discovery due to find one."""
        error = self._common_error(reflectors)
        if self._contact.at is not None or not reflectors:
            return error
        error = error or self._cache.discovery_schedule.error
        if error is None:
            self._cache.discovery_schedule.make_due()
        return error

    def _problem(self) -> tuple[str, str]:
        return (self.error.code, self.error.sentence) if self.error else ("", "")
