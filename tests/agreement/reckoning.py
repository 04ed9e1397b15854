"""Exhaustive search for the number of members of a case that can be placed at once.

Independent of the product. Only the generator uses it, to draw cases near the boundary; the judge is the
real scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from tests.agreement.cases import RACKS, Case, NodeSpec, PodSetSpec

Counts = tuple[int, ...]


def most(case: Case) -> int:
    """Return the largest number of members that can be placed at once."""
    if case.is_spread:
        return _most_spread(case.nodes, case.pod_sets[0])
    if not case.topology:
        return _most_on(case.nodes, case.pod_sets)
    return max(
        _most_on([node for node in case.nodes if node.rack == rack], case.pod_sets)
        for rack in RACKS
    )


def is_boundary(case: Case) -> bool:
    """Whether one member more, or one less, turns the answer."""
    result = most(case)
    if result < case.quorum:
        return result == case.quorum - 1
    if case.quorum < case.size:
        return result == case.quorum
    return any(most(item) < item.size for item in _with_one_more(case))


def _with_one_more(case: Case) -> Iterator[Case]:
    for index, pod_set in enumerate(case.pod_sets):
        grown = replace(pod_set, count=pod_set.count + 1)
        yield replace(case, pod_sets=(*case.pod_sets[:index], grown, *case.pod_sets[index + 1 :]))


def _most_on(nodes: Sequence[NodeSpec], pod_sets: Sequence[PodSetSpec]) -> int:
    reached: set[Counts] = {(0,) * len(pod_sets)}
    for node in nodes:
        ways = list(_ways(node, pod_sets))
        reached = {
            tuple(
                min(pod_set.count, placed + extra)
                for pod_set, placed, extra in zip(pod_sets, before, counts_per_set, strict=True)
            )
            for before in reached
            for counts_per_set in ways
        }
    return max(map(sum, reached))


def _most_spread(nodes: Sequence[NodeSpec], pod_set: PodSetSpec) -> int:
    """Put one pod after the other where the fewest are, for as long as one may be somewhere."""
    counts: dict[str, int] = {}
    room: dict[str, int] = {}
    for node in nodes:
        value = _value(node, pod_set)
        if not value or not _is_counted(node, pod_set):
            continue
        counts[value] = counts.get(value, 0) + sum(run.counted for run in node.runs)
        room[value] = room.get(value, 0) + max(
            (way[0] for way in _ways(node, [pod_set])), default=0
        )
    placed = 0
    while placed < pod_set.count:
        open_to = [value for value in counts if room[value] and _may_grow(pod_set, counts, value)]
        if not open_to:
            break
        value = min(open_to, key=lambda item: counts[item])
        counts[value] += pod_set.ask.counted
        room[value] -= 1
        placed += 1
    return placed


def _may_grow(pod_set: PodSetSpec, counts: Mapping[str, int], value: str) -> bool:
    assert pod_set.spread is not None
    fewest = min(counts.values()) if len(counts) >= pod_set.spread.least else 0
    return counts[value] + pod_set.ask.counted - fewest <= pod_set.spread.skew


def _value(node: NodeSpec, pod_set: PodSetSpec) -> str:
    assert pod_set.spread is not None
    return {"rack": node.rack, "disk": node.disk, "host": node.name}[pod_set.spread.key]


def _is_counted(node: NodeSpec, pod_set: PodSetSpec) -> bool:
    """True if it is part of a domain: the affinity is honoured, taints if the constraint says so."""
    assert pod_set.spread is not None
    if not _is_selected(node, pod_set):
        return False
    is_shut = node.cordoned or (node.tainted and not pod_set.tolerates)
    return not (pod_set.spread.honours_taints and is_shut)


def _ways(node: NodeSpec, pod_sets: Sequence[PodSetSpec]) -> Iterator[Counts]:
    """Yield how many members of each pod set can be on the node together."""
    highest = [pod_set.count if _may_be_on(node, pod_set) else 0 for pod_set in pod_sets]
    for counts_per_set in product(*(range(count + 1) for count in highest)):
        if not any(counts_per_set) or _fit_together(node, pod_sets, counts_per_set):
            yield counts_per_set


def _may_be_on(node: NodeSpec, pod_set: PodSetSpec) -> bool:
    return (
        _is_selected(node, pod_set)
        and not node.cordoned
        and (pod_set.tolerates or not node.tainted)
    )


def _is_selected(node: NodeSpec, pod_set: PodSetSpec) -> bool:
    return (
        pod_set.disk in ("", node.disk)
        and not (pod_set.affinity == "no hdd" and node.disk == "hdd")
        and not (pod_set.affinity == "some rack" and not node.rack)
    )


def _fit_together(node: NodeSpec, pod_sets: Sequence[PodSetSpec], way: Counts) -> bool:
    new = [pod_set.ask for pod_set, count in zip(pod_sets, way, strict=True) for _ in range(count)]
    everything = [*node.runs, *new]
    if len(everything) > node.pods:
        return False
    for index, have in enumerate((node.cpu, node.memory, node.gpus)):
        taken = sum(request.amounts[index] for request in everything)
        if taken > have and any(request.amounts[index] for request in new):
            return False
    ports = [request.udp for request in everything if request.port]
    if len(ports) != len(set(ports)):
        return False
    # Pods next to manually bound ones: only new pods are checked.
    pairs = [
        (item, other) for index, item in enumerate(new) for other in (*node.runs, *new[:index])
    ]
    return not any(
        item.apart in other.avoided or other.apart in item.avoided for item, other in pairs
    )
