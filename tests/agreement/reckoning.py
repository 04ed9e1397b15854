"""What fits, by trying: how many members of a case can be placed at once.

Independent of the product. Only the generator uses it, to draw cases near the boundary; the judge is
the real scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from tests.agreement.cases import RACKS, Case, NodeSpec, PartySpec

Counts = tuple[int, ...]


def most(case: Case) -> int:
    """Return the largest number of members that can be placed at once."""
    if case.is_spread:
        return _most_spread(case.nodes, case.parties[0])
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


def _most_spread(nodes: Sequence[NodeSpec], party: PartySpec) -> int:
    """Put one pod after the other where the fewest are, for as long as one may be somewhere."""
    counts: dict[str, int] = {}
    room: dict[str, int] = {}
    for node in nodes:
        value = _value(node, party)
        if not value or not _is_counted(node, party):
            continue
        counts[value] = counts.get(value, 0) + sum(ask.counted for ask in node.runs)
        room[value] = room.get(value, 0) + max((way[0] for way in _ways(node, [party])), default=0)
    placed = 0
    while placed < party.count:
        open_to = [value for value in counts if room[value] and _may_grow(party, counts, value)]
        if not open_to:
            break
        value = min(open_to, key=lambda one: counts[one])
        counts[value] += party.ask.counted
        room[value] -= 1
        placed += 1
    return placed


def _may_grow(party: PartySpec, counts: Mapping[str, int], value: str) -> bool:
    assert party.spread is not None
    fewest = min(counts.values()) if len(counts) >= party.spread.least else 0
    return counts[value] + party.ask.counted - fewest <= party.spread.skew


def _value(node: NodeSpec, party: PartySpec) -> str:
    assert party.spread is not None
    return {"rack": node.rack, "disk": node.disk, "host": node.name}[party.spread.key]


def _is_counted(node: NodeSpec, party: PartySpec) -> bool:
    """Whether it is part of a domain: the affinity is honoured, taints where it is said."""
    assert party.spread is not None
    if not _is_selected(node, party):
        return False
    is_shut = node.cordoned or (node.tainted and not party.tolerates)
    return not (party.spread.honours_taints and is_shut)


def _ways(node: NodeSpec, parties: Sequence[PartySpec]) -> Iterator[Counts]:
    """Yield how many members of each party can be on the node together."""
    highest = [party.count if _may_be_on(node, party) else 0 for party in parties]
    for way in product(*(range(count + 1) for count in highest)):
        if not any(way) or _fit_together(node, parties, way):
            yield way


def _may_be_on(node: NodeSpec, party: PartySpec) -> bool:
    return _is_selected(node, party) and not node.cordoned and (party.tolerates or not node.tainted)


def _is_selected(node: NodeSpec, party: PartySpec) -> bool:
    return (
        party.disk in ("", node.disk)
        and not (party.affinity == "no hdd" and node.disk == "hdd")
        and not (party.affinity == "some rack" and not node.rack)
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
