"""What fits, by trying: how many members of a case can be placed at once.

Independent of the product. Only the generator uses it, to draw cases near the boundary; the judge is
the real scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from tests.agreement.cases import RACKS, Case, NodeSpec, PartySpec

Counts = tuple[int, ...]


def most(case: Case) -> int:
    """Return the largest number of members that can be placed at once."""
    if not case.topology:
        return _most_on(case.nodes, case.parties)
    return max(
        _most_on([node for node in case.nodes if node.rack == rack], case.parties) for rack in RACKS
    )


def is_boundary(case: Case) -> bool:
    """Whether one member more, or one less, turns the answer."""
    found = most(case)
    if found < case.quorum:
        return found == case.quorum - 1
    if case.quorum < case.size:
        return found == case.quorum
    return any(most(one) < one.size for one in _with_one_more(case))


def _with_one_more(case: Case) -> Iterator[Case]:
    for at, party in enumerate(case.parties):
        grown = replace(party, count=party.count + 1)
        yield replace(case, parties=(*case.parties[:at], grown, *case.parties[at + 1 :]))


def _most_on(nodes: Sequence[NodeSpec], parties: Sequence[PartySpec]) -> int:
    reached: set[Counts] = {(0,) * len(parties)}
    for node in nodes:
        ways = list(_ways(node, parties))
        reached = {
            tuple(
                min(party.count, placed + more)
                for party, placed, more in zip(parties, before, way, strict=True)
            )
            for before in reached
            for way in ways
        }
    return max(map(sum, reached))


def _ways(node: NodeSpec, parties: Sequence[PartySpec]) -> Iterator[Counts]:
    """Yield how many members of each party can be on the node together."""
    highest = [party.count if _may_be_on(node, party) else 0 for party in parties]
    for way in product(*(range(count + 1) for count in highest)):
        if not any(way) or _fit_together(node, parties, way):
            yield way


def _may_be_on(node: NodeSpec, party: PartySpec) -> bool:
    return (
        party.disk in ("", node.disk)
        and not (party.affinity == "no hdd" and node.disk == "hdd")
        and not (party.affinity == "some rack" and not node.rack)
        and not node.cordoned
        and (party.tolerates or not node.tainted)
    )


def _fit_together(node: NodeSpec, parties: Sequence[PartySpec], way: Counts) -> bool:
    new = [party.ask for party, count in zip(parties, way, strict=True) for _ in range(count)]
    everything = [*node.runs, *new]
    if len(everything) > node.pods:
        return False
    for at, have in enumerate((node.cpu, node.memory, node.gpus)):
        taken = sum(ask.amounts[at] for ask in everything)
        if taken > have and any(ask.amounts[at] for ask in new):
            return False
    ports = [ask.udp for ask in everything if ask.port]
    if len(ports) != len(set(ports)):
        return False
    # What runs beside what was bound by name: only newcomers are asked about.
    pairs = [(one, other) for at, one in enumerate(new) for other in (*node.runs, *new[:at])]
    return not any(one.apart in other.avoided or other.apart in one.avoided for one, other in pairs)
