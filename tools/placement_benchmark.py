"""Time that the product's own services take to assess waiting gangs, on a generated cluster in memory."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.cluster_plan import ClusterPlan, WaitingGang
from gangboard.domain.group import Group
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Verdict
from gangboard.facts.build_gang import GangObjects, build_gang
from gangboard.facts.cluster_view import ClusterView
from gangboard.facts.gang import Gang as GangModel
from gangboard.placement.cluster_plan import make_plan, waiting_gang_of
from gangboard.plugins import reasons
from gangboard.polling.node_usage import NodeUsageTracker
from tools.placement_fleet import NOW, Fleet, Gang

ALL_SECONDS = 5.0
"""Maximum CPU seconds for all gangs of the full size, without caches."""
ONE_SECONDS = 0.05
"""Maximum CPU seconds for the whole explanation of one gang."""
GROWTH = 12.0
"""Maximum factor for ten times as many gangs; linear growth is 10."""


@dataclass(frozen=True, slots=True)
class Run:
    """Gangs that were assessed one after the other, starting without caches."""

    seconds: float
    each: tuple[float, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def slowest(self) -> float:
        """Return the seconds of the slowest gang."""
        return max(self.each)


class Bench:
    """A fleet that was loaded as a poll loads objects."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        reasons.rules()  # Files are read once in the life of a worker.
        self._refs: dict[str, ObjectRef] = {}
        graph = OwnershipGraph()
        self._usage = NodeUsageTracker(graph, self._refs.get)
        started = time.process_time()
        for node in fleet.nodes:
            self._usage.put(node)
        for model in _everything(fleet):
            if isinstance(model, Pod):
                self._usage.put(model)
            else:
                self._refs[model.meta.ref.uid] = model.meta.ref
                if isinstance(model, Owner):
                    self._usage.put(model)
            graph.put(model)
        self.taking_in = time.process_time() - started
        """CPU seconds for all nodes, pods and owners."""
        started = time.process_time()
        self._nodes = self._usage.capacity("")
        self._nodes.running_gangs()
        self.making_room = time.process_time() - started
        """CPU seconds for the node usage, and for the gangs that run there."""

    def judge(self, gangs: Sequence[Gang]) -> Run:
        """Assess gangs as a poll does, without cached results."""
        capacity = self.cold()
        # The garbage collector must not scan the fleet of this process while a gang is assessed.
        gc.collect()
        gc.freeze()
        each: list[float] = []
        verdicts: list[Verdict] = []
        for gang in gangs:
            started = time.process_time()
            verdicts.append(assess(facts_of(gang, capacity)))
            each.append(time.process_time() - started)
        return Run(sum(each), tuple(each), tuple(verdicts))

    def plan(self, waiting: Sequence[WaitingGang]) -> tuple[ClusterPlan, float]:
        """Return the plan of the cluster for waiting gangs, and the CPU seconds that it took."""
        started = time.process_time()
        plan = make_plan(self.cold(), waiting, lambda _: (), NOW)
        return plan, time.process_time() - started

    def cold(self) -> ClusterCapacity:
        """Return the cluster capacity without cached results."""
        return replace(self._nodes, cache={})


def waiting_gangs(gangs: Sequence[Gang], run: Run) -> list[WaitingGang]:
    """Return the members of assessed gangs that wait for nodes."""
    pairs = zip(gangs, run.verdicts, strict=True)
    found = (waiting_gang_of(gang.root, verdict) for gang, verdict in pairs)
    return [gang for gang in found if gang is not None]


def _everything(fleet: Fleet) -> Iterable[Owner | Group | Pod]:
    yield from fleet.owners
    yield from fleet.pods
    for gang in fleet.pending:
        yield gang.root
        yield from gang.objects


def facts_of(gang: Gang, capacity: ClusterCapacity) -> GangModel:
    """Return the facts that a poll has about a gang on this capacity."""
    cluster = ClusterView(room=capacity, kubernetes=(1, 37), gang_api_version="v1beta1")
    return build_gang(gang.root, GangObjects(gang.objects, memory_since=NOW), cluster, NOW)
