"""Advice to wait for free capacity: how much must become free, on as few nodes as possible."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gangboard.domain.advice import Advice, AdviceKind
from gangboard.domain.capacity import PODS, NodeInfo
from gangboard.domain.objects import node_ref
from gangboard.domain.placement_result import FitAnswer, When
from gangboard.placement.advice.what_if import FreedAmounts, WhatIf
from gangboard.placement.advice.wording import first_examples, freed_text, then_fits
from gangboard.placement.amounts import free_amount, requested_amounts
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.matching import has_host_anti_affinity, one_per_domain_keys, ports_clash
from gangboard.placement.node_columns import BoolColumn, IntColumn, total

DRAINED_COUNTS = (1, 2, 3, 6)
"""Numbers of drained nodes to try."""
MAX_HALVINGS = 20


def wait_for_capacity(what_if: WhatIf) -> Iterator[Advice]:
    """Advise to wait for an amount of free capacity on few nodes, if the members fit on drained nodes."""
    if what_if.assessment.empty.answer is not FitAnswer.YES:
        return
    freed = find_least_to_free(what_if)
    if not freed or _may_change_spread(what_if, freed):
        return
    if not what_if.frees(changed=_nodes_with_freed(what_if, freed)):
        return
    names = sorted(freed)
    yield Advice(
        AdviceKind.WAIT_FOR_ROOM,
        f"Wait for {freed_text(freed)} to become free: {then_fits(what_if)}.",
        nodes=tuple(node_ref(name) for name in names),
        named=tuple(node_ref(name) for name in first_examples(names)),
        free=freed,
    )


def wait_for_more_capacity(what_if: WhatIf) -> Advice:
    """Return the advice to wait, for cases in which the smallest sufficient amount is unknown."""
    noun = "room" if what_if.deciding == PODS else what_if.deciding
    return Advice(
        AdviceKind.WAIT_FOR_ROOM, f"Wait for more {noun} to become free: {then_fits(what_if)}."
    )


def find_least_to_free(what_if: WhatIf) -> FreedAmounts:
    """Return the smallest amounts that must become free, cached in the what-if. Empty: unknown."""
    if what_if.freed is None:
        adds_up = what_if.is_one_shape and not (
            what_if.shape.spread or one_per_domain_keys(what_if.shape)
        )
        what_if.freed = (
            find_cheapest_places(what_if) if adds_up else _least_for_several_shapes(what_if)
        )
    return what_if.freed


def _may_change_spread(what_if: WhatIf, freed: FreedAmounts) -> bool:
    """Return whether the pods that leave could count for topology spread."""
    spread = what_if.shape.spread
    if spread is None:
        return False
    loads = [(what_if.node(name).now, what_if.node(name).pinned) for name in freed]
    term = spread.counted
    return any(
        now.matched_terms.get(term, 0) > stay.matched_terms.get(term, 0) for now, stay in loads
    )


def _shortage(node: NodeInfo, amounts: Mapping[str, int]) -> dict[str, int]:
    """Return the missing amounts on the node by resource."""
    lacking = {
        name: amount - free_amount(node, name, When.CURRENT) for name, amount in amounts.items()
    }
    return {name: amount for name, amount in lacking.items() if amount > 0}


def _least_for_several_shapes(what_if: WhatIf) -> FreedAmounts:
    """Return what must become free for several shapes: drain nodes until all fit, then reduce the amounts."""
    emptied: dict[str, NodeInfo] = {}
    for node in _nodes_worth_draining(what_if):
        emptied[node.name] = replace(node, now=node.pinned)
        if len(emptied) in DRAINED_COUNTS and what_if.fits(changed=emptied):
            break
    else:
        return {}
    return _halve(what_if, _needed_by_placement(what_if, what_if.needed_changes(emptied)))


def _needed_by_placement(what_if: WhatIf, emptied: Mapping[str, NodeInfo]) -> FreedAmounts:
    """Return the amounts that a placement on the drained nodes needs in addition to the free amounts."""
    requested = {
        pod_set.shape.name: requested_amounts(pod_set.shape) for pod_set in what_if.pod_sets
    }
    freed: FreedAmounts = {}
    for name, counts in what_if.fit(changed=emptied).placement.items():
        if name not in emptied:
            continue
        sums: dict[str, int] = {}
        for shape, count in counts.items():
            for resource, amount in requested[shape].items():
                sums[resource] = sums.get(resource, 0) + amount * count
        shortage = _shortage(what_if.node(name), sums)
        if shortage:
            freed[name] = shortage
    return freed


def _halve(what_if: WhatIf, freed: FreedAmounts) -> FreedAmounts:
    """Halve the amounts as long as the members fit, because another placement may need less."""
    for _ in range(MAX_HALVINGS):
        half = {
            name: {resource: amount // 2 for resource, amount in amounts.items()}
            for name, amounts in freed.items()
        }
        if not what_if.fits(changed=_nodes_with_freed(what_if, half)):
            return freed
        freed = {
            name: {resource: amount for resource, amount in amounts.items() if amount}
            for name, amounts in half.items()
            if any(amounts.values())
        }
    return freed


def _nodes_worth_draining(what_if: WhatIf) -> list[NodeInfo]:
    """Return the eligible nodes that gain the most members when drained, then those with the least to drain."""
    gain: IntColumn = np.zeros(len(what_if.snapshot), dtype=np.int64)
    for pod_set in what_if.pod_sets:
        feasible = feasible_nodes_of(what_if.snapshot, pod_set.shape)
        empty = np.minimum(feasible.max_pods(When.DRAINED), pod_set.count)
        now = np.minimum(feasible.max_pods(When.CURRENT), pod_set.count)
        gain = np.maximum(gain, empty - now)
    candidates = np.flatnonzero(gain > 0)
    column = what_if.snapshot.resource(what_if.deciding)
    leaves = (column.empty - column.now)[candidates]
    order = np.lexsort((leaves, -gain[candidates]))[: DRAINED_COUNTS[-1]]
    return [what_if.snapshot.nodes[row] for row in candidates[order].tolist()]


def _nodes_with_freed(what_if: WhatIf, freed: FreedAmounts) -> dict[str, NodeInfo]:
    """Return the nodes with these amounts freed."""
    changed = {}
    for name, amounts in freed.items():
        node = what_if.node(name)
        load = node.now
        taken = {
            resource: amount - amounts.get(resource, 0) for resource, amount in load.amounts.items()
        }
        now = replace(load, amounts=taken, pods=load.pods - amounts.get(PODS, 0))
        changed[name] = replace(node, now=now)
    return changed


MAX_PLACES = 2_000
"""Most members without a node for which places are chosen one by one."""
MAX_DOMAINS = 8
"""Most topology domains to compare. Domains that lack the fewest places come first."""
_Cost = tuple[int, int]


# Members of one shape: choose the cheapest places one by one


def find_cheapest_places(what_if: WhatIf) -> FreedAmounts:
    """Return what must become free in the best domain so that all needed members have a place.

    Empty: free capacity alone is not enough.
    """
    best: tuple[_Cost, FreedAmounts] | None = None
    for mask in _domains(what_if):
        missing = what_if.request.needed - total(what_if.feasible.max_pods(When.CURRENT)[mask])
        freed = _cheapest_on(what_if, mask, missing) if missing <= MAX_PLACES else {}
        if not freed:
            continue
        price = sum(amounts.get(what_if.deciding, 0) for amounts in freed.values()), len(freed)
        if best is None or price < best[0]:
            best = price, freed
    return best[1] if best is not None else {}


def _domains(what_if: WhatIf) -> Iterator[BoolColumn]:
    """Yield the nodes of each domain that takes all members when drained, or all nodes without topology keys."""
    eligible = what_if.feasible.eligible(what_if.request.topology_keys)
    if not what_if.request.topology_keys:
        yield eligible
        return
    codes, missing = what_if.missing_by_domain()
    empty = what_if.feasible.max_pods(When.DRAINED)
    remaining = MAX_DOMAINS
    for code in np.argsort(missing, kind="stable").tolist():
        mask = eligible & (codes == code)
        if total(empty[mask]) >= what_if.request.needed:
            yield mask
            remaining -= 1
        if not remaining:
            return


def _cheapest_on(what_if: WhatIf, mask: BoolColumn, missing: int) -> FreedAmounts:
    rows = _NodePlaces(what_if, _cheapest_candidates(what_if, mask, missing))
    heap = [(*cost, row) for row in range(len(rows.rows)) if (cost := rows.next_cost(row))]
    heapq.heapify(heap)
    while missing > 0 and heap:
        row = heap[0][-1]
        rows.places_taken[row] += 1
        missing -= 1
        cost = rows.next_cost(row)
        if cost is None:
            heapq.heappop(heap)
        else:
            heapq.heapreplace(heap, (*cost, row))
    return rows.freed() if missing <= 0 else {}


def _cheapest_candidates(what_if: WhatIf, mask: BoolColumn, missing: int) -> IntColumn:
    """Return the rows on which the next place costs least. No other node can be among the cheapest.

    Nodes with conflicting host ports or anti-affinity are left out, because free capacity does not help there.
    """
    feasible, deciding = what_if.feasible, what_if.deciding
    now = feasible.max_pods(When.CURRENT)
    candidates = np.flatnonzero(mask & (feasible.max_pods(When.DRAINED) > now))
    if missing <= 0:
        return candidates[:0]
    shape = what_if.shape
    if shape.host_ports or shape.anti_affinity or shape.matched_terms:
        candidates = candidates[
            np.array(
                [not _is_barred_by_pods(what_if, row) for row in candidates.tolist()],
                dtype=np.bool_,
            )
        ]
    amount = what_if.requests.get(deciding, 0)
    free_now = what_if.snapshot.resource(deciding).now[candidates]
    price = np.maximum((now[candidates] + 1) * amount - free_now, 0)
    rows: IntColumn = np.sort(candidates[np.argsort(price, kind="stable")[:missing]])
    return rows


def _is_barred_by_pods(what_if: WhatIf, row: int) -> bool:
    load = what_if.snapshot.nodes[row].now
    shape = what_if.shape
    return has_host_anti_affinity(shape, load) or ports_clash(shape.host_ports, load.host_ports)


class _NodePlaces:
    """Nodes with the number of places chosen on each."""

    def __init__(self, what_if: WhatIf, nodes: IntColumn) -> None:
        self._what_if = what_if
        self.rows: Sequence[int] = nodes.tolist()
        self._now: Sequence[int] = what_if.feasible.max_pods(When.CURRENT)[nodes].tolist()
        self._most: Sequence[int] = what_if.feasible.max_pods(When.DRAINED)[nodes].tolist()
        self._requests = [
            (name, requested, what_if.snapshot.resource(name).now[nodes].tolist())
            for name, requested in what_if.requests.items()
        ]
        self.places_taken = [0] * len(self.rows)

    def next_cost(self, row: int) -> _Cost | None:
        """Return the cost of the next place, in the deciding resource and in all resources. None: the node is full."""
        place = self._now[row] + self.places_taken[row] + 1
        if place > self._most[row]:
            return None
        step = lacking = 0
        for name, amount, free in self._requests:
            shortage = max(0, amount * place - free[row])
            lacking += shortage
            if name == self._what_if.deciding:
                step = shortage - max(0, amount * (place - 1) - free[row])
        return step, lacking

    def freed(self) -> FreedAmounts:
        """Return the amounts that must become free for the chosen places."""
        freed: FreedAmounts = {}
        for row, places in enumerate(self.places_taken):
            place = self._now[row] + places
            lacking = {
                name: amount * place - free[row]
                for name, amount, free in self._requests
                if places and amount * place > free[row]
            }
            if lacking:
                freed[self._what_if.snapshot.names[self.rows[row]]] = lacking
        return freed
