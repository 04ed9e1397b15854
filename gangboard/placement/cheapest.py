"""Where room for members of one shape costs least: place after place, the cheapest first."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

import numpy as np

from gangboard.domain.placing import When
from gangboard.placement.matching import has_host_anti_affinity, ports_clash
from gangboard.placement.node_snapshot import Mask, Whole, total
from gangboard.placement.what_if import Freed, WhatIf

MOST_PLACES = 2_000
"""Members that lack a place, beyond which nobody would make room node by node."""
MOST_DOMAINS = 8
"""Topology domains that are compared, those first that lack the fewest places."""
_Cost = tuple[int, int]


def cheapest(what_if: WhatIf) -> Freed:
    """Take the cheapest places of the best domain, until all needed members have one.

    Nothing where there are none: then room alone is not enough.
    """
    best: tuple[_Cost, Freed] | None = None
    for mask in _domains(what_if):
        missing = what_if.request.needed - total(what_if.feasible.caps(When.NOW)[mask])
        freed = _on(what_if, mask, missing) if missing <= MOST_PLACES else {}
        if not freed:
            continue
        price = sum(one.get(what_if.deciding, 0) for one in freed.values()), len(freed)
        if best is None or price < best[0]:
            best = price, freed
    return best[1] if best is not None else {}


def _domains(what_if: WhatIf) -> Iterator[Mask]:
    """Yield the nodes of each domain whose empty nodes take all; all nodes without a topology."""
    eligible = what_if.feasible.eligible(what_if.request.topology_keys)
    if not what_if.request.topology_keys:
        yield eligible
        return
    codes, missing = what_if.missing_by_domain()
    empty = what_if.feasible.caps(When.EMPTY)
    left = MOST_DOMAINS
    for code in np.argsort(missing, kind="stable").tolist():
        mask = eligible & (codes == code)
        if total(empty[mask]) >= what_if.request.needed:
            yield mask
            left -= 1
        if not left:
            return


def _on(what_if: WhatIf, mask: Mask, missing: int) -> Freed:
    rows = _Rows(what_if, _promising(what_if, mask, missing))
    heap = [(*cost, row) for row in range(len(rows.at)) if (cost := rows.next_cost(row))]
    heapq.heapify(heap)
    while missing > 0 and heap:
        row = heap[0][-1]
        rows.places[row] += 1
        missing -= 1
        cost = rows.next_cost(row)
        if cost is None:
            heapq.heappop(heap)
        else:
            heapq.heapreplace(heap, (*cost, row))
    return rows.freed() if missing <= 0 else {}


def _promising(what_if: WhatIf, mask: Mask, missing: int) -> Whole:
    """Return the nodes on which one place more costs least: no others can be among the cheapest.

    Room alone makes no place where a port or a pod that must be apart is in the way.
    """
    feasible, deciding = what_if.feasible, what_if.deciding
    now = feasible.caps(When.NOW)
    there = np.flatnonzero(mask & (feasible.caps(When.EMPTY) > now))
    if missing <= 0:
        return there[:0]
    shape = what_if.shape
    if shape.host_ports or shape.anti_affinity or shape.matched_terms:
        there = there[
            np.array([not _is_barred(what_if, at) for at in there.tolist()], dtype=np.bool_)
        ]
    amount = what_if.asked.get(deciding, 0)
    free_now = what_if.snapshot.stock(deciding).now[there]
    price = np.maximum((now[there] + 1) * amount - free_now, 0)
    found: Whole = np.sort(there[np.argsort(price, kind="stable")[:missing]])
    return found


def _is_barred(what_if: WhatIf, at: int) -> bool:
    load = what_if.snapshot.nodes[at].now
    shape = what_if.shape
    return has_host_anti_affinity(shape, load) or ports_clash(shape.host_ports, load.host_ports)


class _Rows:
    """Some nodes, and how many places more are taken on each."""

    def __init__(self, what_if: WhatIf, there: Whole) -> None:
        self._what_if = what_if
        self.at: Sequence[int] = there.tolist()
        self._now: Sequence[int] = what_if.feasible.caps(When.NOW)[there].tolist()
        self._most: Sequence[int] = what_if.feasible.caps(When.EMPTY)[there].tolist()
        self._asked = [
            (name, amount, what_if.snapshot.stock(name).now[there].tolist())
            for name, amount in what_if.asked.items()
        ]
        self.places = [0] * len(self.at)

    def next_cost(self, row: int) -> _Cost | None:
        """Return what one place more costs of the deciding resource, and all that lacks then."""
        place = self._now[row] + self.places[row] + 1
        if place > self._most[row]:
            return None
        step = lacking = 0
        for name, amount, free in self._asked:
            short = max(0, amount * place - free[row])
            lacking += short
            if name == self._what_if.deciding:
                step = short - max(0, amount * (place - 1) - free[row])
        return step, lacking

    def freed(self) -> Freed:
        """Return what must become free for the places that are taken."""
        found: Freed = {}
        for row, more in enumerate(self.places):
            place = self._now[row] + more
            lacking = {
                name: amount * place - free[row]
                for name, amount, free in self._asked
                if more and amount * place > free[row]
            }
            if lacking:
                found[self._what_if.snapshot.names[self.at[row]]] = lacking
        return found
