"""How long the product's own services take to judge gangs that wait, on a cluster made up in memory."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random

from gangboard.diagnosis import registry
from gangboard.diagnosis.assemble import assemble
from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.capacity import ClusterRoom, NodeRoom, Party
from gangboard.domain.facts import GangFacts, Unit
from gangboard.domain.group import Group
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.placing import Answer, Placing, ShapeFit, When
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Verdict
from gangboard.ops.placement_fleet import NOW, Fleet, Gang
from gangboard.placement.assess import assess as place
from gangboard.placement.eligibility import EXAMPLES, eligibility, pods_that_fit
from gangboard.placement.unit_placement import nodes_for, placing_of, request_of
from gangboard.polling.node_usage import NodeUsageTracker

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


@dataclass(frozen=True, slots=True)
class Comparison:
    """Verdicts of some gangs against those by the plain, slow way."""

    same: int
    undecided: int
    """The plain way gave up: it says nothing about these."""
    different: tuple[str, ...]
    """Names of gangs."""


class Bench:
    """A fleet that was taken in as a poll takes in what it reads."""

    def __init__(self, fleet: Fleet) -> None:
        registry.rules()  # files are read once in the life of a worker
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
        self._nodes = self._room.at("")
        self._nodes.residents()
        self.making_room = time.process_time() - started
        """Seconds for the nodes with what is on them, and for the gangs that hold it."""

    def judge(self, gangs: Sequence[Gang]) -> Run:
        """Judge gangs as a poll does, with nothing worked out before."""
        room = self._cold()
        # The fleet of this process is not looked through for garbage in the middle of a gang.
        gc.collect()
        gc.freeze()
        each: list[float] = []
        verdicts: list[Verdict] = []
        for gang in gangs:
            started = time.process_time()
            verdicts.append(assess(_facts(gang, room)))
            each.append(time.process_time() - started)
        return Run(sum(each), tuple(each), tuple(verdicts))

    def compare(self, gangs: Sequence[Gang]) -> Comparison:
        """Judge gangs in both ways."""
        room = self._cold()
        same = undecided = 0
        different: list[str] = []
        for gang in gangs:
            facts = _facts(gang, room)
            plain = _Plain()
            slow = assess(facts, arithmetic=plain.placing_of)
            if plain.gave_up:
                undecided += 1
            elif slow == assess(facts):
                same += 1
            else:
                different.append(gang.root.meta.ref.name)
        return Comparison(same, undecided, tuple(different))

    def _cold(self) -> ClusterRoom:
        return replace(self._nodes, cache={})


class _Plain:
    """The plain way: node after node, without anything that makes it quick."""

    def __init__(self) -> None:
        self.gave_up = False

    def placing_of(self, unit: Unit) -> Placing | None:
        """Return the same as `unit_placement.placing_of`."""
        quick = placing_of(unit)
        if quick is None:
            return None
        request, nodes = request_of(unit), tuple(nodes_for(unit))
        found = place(request, nodes, plain=True)
        answers = (found.now, found.full, found.empty, found.empty_full)
        self.gave_up |= any(fit.answer is Answer.CANNOT_TELL and not fit.but_for for fit in answers)
        shapes = tuple(_plain_fit(party, nodes, request.topology_keys) for party in request.parties)
        return Placing(request, found, shapes, refused_at=quick.refused_at)


def _plain_fit(party: Party, nodes: Sequence[NodeRoom], keys: Sequence[str]) -> ShapeFit:
    found = eligibility(nodes, party.shape, keys)
    there = set(found.eligible)
    hosts = [node for node in nodes if node.name in there]
    now = {node.name: pods_that_fit(node, party.shape, When.NOW) for node in hosts}
    full: dict[str, list[str]] = {}
    for name, (count, limit) in now.items():
        if not count:
            full.setdefault(str(limit), []).append(name)
    saturated = [(limit, len(names), tuple(names[:EXAMPLES])) for limit, names in full.items()]
    return ShapeFit(
        party.shape,
        party.count,
        found,
        now=sum(count for count, _ in now.values()),
        empty=sum(pods_that_fit(node, party.shape, When.EMPTY)[0] for node in hosts),
        open_nodes=sum(count > 0 for count, _ in now.values()),
        saturated=tuple(sorted(saturated, key=lambda one: (-one[1], one[0]))),
    )


def sample(gangs: Sequence[Gang], count: int, seed: int) -> list[Gang]:
    """Return some of the gangs, the same for the same seed."""
    return Random(seed).sample(list(gangs), min(count, len(gangs)))  # noqa: S311 - nothing secret


def _everything(fleet: Fleet) -> Iterable[Owner | Group | Pod]:
    yield from fleet.owners
    yield from fleet.pods
    for gang in fleet.pending:
        yield gang.root
        yield from gang.objects


def _facts(gang: Gang, room: ClusterRoom) -> GangFacts:
    return assemble(
        gang.root,
        gang.objects,
        now=NOW,
        gang_api_version="v1beta1",
        memory_since=NOW,
        room=room,
        kubernetes=(1, 37),
    )
