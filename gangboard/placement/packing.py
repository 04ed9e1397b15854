"""Exact search: can at least so many of the pods be placed at once?

It walks over the nodes and keeps the set of reachable vectors "pods placed per shape", only
the largest ones: whatever can be completed from a smaller vector can be completed from a larger one,
since leaving a pod out never makes a placement invalid. It gives up when its budget is spent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gangboard.placement.classes import Vector

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


def least(amounts: Sequence[int], counts: Sequence[int], target: int) -> int:
    """Return the least that `target` of the pods ask for together, so many pods at each amount."""
    total = 0
    for amount, count in sorted(zip(amounts, counts, strict=True)):
        taken = min(count, target)
        total += taken * amount
        target -= taken
    return total


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
