"""One poll of a cluster: lease, caches, window. Called by the Celery task and by `manage.py poll --once`."""

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
    CLUSTER_LEASE_SECONDS,
    ClusterLease,
    LeaseLostError,
    acquire_lease,
    last_holders,
    release_lease,
)
from gangboard.store.models import Cluster, Gang
from gangboard.store.observations import invalidate_cluster, save_contact, writing
from gangboard.store.secrets import SecretUnreadableError, unseal

log = get_logger(__name__)

BAD_CREDENTIALS_PAUSE = 2.0
"""Seconds before the next attempt for a cluster with unusable credentials."""
ONCE_SECONDS = 120.0
"""Maximum seconds that `poll --once` spends on one cluster."""

_caches: dict[int, ClusterCache] = {}
_caches_lock = threading.Lock()
"""Caches of this process by cluster, for as long as no other worker has had the cluster."""
_resting: dict[int, int] = {}
"""Released cluster whose cache is kept → number of objects in it. Under the same lock."""
_restored_at: dict[int, float] = {}
"""Moments of `time.monotonic()` at which this process last detected a restore of each cluster."""
MAX_RESTING_CLUSTERS = 64
MAX_RESTING_OBJECTS = 100_000
"""Limits of the caches of released clusters. An object takes about 2 KB."""


@dataclass(frozen=True, slots=True)
class PollReport:
    """The result of one poll of one cluster, for people."""

    cluster: str
    sentence: str
    """Why the cluster could not be read. Empty if it was read."""
    resources: dict[str, str] = field(default_factory=dict)
    """Resource key → state."""
    objects: int = 0
    written: int = 0
    """Rows written."""
    gangs: int = 0
    problems: int = 0
    """Objects that could not be read, or only in part."""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """True if the cluster was read."""
        return not self.sentence


def poll_window(cluster_id: int, holder: str, stopping: threading.Event | None = None) -> bool:
    """Hold the cluster for one window, or until `stopping` is set. Return whether this worker may continue with it.

    It may not if another worker holds the cluster, or if a defect of gangboard ended the poll. The defect is recorded
    for the cluster, and the poll is repeated after the lease has expired. `poll_slots.PollSlots` ensures that one
    worker polls a cluster only once at a time.
    """
    lease = acquire_lease(cluster_id, holder)
    if lease is None:
        drop_cache(cluster_id)
        return False
    try:
        cache = _cache_for(lease)
        if cache is None:
            # An admin may replace the credentials, so there is no hurry.
            (stopping or threading.Event()).wait(BAD_CREDENTIALS_PAUSE)
        else:
            _new_window(cache, settings.POLL_WINDOW, stopping=stopping).run()
    except LeaseLostError as lost:
        log.warning("lease lost", cluster=cluster_id, why=str(lost))
        drop_cache(cluster_id)
        return False
    except RestoredError as restored:
        return _invalidate(lease, restored)
    except Exception as defect:  # the edge of a task: recorded and logged
        log.exception("poll ended in a defect", cluster=cluster_id)
        # The caches may be inconsistent. The store is not.
        drop_cache(cluster_id)
        _record_defect(lease, defect)
        return False
    return True


def _invalidate(lease: ClusterLease, restored: RestoredError) -> bool:
    """Invalidate everything, so that the next window lists it. Return False if another worker holds the cluster."""
    log.warning("API server was restored", cluster=lease.cluster_id, why=str(restored))
    drop_cache(lease.cluster_id)
    _restored_at[lease.cluster_id] = time.monotonic()
    try:
        invalidate_cluster(lease, events=EVENT.key)
    except LeaseLostError as lost:
        log.warning("lease lost", cluster=lease.cluster_id, why=str(lost))
        return False
    return True


def _record_defect(lease: ClusterLease, defect: Exception) -> None:
    sentence = (
        f"A defect of gangboard ended the poll ({type(defect).__name__}). "
        "The last known state is kept; the log of the poll worker has the details."
    )
    try:
        _record_problem(lease, "defect", sentence)
    except LeaseLostError as lost:
        # The new holder records the state of the cluster.
        log.warning("lease lost", cluster=lease.cluster_id, why=str(lost))


def _record_problem(lease: ClusterLease, problem: str, sentence: str) -> None:
    """Record in the cluster's row why it was not read. Raises LeaseLostError."""
    with writing(lease):
        save_contact(
            lease.cluster_id,
            contact_at=None,
            problem=problem,
            sentence=sentence,
            now=datetime.now(UTC),
        )


def _new_window(
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
    """Drop the caches of a cluster. `only_resting`: unless the cluster is polled again."""
    with _caches_lock:
        if only_resting and cluster_id not in _resting:
            return
        cache = _caches.pop(cluster_id, None)
        _resting.pop(cluster_id, None)
    if cache is not None:
        cache.close()


def hand_back(cluster_id: int, holder: str, *, keep: bool = True) -> None:
    """Release a cluster, so that another worker can take it.

    `keep`: keep its caches within the limits, in case it comes back before another worker has had it.
    """
    if not (keep and _keep_cache(cluster_id, holder)):
        drop_cache(cluster_id)
    lease = acquire_lease(cluster_id, holder)
    if lease is not None:
        release_lease(lease)


def _keep_cache(cluster_id: int, holder: str) -> bool:
    """Keep the cache of a released cluster. Return False if a limit is reached.

    Caches that are kept are never evicted for newer ones. Clusters come back in turn. If the last one evicted the
    next one, every cluster would be read again.
    """
    with _caches_lock:
        resting = tuple(_resting)
    holders = last_holders(resting)
    for resting_id in resting:
        if holders.get(resting_id) != holder:  # another worker has it by now, or it was removed
            drop_cache(resting_id, only_resting=True)
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


def _cache_for(lease: ClusterLease) -> ClusterCache | None:
    """Return the cache for this lease. It is a new one if the lease or the credentials have changed."""
    cluster = Cluster.objects.filter(pk=lease.cluster_id).first()
    if cluster is None:
        drop_cache(lease.cluster_id)
        return None
    with _caches_lock:
        cache = _caches.get(lease.cluster_id)
        _resting.pop(lease.cluster_id, None)
    stamp = bytes(cluster.credentials)
    if cache is not None and cache.lease == lease and cache.credentials_stamp == stamp:
        return cache
    drop_cache(lease.cluster_id)
    cache = _new_cache(lease, cluster)
    if cache is not None:
        with _caches_lock:
            _caches[lease.cluster_id] = cache
    return cache


def _new_cache(lease: ClusterLease, cluster: Cluster) -> ClusterCache | None:
    try:
        credentials = Credentials.from_document(unseal(bytes(cluster.credentials)))
        connection = Connection(credentials, destinations=cluster_destinations())
    except (SecretUnreadableError, KubeError) as error:
        sentence = error.sentence if isinstance(error, KubeError) else str(error)
        _record_problem(lease, KubeErrorCode.CREDENTIALS.value, sentence)
        log.warning("credentials unusable", cluster=cluster.name, why=sentence)
        return None
    cache = ClusterCache(
        lease=lease,
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
    restored_at = _restored_at.get(cluster_id)
    return 0.0 if restored_at is None else restored_at + RESTORES_APART


def poll_once(cluster_name: str | None = None) -> list[PollReport]:
    """List all resources of one cluster or of all clusters, store and assess them, and return the results.

    It takes the lease of each cluster in turn. If a worker holds a cluster for longer than the lease time, the report
    says so. Raises LookupError for an unknown name.
    """
    clusters = Cluster.objects.order_by("name")
    if cluster_name is not None:
        clusters = clusters.filter(name=cluster_name)
        if not clusters.exists():
            raise LookupError(f"there is no cluster named {cluster_name!r}")
    return [_poll_one(cluster) for cluster in clusters]


def _poll_one(cluster: Cluster) -> PollReport:
    holder = f"poll --once {threading.get_native_id()} {time.time_ns()}"
    give_up_at = time.monotonic() + CLUSTER_LEASE_SECONDS + 1
    while (lease := acquire_lease(cluster.pk, holder)) is None:
        if time.monotonic() > give_up_at:
            return PollReport(cluster.name, "a running poll worker holds this cluster")
        time.sleep(0.2)
    try:
        try:
            return _list_all(lease, cluster)
        except RestoredError as restored:
            _invalidate(lease, restored)
            return _list_all(lease, cluster)
    except LeaseLostError:
        return PollReport(cluster.name, "another worker took this cluster over meanwhile")
    finally:
        release_lease(lease)


def _list_all(lease: ClusterLease, cluster: Cluster) -> PollReport:
    """List all resources once. Raises LeaseLostError and RestoredError."""
    started = time.monotonic()
    cache = _new_cache(lease, cluster)
    if cache is None:
        cluster.refresh_from_db()
        return PollReport(cluster.name, cluster.sentence)
    window = _new_window(cache, ONCE_SECONDS, list_only=True)
    window.run()
    return _report(cluster, cache, window, time.monotonic() - started)


def _report(
    cluster: Cluster, cache: ClusterCache, window: PollWindow, seconds: float
) -> PollReport:
    cache.close()
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
