"""The plan of a cluster: its inputs, collected with each assessment, and the stored result."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from datetime import datetime

from gangboard.domain.cluster_plan import ClusterPlan, MovablePod, WaitingGang
from gangboard.domain.health import Health
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Verdict
from gangboard.facts.gang import Gang
from gangboard.placement.cluster_plan import make_plan, waiting_gang_of
from gangboard.placement.members import shape_of
from gangboard.placement.term_matching import term_matcher
from gangboard.polling.node_usage import NodeUsageTracker
from gangboard.polling.row_cache import ObjectCache
from gangboard.store.cluster_leases import ClusterLease
from gangboard.store.cluster_plans import read_stored_plan, save_plan
from gangboard.store.observations import next_data_version, writing

PLAN_INTERVAL = 30.0
"""Minimum seconds between two plans of a cluster."""
MAX_MOVABLE = 200
"""Most pods that are read for one gang, to see whether they can move."""


class PlanWriter:
    """Keeps the stored plan of one cluster up to date."""

    def __init__(
        self, lease: ClusterLease, node_usage: NodeUsageTracker, objects: ObjectCache
    ) -> None:
        self._lease = lease
        self._node_usage = node_usage
        self._objects = objects
        self._waiting: dict[str, WaitingGang] = {}
        """Root → its members that wait for nodes."""
        self._starting: set[str] = set()
        """Roots of gangs that are only just starting."""
        self._version = 0
        """Increases with each change of `_waiting` and `_starting`."""
        self._planned_at = -math.inf
        self._planned_versions: tuple[int, int] | None = None
        """Versions of the capacity and of the waiting gangs at the last plan."""
        self._stored: ClusterPlan | None = None

    def record(self, gang: Gang, verdict: Verdict) -> None:
        """Record the waiting members of a gang that was assessed."""
        root = gang.owner.meta.ref.uid
        self._put(root, waiting_gang_of(gang.owner, verdict))
        starts = verdict.finding.health is Health.STARTING
        if starts != (root in self._starting):
            (self._starting.add if starts else self._starting.discard)(root)
            self._version += 1

    def remove(self, root: str) -> None:
        """Remove a deleted gang."""
        self._put(root, None)
        self._starting.discard(root)

    def _put(self, root: str, waiting: WaitingGang | None) -> None:
        if self._waiting.get(root) == waiting:
            return
        self._version += 1
        if waiting is None:
            del self._waiting[root]
        else:
            self._waiting[root] = waiting

    def write(self, why: str, now: datetime, *, at_once: bool) -> bool:
        """Make a new plan if something changed, at most every 30 s. Return whether it differs from the stored one.

        `why`: the reason why the capacity is unknown, or empty. Raises LeaseLostError.
        """
        capacity = self._node_usage.capacity(why)
        versions = (self._node_usage.version, self._version)
        if versions == self._planned_versions:
            return False
        if not at_once and time.monotonic() - self._planned_at < PLAN_INTERVAL:
            return False
        if self._planned_versions is None:
            self._stored = read_stored_plan(self._lease.cluster_id)
        plan = make_plan(
            capacity, self._waiting.values(), self._movable_pods, now, spared=self._starting
        )
        self._planned_versions, self._planned_at = versions, time.monotonic()
        if plan == self._stored:
            return False
        self._stored = None
        with writing(self._lease):
            save_plan(self._lease.cluster_id, plan, at=now)
            next_data_version(self._lease.cluster_id)
        self._stored = plan
        return True

    def _movable_pods(self, nodes: Sequence[str]) -> list[MovablePod]:
        """Return the pods on these nodes that could run on other nodes, without constraints between pods."""
        uids = self._node_usage.replaceable_pods(nodes)[:MAX_MOVABLE]
        models = self._objects.read(uids)
        pods = [pod for uid in uids if isinstance(pod := models.get(uid), Pod)]
        matched = term_matcher(self._node_usage.capacity(""), pods)
        movable = []
        for pod in pods:
            needs, load = pod.needs, self._node_usage.load_of([pod.meta.ref.uid]).get(pod.node)
            shape = shape_of(
                pod.meta.ref.name, pod.requests, needs, needs.unsupported, matched(pod)
            )
            is_bound = (
                shape.unsupported
                or shape.undecidable
                or shape.host_ports
                or shape.anti_affinity
                or shape.matched_terms
                or pod.unread_requests
                or pod.other_scheduler
                or pod.claims
            )
            if load is not None and not is_bound:
                movable.append(MovablePod(pod.meta.ref, pod.node, shape, load))
        return movable
