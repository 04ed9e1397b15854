"""Exact search: can at least so many of the pods be placed at once?

In this order: bounds that prove NO, one quick placement that proves YES, and a search that is exact.
The search walks over the nodes and keeps the set of reachable vectors "pods placed per shape", only
the largest ones: whatever can be completed from a smaller vector can be completed from a larger one,
since leaving a pod out never makes a placement invalid. It gives up when its budget is spent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gangboard.domain.placing import Answer, Fit
from gangboard.placement.classes import NodeClass, Problem, Vector, trimmed

BUDGET = 50_000
"""Steps, of about a microsecond each."""


class BudgetSpentError(Exception):
    """The search was given up."""


@dataclass(slots=True)
class Budget:
    """How much work may still be done; shared by the searches of one question."""

    left: int = BUDGET
    spent: int = 0

    def spend(self, steps: int) -> None:
        """Take steps; raise BudgetSpentError when there are not enough."""
        self.spent += steps
        self.left -= steps
        if self.left < 0:
            raise BudgetSpentError


@dataclass(frozen=True, slots=True)
class _Link:
    """How a vector was reached: this much on this node, on top of an earlier one."""

    node: int
    config: Vector
    before: _Link | None


Reached = dict[Vector, _Link | None]
TOO_MANY_WAYS = "too many ways to place different members together to try them all"


@dataclass(frozen=True, slots=True)
class SearchClass:
    """Nodes on which the same combinations fit."""

    caps: Vector
    """Per shape, how many pods of it alone fit on one such node."""
    configs: Sequence[Vector]
    """The largest combinations."""
    nodes: tuple[int, ...]
    """By number."""


def pack(whole: Problem, target: int, budget: Budget) -> Fit:
    """Return whether at least `target` of the pods can be placed at once, with a placement."""
    start = budget.spent
    try:
        answer, chain = _pack(trimmed(whole), target, budget)
    except BudgetSpentError:
        return Fit(Answer.CANNOT_TELL, why=TOO_MANY_WAYS, steps=budget.spent - start)
    placement: dict[str, dict[str, int]] = {}
    for node, config in chain:
        taken = placement.setdefault(node, {})
        for name, count in zip(whole.names, config, strict=True):
            if count:
                taken[name] = taken.get(name, 0) + count
    return Fit(answer, dict(sorted(placement.items())), steps=budget.spent - start)


Chain = list[tuple[str, Vector]]


def _pack(small: Problem, target: int, budget: Budget) -> tuple[Answer, Chain]:
    if target <= 0:
        return Answer.YES, []
    if target > sum(small.counts) or not _may_fit(small, target):
        return Answer.NO, []
    chain = _quick(small, target)
    if chain is not None:
        return Answer.YES, chain
    if len(small.counts) == 1:
        return Answer.NO, []
    return search(small, target, budget)


def _may_fit(small: Problem, target: int) -> bool:
    """Look for a proof of NO: by what each shape could place alone, and by totals per resource."""
    alone = [
        min(count, sum(one.caps[at] * len(one.nodes) for one in small.classes))
        for at, count in enumerate(small.counts)
    ]
    if sum(alone) < target:
        return False
    for resource in range(len(small.requests[0])):
        amounts = [request[resource] for request in small.requests]
        have = sum(one.free[resource] * len(one.nodes) for one in small.classes)
        if least(amounts, small.counts, target) > have:
            return False
    return True


def least(amounts: Sequence[int], counts: Sequence[int], target: int) -> int:
    """Return the least that `target` of the pods ask for together, so many pods at each amount."""
    total = 0
    for amount, count in sorted(zip(amounts, counts, strict=True)):
        taken = min(count, target)
        total += taken * amount
        target -= taken
    return total


def _quick(small: Problem, target: int) -> Chain | None:
    """Fill nodes one after the other, the pickiest shape and the least useful nodes first."""
    room = {node: list(one.free) for one in small.classes for node in one.nodes}
    configs = {node: [0] * len(small.counts) for node in room}
    caps = {node: one.caps for one in small.classes for node in one.nodes}
    order = sorted(room, key=lambda node: (sum(map(bool, caps[node])), sum(caps[node]), node))
    supply = [sum(cap[at] for cap in caps.values()) for at in range(len(small.counts))]
    placed = 0
    for shape in sorted(range(len(small.counts)), key=lambda at: (supply[at], at)):
        left = small.counts[shape]
        for node in order:
            if not left:
                break
            if not caps[node][shape]:
                continue
            count = _more(small, shape, configs[node], room[node], min(left, caps[node][shape]))
            configs[node][shape] = count
            left -= count
            for at, amount in enumerate(small.requests[shape]):
                room[node][at] -= count * amount
        placed += small.counts[shape] - left
    if placed < target:
        return None
    return [(node, tuple(config)) for node, config in configs.items() if any(config)]


def _more(small: Problem, shape: int, config: list[int], room: list[int], most: int) -> int:
    """Return how many pods of a shape go on a node beside those that are there already."""
    for pair in small.conflicts:
        if shape in pair and config[pair[0] + pair[1] - shape]:
            return 0
    amounts = small.requests[shape]
    return min([most, *(room[at] // amount for at, amount in enumerate(amounts) if amount)])


def search(small: Problem, target: int, budget: Budget) -> tuple[Answer, Chain]:
    """Return the exact answer, with how it is reached; raise BudgetSpentError."""
    names = [node for one in small.classes for node in one.nodes]
    classes: list[SearchClass] = []
    start = 0
    for one in small.classes:
        nodes = tuple(range(start, start := start + len(one.nodes)))
        classes.append(SearchClass(one.caps, _configs(small, one, budget), nodes))
    chain = walk(small.counts, classes, target, budget)
    if chain is None:
        return Answer.NO, []
    return Answer.YES, [(names[at], config) for at, config in chain]


def walk(
    counts: Vector, classes: Sequence[SearchClass], target: int, budget: Budget
) -> list[tuple[int, Vector]] | None:
    """Return what goes where for `target` pods, None when it cannot be; raise BudgetSpentError."""
    reached: Reached = {(0,) * len(counts): None}
    spare = [sum(one.caps[at] * len(one.nodes) for one in classes) for at in range(len(counts))]
    for one in classes:
        settled = False
        for node in one.nodes:
            spare = [amount - cap for amount, cap in zip(spare, one.caps, strict=True)]
            if settled:
                continue
            before = reached
            reached = _step(counts, before, node, one.configs, budget)
            settled = reached.keys() == before.keys()
            for vector, link in reached.items():
                if sum(vector) >= target:
                    return _chain(link)
        reached = {
            vector: link
            for vector, link in reached.items()
            if _reach(counts, vector, spare) >= target
        }
    return None


def _reach(counts: Vector, vector: Vector, spare: list[int]) -> int:
    """Return at most how many pods are placed in the end, from here."""
    return sum(
        min(count, placed + more) for count, placed, more in zip(counts, vector, spare, strict=True)
    )


def _step(
    counts: Vector, before: Reached, node: int, configs: Sequence[Vector], budget: Budget
) -> Reached:
    """Return the largest vectors that are reached with one node more."""
    after: Reached = dict(before)
    budget.spend(len(before) * len(configs))
    for vector, link in before.items():
        for config in configs:
            total = tuple(
                min(count, placed + more)
                for count, placed, more in zip(counts, vector, config, strict=True)
            )
            if total not in after:
                gained = tuple(new - old for new, old in zip(total, vector, strict=True))
                after[total] = _Link(node, gained, link)
    return {vector: after[vector] for vector in largest(after, budget)}


def _configs(small: Problem, one: NodeClass, budget: Budget) -> list[Vector]:
    """Return what can be placed on one node of a class, the largest vectors only."""
    partial: list[Vector] = [()]
    for cap in one.caps:
        grown: list[Vector] = []
        for config in partial:
            for count in range(cap + 1):
                budget.spend(1)
                longer = (*config, count)
                if not small.fits_node(longer, one.free):
                    break
                grown.append(longer)
        partial = grown
    return largest(partial, budget)


def largest(vectors: Iterable[Vector], budget: Budget) -> list[Vector]:
    """Leave out every vector that another one is at least equal to in all places."""
    kept: list[Vector] = []
    for vector in sorted(vectors, reverse=True):
        if len(vector) == 2:
            # Sorted downwards by the first: only the second of the last one kept can matter.
            budget.spend(1)
            dominated = bool(kept) and kept[-1][1] >= vector[1]
        else:
            budget.spend(len(kept) + 1)
            dominated = any(
                all(have >= want for have, want in zip(other, vector, strict=True))
                for other in kept
            )
        if not dominated:
            kept.append(vector)
    return kept


def _chain(link: _Link | None) -> list[tuple[int, Vector]]:
    chain: list[tuple[int, Vector]] = []
    while link is not None:
        chain.append((link.node, link.config))
        link = link.before
    return chain
