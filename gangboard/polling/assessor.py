"""Assesses the gangs that a change touches, and stores the verdicts that differ."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from gangboard.diagnosis.engine import assess
from gangboard.domain.eviction import GangEviction
from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.usage import AcceleratorUse
from gangboard.domain.verdict import Verdict
from gangboard.facts.accelerator_use import accelerator_use
from gangboard.facts.cluster_view import ClusterView
from gangboard.facts.evictions import evictions_of
from gangboard.facts.gang import Gang as GangModel
from gangboard.facts.stored_verdict import is_whole
from gangboard.plugins import registry
from gangboard.polling.assessment_index import waiting_pod_sets
from gangboard.polling.cluster_cache import ClusterCache
from gangboard.polling.gang_inputs import (
    GangReader,
    InputDigests,
    is_repeatable,
    read_cluster_view,
)
from gangboard.polling.gang_rows import differs, gang_row
from gangboard.polling.usage_recorder import UsageChanges
from gangboard.polling.visibility import (
    is_followed,
    is_listed,
    is_ready_to_assess,
    is_resource_awaited,
    queue_visibility,
    unobserved_resources,
    unreadable_by_namespace,
    why_capacity_unknown,
)
from gangboard.store.gang_search import save_search
from gangboard.store.gangs import VerdictInputs
from gangboard.store.models import Gang
from gangboard.store.observations import (
    mark_gangs_deleted,
    next_data_version,
    save_first_listing,
    save_gangs,
    writing,
)
from gangboard.store.verdict_spans import end_spans, record_verdicts

GANGS_AT_ONCE = 100
PENDING_AT_ONCE = 25
ROUND_SECONDS = 0.5
"""Seconds after which a round over the pending gangs pauses, so that watch updates are stored first."""
WATCHED_AFTER = timedelta(seconds=15)
"""Once everything is followed, the objects that changed before are assessed within this time."""
SETTLE_ROUNDS = 3
"""Rounds over the pending gangs after which gangs that depend on each other must have settled."""


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The facts that all gangs of one assessment share."""

    now: datetime
    cluster: ClusterView
    capacity_version: int
    """Version of `cluster.room`."""
    is_watched: bool
    """The worker saw all changes since the last assessment of these gangs as they happened."""
    digests: InputDigests


@dataclass(frozen=True, slots=True)
class _Assessment:
    """The result of one gang."""

    row: dict[str, Any]
    use: AcceleratorUse
    evictions: tuple[GangEviction, ...]


@dataclass(frozen=True, slots=True)
class _Differences:
    """The results of a batch of gangs that must be stored."""

    changed: list[dict[str, Any]]
    memory_only: list[dict[str, Any]]
    """Rows of which only the memory differs. They keep their version."""
    deleted: list[str]
    usage: UsageChanges
    evictions: list[tuple[Mapping[str, Any], GangEviction]]

    def __bool__(self) -> bool:
        return bool(
            self.changed or self.memory_only or self.deleted or self.usage or self.evictions
        )


class Assessor:
    """Assesses gangs of one cluster and stores the differences."""

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache
        self._reader = GangReader(cache)

    def assess(self, roots: Iterable[str], now: datetime, *, settle: bool = False) -> bool:
        """Assess these gangs, and pending ones when the capacity has changed. Store the capacity.

        Return whether a page would show a difference. Gangs wait until every needed resource was listed once,
        because before that the absence of an object proves nothing. They also wait while the cluster is silent.
        `settle`: leave nothing for later. Raises LeaseLostError.
        """
        cache = self._cache
        unassessed = cache.unassessed
        unassessed |= set(roots)
        if not is_ready_to_assess(cache.watched) or self._awaits_owners():
            return False
        if cache.outage_tracker.suspends_assessment(cache.watched, now, settle=settle):
            cache.followed_since = None
            return False
        autoscaling, touched = cache.autoscaling.observe(now)
        unassessed |= touched | cache.pod_claims.observe(now) | cache.use_alerts.observe()
        unobserved = unobserved_resources(cache.watched, now)
        assesses_all = not cache.assessed_all or unobserved != cache.unobserved
        unassessed |= self._update_unreadable() | self._update_queue_visibility(now)
        cache.unobserved = unobserved
        digests = InputDigests(cache, now)
        if assesses_all:
            unassessed |= self._without_unchanged(
                cache.ownership_graph.roots() | self._stored_roots(), digests
            )
        ordered = sorted(unassessed)
        unassessed.clear()
        reason = why_capacity_unknown(cache.watched, now)
        usage = cache.node_usage
        cluster = read_cluster_view(cache, usage.capacity(reason), autoscaling, now)
        snapshot = _Snapshot(now, cluster, usage.version, self._is_watched(now), digests)
        changed = False
        for start in range(0, len(ordered), GANGS_AT_ONCE):
            changed |= self._assess_batch(ordered[start : start + GANGS_AT_ONCE], snapshot)
        if assesses_all:
            cache.pending.end()
            # Not earlier: a cluster marked as complete before its gangs are stored would show none.
            cache.assessed_all = True
            if is_listed(cache.watched):
                save_first_listing(cache.lease, at=now)
        changed |= self._assess_pending(reason, snapshot, settle=settle)
        changed |= cache.capacity.write(reason, now, at_once=settle or assesses_all)
        if not cache.pending.in_progress:
            changed |= cache.plans.write(reason, now, at_once=settle)
        cache.trends.write(now, all_seen=not cache.unobserved)
        cache.usage.begin(now)
        cache.usage.carry_over(now)
        return changed

    def _without_unchanged(self, roots: set[str], digests: InputDigests) -> set[str]:
        """Return the gangs without those whose inputs are the same as at their stored verdict."""
        cache = self._cache
        last, cache.last_inputs = cache.last_inputs, {}
        unchanged = {
            root: inputs.pod_kinds
            for root, inputs in last.items()
            if root not in cache.unassessed and inputs.digest == digests.of(root)
        }
        cache.assessments.restore(unchanged, version=cache.node_usage.version)
        return roots - unchanged.keys()

    def _awaits_owners(self) -> bool:
        """Return whether the first assessment must wait for owners that are listed only when groups name them."""
        watched = self._cache.watched
        return not self._cache.assessed_all and any(
            is_resource_awaited(watched[key]) for key in registry.read_on_demand()
        )

    def _is_watched(self, now: datetime) -> bool:
        """Return whether a change that is new now has just happened.

        False in a first list, and after a gap in which the cluster was not watched.
        """
        cache = self._cache
        if not is_followed(cache.watched, cache.created_at, now):
            cache.followed_since = None
            return False
        cache.followed_since = cache.followed_since or now
        return now - cache.followed_since >= WATCHED_AFTER

    def _update_unreadable(self) -> set[str]:
        """Return the gangs of the namespaces whose unreadable objects have changed."""
        cache = self._cache
        before, cache.unreadable = cache.unreadable, unreadable_by_namespace(cache.watched)
        after = cache.unreadable
        return cache.roots_in(
            {
                namespace
                for namespace in {*before, *after}
                if before.get(namespace) != after.get(namespace)
            }
        )

    def _update_queue_visibility(self, now: datetime) -> set[str]:
        """Return the gangs whose verdict can change because the visibility of queues has changed.

        These are the gangs that name a queue, and those that are not meant to run, because their Jobs may name one.
        """
        cache = self._cache
        before, cache.queue_visibility = (
            cache.queue_visibility,
            queue_visibility(cache.watched, now),
        )
        if before in (None, cache.queue_visibility):
            return set()
        rows = Gang.objects.filter(cluster_id=cache.lease.cluster_id, gone_at=None)
        stopped = rows.filter(stage=Stage.ADMISSION.value) | rows.filter(
            health=Health.SUSPENDED.value
        )
        affected = rows.exclude(queue="") | stopped
        return set(affected.values_list("uid", flat=True))

    def _assess_pending(self, reason: str, snapshot: _Snapshot, *, settle: bool) -> bool:
        """Continue the round over the pending gangs, or start one if the capacity has changed.

        `reason`: why the capacity is unknown, or empty.
        """
        cache = self._cache
        changed = False
        pause_at = time.monotonic() + ROUND_SECONDS
        for _ in range(SETTLE_ROUNDS if settle else 1):
            capacity = cache.node_usage.capacity(reason)
            if not cache.pending.begin(capacity, cache.node_usage.version, at_once=settle):
                break
            while (batch := cache.pending.take(PENDING_AT_ONCE)) is not None:
                roots, capacity, version = batch
                cluster = replace(snapshot.cluster, room=capacity)
                changed |= self._assess_batch(
                    roots, replace(snapshot, cluster=cluster, capacity_version=version)
                )
                if not settle and time.monotonic() > pause_at:
                    return changed
        return changed

    def _stored_roots(self) -> set[str]:
        """Return the gangs that the store still shows, including those whose owner was deleted."""
        rows = Gang.objects.filter(cluster_id=self._cache.lease.cluster_id, gone_at=None)
        return set(rows.values_list("uid", flat=True))

    def _assess_batch(self, roots: Sequence[str], snapshot: _Snapshot) -> bool:
        cache = self._cache
        present = [root for root in roots if cache.ownership_graph.root_of(root) == root]
        deleted = sorted(set(roots) - set(present))
        for root in deleted:
            cache.assessments.remove(root)
            cache.rechecks.drop(root)
            cache.node_usage.mark_complete(root)
            cache.plans.remove(root)
        before = cache.gangs.read(present)
        present = self._without_leftovers(present, before, snapshot.now)
        results = [
            self._judge(gang, before.get(gang.owner.meta.ref.uid), snapshot, is_settled=is_settled)
            for gang, is_settled in self._reader.read(
                present, before, snapshot.cluster, snapshot.now
            )
        ]
        rows = [result.row for result in results]
        changed = [row for row in rows if differs(row, before.get(row["uid"]))]
        changed_uids = {row["uid"] for row in changed}
        memory_only = [
            row
            for row in rows
            if row["uid"] not in changed_uids
            and row["memory"] != bytes(before[row["uid"]]["memory"])
        ]
        uses = [(result.row, result.use) for result in results]
        differences = _Differences(
            changed,
            memory_only,
            deleted,
            cache.usage.changes(uses, deleted, snapshot.now),
            cache.evictions.news([(result.row, result.evictions) for result in results]),
        )
        return bool(differences) and self._store(differences, before, snapshot.now)

    def _without_leftovers(
        self, roots: list[str], before: Mapping[str, Any], now: datetime
    ) -> list[str]:
        """Return the gangs without new ones that a deleted owner left behind. Schedule a recheck of those."""
        cache, gangs = self._cache, []
        for root in roots:
            controller = cache.ownership_graph.controller_of(root)
            seconds = cache.deleted_owners.grace_left(controller) if root not in before else 0.0
            if seconds:
                cache.rechecks.schedule(root, now + timedelta(seconds=seconds))
            else:
                gangs.append(root)
        return gangs

    def _judge(
        self,
        gang: GangModel,
        before: dict[str, Any] | None,
        snapshot: _Snapshot,
        *,
        is_settled: bool,
    ) -> _Assessment:
        verdict = assess(gang)
        uid = gang.owner.meta.ref.uid
        if verdict.recheck_at is not None:
            self._cache.rechecks.schedule(uid, verdict.recheck_at)
        self._record(gang, verdict, snapshot.capacity_version)
        inputs = None
        if is_settled and is_repeatable(verdict.finding.health, gang.memory, verdict.memory):
            digest = snapshot.digests.of(uid)
            inputs = VerdictInputs(digest, self._cache.assessments.pack(uid))
        row = gang_row(
            self._cache.lease.cluster_id,
            self._cache.cluster_name,
            gang,
            verdict,
            before,
            snapshot.now,
            watched=snapshot.is_watched,
            inputs=inputs,
        )
        on_nodes = self._cache.node_usage.accelerators_on_nodes(uid)
        return _Assessment(row, accelerator_use(gang, verdict, on_nodes), evictions_of(gang))

    def _record(self, gang: GangModel, verdict: Verdict, capacity_version: int) -> None:
        """Record the assessment in the caches, so that later changes of the capacity can touch the gang."""
        root, finding = gang.owner.meta.ref, verdict.finding
        self._cache.plans.record(gang, verdict)
        pods: Sequence[Pod] = gang.pods
        if root.kind == "Pod":
            # The Capacity page does not count single pods that have a node.
            pods = [pod for pod in pods if not pod.is_placed]
        self._cache.assessments.record(
            root.uid, pods, gang.cluster.room, version=capacity_version, pending=bool(verdict.fit)
        )
        has_capacity = any(pod.is_live and (pod.node or pod.nominated_node) for pod in gang.pods)
        if has_capacity and not is_whole(finding.stage.value, finding.code):
            waiting = waiting_pod_sets(gang.pods, gang.cluster.room, gang.groups)
            self._cache.node_usage.mark_incomplete(root.uid, waiting)
        else:
            self._cache.node_usage.mark_complete(root.uid)

    def _store(
        self, differences: _Differences, before: dict[str, dict[str, Any]], now: datetime
    ) -> bool:
        """Store the differences, verdicts under a new data version. Return whether a page shows one."""
        cache, cluster_id = self._cache, self._cache.lease.cluster_id
        changed, memory_only = differences.changed, differences.memory_only
        deleted, marked = differences.deleted, 0
        with writing(cache.lease):
            version = next_data_version(cluster_id) if changed or deleted else 0
            for row in changed:
                row["changed_version"] = version
            if changed or memory_only:
                save_gangs([*changed, *memory_only])
                save_search(changed)
                record_verdicts(changed, before, at=now)
            if deleted:
                marked = mark_gangs_deleted(cluster_id, deleted, at=now, version=version)
                end_spans(cluster_id, deleted, at=now)
            cache.usage.save(differences.usage, now)
            cache.evictions.save(differences.evictions)
        for row in (*changed, *memory_only):
            cache.gangs.put_stored(row)
        for root in deleted:
            cache.gangs.drop(root)
        cache.usage.note_saved(differences.usage)
        cache.evictions.forget([*deleted, *(row["uid"] for row, _ in differences.evictions)])
        return bool(changed or marked)
