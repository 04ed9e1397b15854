"""How long the product's own services take to judge gangs that wait, on a cluster made up in memory."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.group import Group
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Verdict
from gangboard.facts.build_gang import GangObjects, build_gang
from gangboard.facts.cluster_view import ClusterView
from gangboard.facts.gang import Gang as GangModel
from gangboard.plugins import reasons
from gangboard.polling.node_usage import NodeUsageTracker
from tools.placement_fleet import NOW, Fleet, Gang

ALL_SECONDS = 5.0
"""CPU that all gangs of the full size may take, cold."""
ONE_SECONDS = 0.05
"""CPU of the whole explanation of any one gang."""
GROWTH = 12.0
"""How many times as much ten times as many gangs may take: linear is 10."""


@dataclass(frozen=True, slots=True)
class Run:
    """Gangs that were judged one after the other on a room about which nothing was known."""

    seconds: float
    each: tuple[float, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def slowest(self) -> float:
        """Seconds of the gang that took longest."""
        return max(self.each)


class Bench:
    """A fleet that was taken in as a poll takes in what it reads."""

    def __init__(self, fleet: Fleet) -> None:
        reasons.rules()  # files are read once in the life of a worker
        self._refs: dict[str, ObjectRef] = {}
        graph = OwnershipGraph()
        self._room = NodeUsageTracker(graph, self._refs.get)
        started = time.process_time()
        for node in fleet.nodes:
            self._room.put(node)
        for thing in _everything(fleet):
            if isinstance(thing, Pod):
                self._room.put(thing)
            else:
                self._refs[thing.meta.ref.uid] = thing.meta.ref
                if isinstance(thing, Owner):
                    self._room.put(thing)
            graph.put(thing)
        self.taking_in = time.process_time() - started
        """Seconds of CPU for all nodes, pods and owners."""
        started = time.process_time()
        self._nodes = self._room.capacity("")
        self._nodes.running_gangs()
        self.making_room = time.process_time() - started
        """Seconds for the nodes with what is on them, and for the gangs that hold it."""

    def judge(self, gangs: Sequence[Gang]) -> Run:
        """Judge gangs as a poll does, with nothing worked out before."""
        room = self.cold()
        # The fleet of this process is not looked through for garbage in the middle of a gang.
        gc.collect()
        gc.freeze()
        each: list[float] = []
        verdicts: list[Verdict] = []
        for gang in gangs:
            started = time.process_time()
            verdicts.append(assess(facts_of(gang, room)))
            each.append(time.process_time() - started)
        return Run(sum(each), tuple(each), tuple(verdicts))

    def cold(self) -> ClusterCapacity:
        """Return the room as a poll finds it, with nothing worked out."""
        return replace(self._nodes, cache={})


def _everything(fleet: Fleet) -> Iterable[Owner | Group | Pod]:
    yield from fleet.owners
    yield from fleet.pods
    for gang in fleet.pending:
        yield gang.root
        yield from gang.objects


def facts_of(gang: Gang, room: ClusterCapacity) -> GangModel:
    """Return what a poll knows of a gang in this room."""
    cluster = ClusterView(room=room, kubernetes=(1, 37), gang_api_version="v1beta1")
    return build_gang(gang.root, GangObjects(gang.objects, memory_since=NOW), cluster, NOW)
