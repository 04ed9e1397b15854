"""Text building blocks of advice: amounts, nodes, and the outcome of a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from gangboard.domain.advice import ChangeMethod
from gangboard.domain.owner import Owner
from gangboard.domain.placement_result import When
from gangboard.domain.text import all_of, listed
from gangboard.placement.advice.what_if import WhatIf
from gangboard.placement.amounts import format_amounts

Named = TypeVar("Named")

_SHOWN = 3
_EXAMPLES = 2


def with_method(text: str, method: ChangeMethod) -> str:
    """Return a sentence that ends with the method of the change."""
    return f"{text} ({method})."


def size_fields(job: Owner) -> tuple[str, ...]:
    """Return the fields that set the size of a Job.

    The completions of an Indexed Job are its members if they equal the parallelism. If there are more, they are a work
    queue. The completions of a NonIndexed Job can never be changed.
    """
    is_all = job.indexed and job.completions == job.parallelism
    return ("parallelism", "completions") if is_all else ("parallelism",)


def first_examples(items: Sequence[Named]) -> Sequence[Named]:
    """Return the items that a sentence names: up to three, or the first two of more."""
    return items if len(items) <= _SHOWN else items[:_EXAMPLES]


def node_names_text(names: Sequence[str]) -> str:
    """Return `node a`, `nodes a and b`, `5 nodes (a, b, …)`."""
    if len(names) == 1:
        return f"node {names[0]}"
    if len(names) <= _SHOWN:
        return f"nodes {listed(names)}"
    return f"{len(names)} nodes ({', '.join(first_examples(names))}, …)"


def each_node_text(names: Sequence[str]) -> str:
    """Return `on node a`, `on each of the nodes a and b`."""
    if len(names) == 1:
        return f"on node {names[0]}"
    if len(names) <= _SHOWN:
        return f"on each of the nodes {listed(names)}"
    return f"on each of {len(names)} nodes ({', '.join(first_examples(names))}, …)"


def freed_text(freed: Mapping[str, Mapping[str, int]]) -> str:
    """Return `4 GPUs on each of the nodes a and b`, or the amount of each node if they differ.

    For more than three nodes that differ, it names the largest amount and two nodes as examples.
    """
    nodes = sorted(freed)
    if all(freed[name] == freed[nodes[0]] for name in nodes):
        return f"{_amounts_of(freed[nodes[0]])} {each_node_text(nodes)}"
    texts = [f"{_amounts_of(freed[name])} on node {name}" for name in first_examples(nodes)]
    if len(nodes) <= _SHOWN:
        return listed(texts)
    most: dict[str, int] = {}
    for amounts in freed.values():
        for resource, amount in amounts.items():
            most[resource] = max(amount, most.get(resource, 0))
    return f"up to {_amounts_of(most)} on each of {len(nodes)} nodes ({', '.join(texts)}, …)"


def _amounts_of(amounts: Mapping[str, int]) -> str:
    # Round up, because the amounts in the text must be enough.
    return " and ".join(format_amounts(amounts, round_up=True))


def fit_when(when: When, now: int) -> str:
    """Return `fit now`, or `fit when empty, 1 now` for a number that does not fit now."""
    return "fit now" if when is When.CURRENT else f"fit when empty, {now or 'none'} now"


def then_fits(what_if: WhatIf) -> str:
    """Return `then all 8 pods fit`, `then both pods fit`, `then the 6 of 8 pods that its quorum needs fit`."""
    needed, size = what_if.request.needed, what_if.request.size
    if needed >= size:
        return "then the pod fits" if size == 1 else f"then {all_of(size, 'pod')} fit"
    return f"then the {needed} of {size} pods that its quorum needs fit"


def then_fit_when_empty(what_if: WhatIf) -> str:
    """Return `then all 8 pods fit when empty`, for nodes without the pods that can leave."""
    return f"{then_fits(what_if)} when empty"
