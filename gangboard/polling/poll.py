"""A poll: lease, cluster cache, window. Called by the task and by `manage.py poll --once`."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.conf import settings

from gangboard.cluster_networks import cluster_destinations
from gangboard.decode.events import EVENT
from gangboard.kube.connection import Connection
from gangboard.kube.credentials import Credentials
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.logs import get_logger
from gangboard.polling.cache_warm_up import warm_up
from gangboard.polling.cluster_cache import ClusterCache, resources
from gangboard.polling.poll_window import PollWindow
from gangboard.polling.resource_watch import (
    RESTORES_APART,
    RestoredError,
    RevisionTracker,
    WatchedResource,
)
from gangboard.store.cluster_leases import (
    LEASE_SECONDS,
    ClusterLease,
    LeaseLostError,
    acquire_lease,
    last_holders,
    release_lease,
)
from gangboard.store.models import Cluster, Gang
from gangboard.store.observations import forget_history, save_contact, writing
from gangboard.store.secrets import SecretUnreadableError, unseal

log = get_logger(__name__)

BAD_CREDENTIALS_PAUSE = 2.0
"""Pause before a cluster whose credentials cannot be used is tried again."""
ONCE_SECONDS = 120.0
"""The most that `poll --once` gives one cluster."""

_caches: dict[int, ClusterCache] = {}
_caches_lock = threading.Lock()
"""Caches of this process by cluster, kept as long as nobody else has had the cluster."""
_resting: dict[int, int] = {}
"""Clusters that were handed back and whose cache is kept → objects in it; the same lock."""
_restored_at: dict[int, float] = {}
"""Moments of `time.monotonic()` at which this process has noticed the last restore of a cluster."""
MAX_RESTING_CLUSTERS = 64
MAX_RESTING_OBJECTS = 100_000
"""The most that is kept of clusters that were handed back, about 2 KB an object."""


@dataclass(frozen=True, slots=True)
class PollReport:
    """What one poll of one cluster did, for a person to read."""

    cluster: str
    sentence: str
    """Why the cluster could not be looked at; empty when it could."""
    resources: dict[str, str] = field(default_factory=dict)
    """Resource key → state."""
    objects: int = 0
    written: int = 0
    """Rows written."""
    gangs: int = 0
    problems: int = 0
    """Objects that could not be understood."""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the cluster could be looked at."""
        return not self.sentence


def poll_window(cluster_id: int, holder: str, stopping: threading.Event | None = None) -> bool:
    """Hold the cluster for one window, or until `stopping` is set.

    Return False when it is not ours to go on with: another worker holds it, or this poll ended in a
    defect, which is recorded with the cluster and tried again when the lease has run out.
    `poll_slots.PollSlots` see to it that one worker polls a cluster only once at a time.
    """
    held = acquire_lease(cluster_id, holder)
    if held is None:
        drop_cache(cluster_id)
        return False
    try:
        cache = _cache_of(held)
        if cache is None:
            # Unusable credentials: somebody may mend them, and nothing is gained by haste.
            (stopping or threading.Event()).wait(BAD_CREDENTIALS_PAUSE)
        else:
            _window(cache, settings.POLL_WINDOW, stopping=stopping).run()
    except LeaseLostError as lost:
        log.warning("lease lost", cluster=cluster_id, why=str(lost))
        drop_cache(cluster_id)
        return False
    except RestoredError as restored:
        return _begin_anew(held, restored)
    except Exception as defect:  # the edge of a task: recorded and said
        log.exception("poll ended in a defect", cluster=cluster_id)
        # The caches may be half-way, the store is not.
        drop_cache(cluster_id)
        _record_defect(held, defect)
        return False
    return True


def _begin_anew(held: ClusterLease, restored: RestoredError) -> bool:
    """Let the next window read everything; return False when another worker holds the cluster."""
    log.warning("API server was restored", cluster=held.cluster_id, why=str(restored))
    drop_cache(held.cluster_id)
    _restored_at[held.cluster_id] = time.monotonic()
    try:
        forget_history(held, events=EVENT.key)
    except LeaseLostError as lost:
        log.warning("lease lost", cluster=held.cluster_id, why=str(lost))
        return False
    return True


def _record_defect(held: ClusterLease, defect: Exception) -> None:
    sentence = (
        f"A defect of gangboard ended the poll ({type(defect).__name__}). "
        "What was last seen is kept; the log of the poll worker has the details."
    )
    try:
        _record_problem(held, "defect", sentence)
    except LeaseLostError as lost:
        # Whoever holds the cluster now says how it is.
        log.warning("lease lost", cluster=held.cluster_id, why=str(lost))


def _record_problem(held: ClusterLease, problem: str, sentence: str) -> None:
    """Say on the cluster why nobody looked at it. Raises LeaseLostError."""
    with writing(held):
        save_contact(
            held.cluster_id,
            contact_at=None,
            problem=problem,
            sentence=sentence,
            now=datetime.now(UTC),
        )


def _window(
    cache: ClusterCache,
    seconds: float,
    *,
    list_only: bool = False,
    stopping: threading.Event | None = None,
) -> PollWindow:
    return PollWindow(
        cache,
        seconds=seconds,
        repair_interval=settings.REPAIR_INTERVAL,
        list_only=list_only,
        stopping=stopping,
    )


def drop_cache(cluster_id: int, *, only_resting: bool = False) -> None:
    """Forget the caches of a cluster; `only_resting`: unless it has come back meanwhile."""
    with _caches_lock:
        if only_resting and cluster_id not in _resting:
            return
        cache = _caches.pop(cluster_id, None)
        _resting.pop(cluster_id, None)
    if cache is not None:
        cache.connection.close()


def hand_back(cluster_id: int, holder: str, *, keep: bool = True) -> None:
    """Give a cluster back so that another worker can take it.

    `keep`: its caches stay here as far as there is room, for when it comes back before anybody
    else has had it.
    """
    if not (keep and _keep(cluster_id, holder)):
        drop_cache(cluster_id)
    held = acquire_lease(cluster_id, holder)
    if held is not None:
        release_lease(held)


def _keep(cluster_id: int, holder: str) -> bool:
    """Let the cache of a cluster rest; return False when there is no room for it.

    Who came first stays: clusters come back in turn, and if the one that comes back last pushed out
    the one that comes back next, all would be read anew.
    """
    with _caches_lock:
        resting = tuple(_resting)
    holders = last_holders(resting)
    for one in resting:
        if holders.get(one) != holder:  # another's by now, or removed
            drop_cache(one, only_resting=True)
    with _caches_lock:
        cache = _caches.get(cluster_id)
        if cache is None:
            return False
        objects = sum(len(versions) for versions in cache.versions.values())
        if (
            len(_resting) >= MAX_RESTING_CLUSTERS
            or sum(_resting.values()) + objects > MAX_RESTING_OBJECTS
        ):
            return False
        _resting[cluster_id] = objects
    cache.release()
    return True


def _cache_of(held: ClusterLease) -> ClusterCache | None:
    """Return the cache that goes with the lease, a new one after a change of hands."""
    cluster = Cluster.objects.filter(pk=held.cluster_id).first()
    if cluster is None:
        drop_cache(held.cluster_id)
        return None
    with _caches_lock:
        cache = _caches.get(held.cluster_id)
        _resting.pop(held.cluster_id, None)
    stamp = bytes(cluster.credentials)
    if cache is not None and cache.lease == held and cache.credentials_stamp == stamp:
        return cache
    drop_cache(held.cluster_id)
    cache = _new_cache(held, cluster)
    if cache is not None:
        with _caches_lock:
            _caches[held.cluster_id] = cache
    return cache


def _new_cache(held: ClusterLease, cluster: Cluster) -> ClusterCache | None:
    try:
        credentials = Credentials.from_document(unseal(bytes(cluster.credentials)))
        connection = Connection(credentials, destinations=cluster_destinations())
    except (SecretUnreadableError, KubeError) as error:
        sentence = error.sentence if isinstance(error, KubeError) else str(error)
        _record_problem(held, KubeErrorCode.CREDENTIALS.value, sentence)
        log.warning("credentials unusable", cluster=cluster.name, why=sentence)
        return None
    cache = ClusterCache(
        lease=held,
        cluster_name=cluster.name,
        credentials_stamp=bytes(cluster.credentials),
        connection=connection,
        watched={
            resource.key: WatchedResource(
                resource, revision=RevisionTracker(_compares_from(cluster.pk))
            )
            for resource in resources()
        },
    )
    warm_up(cache)
    return cache


def _compares_from(cluster_id: int) -> float:
    last = _restored_at.get(cluster_id)
    return 0.0 if last is None else last + RESTORES_APART


def poll_once(cluster_name: str | None = None) -> list[PollReport]:
    """List everything of one cluster or all, apply and assess it; return when that is done.

    Takes the lease of each cluster in turn. A worker that watches it keeps it; then the report
    says so after the lease time. Raises LookupError for an unknown name.
    """
    clusters = Cluster.objects.order_by("name")
    if cluster_name is not None:
        clusters = clusters.filter(name=cluster_name)
        if not clusters.exists():
            raise LookupError(f"there is no cluster named {cluster_name!r}")
    return [_poll_one(cluster) for cluster in clusters]


def _poll_one(cluster: Cluster) -> PollReport:
    holder = f"poll --once {threading.get_native_id()} {time.time_ns()}"
    give_up_at = time.monotonic() + LEASE_SECONDS + 1
    while (held := acquire_lease(cluster.pk, holder)) is None:
        if time.monotonic() > give_up_at:
            return PollReport(cluster.name, "a running poll worker holds this cluster")
        time.sleep(0.2)
    try:
        try:
            return _list_all(held, cluster)
        except RestoredError as restored:
            _begin_anew(held, restored)
            return _list_all(held, cluster)
    except LeaseLostError:
        return PollReport(cluster.name, "another worker took this cluster over meanwhile")
    finally:
        release_lease(held)


def _list_all(held: ClusterLease, cluster: Cluster) -> PollReport:
    """List everything once. Raises LeaseLostError and RestoredError."""
    started = time.monotonic()
    cache = _new_cache(held, cluster)
    if cache is None:
        cluster.refresh_from_db()
        return PollReport(cluster.name, cluster.sentence)
    window = _window(cache, ONCE_SECONDS, list_only=True)
    window.run()
    return _report(cluster, cache, window, time.monotonic() - started)


def _report(
    cluster: Cluster, cache: ClusterCache, window: PollWindow, seconds: float
) -> PollReport:
    cache.connection.close()
    return PollReport(
        cluster=cluster.name,
        sentence=window.error.sentence if window.error else "",
        resources={key: watched.state for key, watched in cache.watched.items()},
        objects=sum(len(versions) for versions in cache.versions.values()),
        written=window.writer.written,
        gangs=Gang.objects.filter(cluster=cluster, gone_at=None).count(),
        problems=sum(len(watched.problems) for watched in cache.watched.values()),
        seconds=seconds,
    )
