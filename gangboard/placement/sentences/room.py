"""Too little room: for good, now, in pieces, or for lack of places for pods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gangboard.domain.capacity import PODS
from gangboard.domain.placing import Assessment, Filter, PlacementCause, ShapeFit, When
from gangboard.domain.text import count, is_or_are, listed
from gangboard.facts.unit import Unit
from gangboard.placement.amount_words import amount_of, amounts_of, bare
from gangboard.placement.amounts import wanted
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.members import nodes_for
from gangboard.placement.node_snapshot import Whole, total
from gangboard.placement.sentences.how_many import alone, how_many_fit, some_fit, unit_keys
from gangboard.placement.sentences.numbers import (
    Crowd,
    are_free,
    crowd_of,
    labels_of,
    needed_and_there,
    nodes_that,
    not_said,
    usable_nodes,
)
from gangboard.placement.sentences.placement_reason import PlacementReason
from gangboard.placement.sentences.withheld import withheld_devices


@dataclass(frozen=True, slots=True)
class Lack:
    """A resource of which less is there in total than some members need."""

    resource: str
    crowd: Crowd
    needed: int
    there: int
    nodes: int
    labels: str = ""
    """The labels of those nodes, where others do not have them."""


def code_of_room(assessment: Assessment) -> str:
    """Return the code of a cause that is about room."""
    if assessment.deciding == PODS:
        return "node-pod-limit"
    if assessment.cause is PlacementCause.TOO_LARGE:
        return "exceeds-capacity"
    return (
        "fragmented" if assessment.cause is PlacementCause.FRAGMENTED else "insufficient-resources"
    )


def lack_of_room(
    unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit], code: str
) -> PlacementReason:
    """Return the reason of a cause that is about room."""
    withheld, evidence = withheld_devices(unit, shapes)
    text = f"{_lack_text(unit, assessment, shapes)}{_besides(shapes)}{withheld}"
    is_blocked = assessment.cause is PlacementCause.TOO_LARGE
    return PlacementReason(code, text, is_blocked, evidence)


def _lack_text(unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit]) -> str:
    if assessment.cause is PlacementCause.TOO_LARGE:
        return _too_large(unit, assessment, shapes)
    if assessment.cause is PlacementCause.FRAGMENTED:
        return _fragmented(unit, assessment, shapes)
    found = find_lack(unit, assessment, shapes, When.NOW)
    if found is None:
        return f"too little is free for {crowd_of(assessment)} on {_where(shapes)}"
    if found.resource == PODS:
        text = _without_places(found)
    else:
        text = _short(found, assessment.cause is PlacementCause.OCCUPIED)
    return f"{text}{some_fit(unit, assessment, shapes, When.NOW)}"


def _besides(shapes: Sequence[ShapeFit]) -> str:
    """Return `; 1 more node is cordoned`: nodes that would do if somebody gave them back."""
    out = {
        why: max((_number(one, why) for one in shapes), default=0)
        for why in (Filter.CORDON, Filter.NOT_READY, Filter.UNSAID)
    }
    words = {Filter.CORDON: "cordoned", Filter.NOT_READY: "not ready"}
    parts = [
        f"{count(number, 'more node')} "
        + (f"{is_or_are(number)} {words[why]}" if why in words else not_said(number))
        for why, number in out.items()
        if number
    ]
    parts += _far(shapes)
    return f"; {listed(parts)}" if parts else ""


def _far(shapes: Sequence[ShapeFit]) -> list[str]:
    """Return `3 more nodes have another zone than …`: out of reach of what members must be near."""
    terms = {one.shape.pod_affinity for one in shapes if one.shape.pod_affinity is not None}
    number = max((_number(one, Filter.POD_AFFINITY) for one in shapes), default=0)
    if len(terms) != 1 or not number:
        return []
    (term,) = terms
    have = f"{count(number, 'more node')} {'has' if number == 1 else 'have'}"
    if term.is_by_host:
        return [f"{have} no pod that they must be beside"]
    return [f"{have} another {term.topology_key} (pod affinity)"]


def _number(one: ShapeFit, why: Filter) -> int:
    found = one.eligibility.excluded.get(why)
    return found.count if found is not None else 0


def find_lack(
    unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit], when: When
) -> Lack | None:
    """Return the numbers of the deciding resource: over all members, or for those of one shape.

    None when enough of it is there for each shape and for all together.
    """
    resource = assessment.deciding
    for line in assessment.totals:
        there = line.free if when is When.NOW else line.capacity
        if line.resource == resource and there < line.needed:
            crowd, labels = crowd_of(assessment), _labels(shapes)
            return Lack(resource, crowd, line.needed, there, _hosts(shapes), labels)
    request = assessment.request
    for one in shapes:
        must = max(0, request.needed - (request.size - one.count))
        needed = must * wanted(one.shape).get(resource, 0)
        if not needed:
            continue
        free = _free(unit, one, resource, when)
        there = total(free)
        if there < needed:
            crowd = Crowd(must, one.count, one.shape.name if len(shapes) > 1 else "")
            return Lack(resource, crowd, needed, there, len(free), _labels([one]))
    return None


def _free(unit: Unit, one: ShapeFit, resource: str, when: When) -> Whole:
    """Return what is free of a resource on each eligible node of a shape; overfull ones have 0."""
    snapshot = nodes_for(unit)
    mask = feasible_nodes_of(snapshot, one.shape).eligible(unit_keys(unit))
    found: Whole = np.maximum(snapshot.stock(resource).free(when)[mask], 0)
    return found


def _hosts(shapes: Sequence[ShapeFit]) -> int:
    """Return how many nodes could host a member of some shape."""
    if len(shapes) == 1:
        return len(shapes[0].eligibility.eligible)
    return len({name for one in shapes for name in one.eligibility.eligible})


def _labels(shapes: Sequence[ShapeFit]) -> str:
    """Return the labels by which pods of one shape leave nodes out; empty for several shapes."""
    if len(shapes) != 1 or Filter.SELECTOR not in shapes[0].eligibility.excluded:
        return ""
    return labels_of(shapes[0].shape)


def _where(shapes: Sequence[ShapeFit]) -> str:
    return usable_nodes(_hosts(shapes), _labels(shapes))


# Sentences


def _short(lack: Lack, is_occupied: bool) -> str:
    needed, there = needed_and_there(lack.resource, lack.needed, lack.there)
    where = usable_nodes(lack.nodes, lack.labels)
    text = f"{lack.crowd.verb('need')} {needed}, and {are_free(lack.resource, there)} on {where}"
    # Less than one pod needs is enough for none, wherever it is.
    is_enough_for_one = lack.there * lack.crowd.number >= lack.needed
    if is_occupied and is_enough_for_one and min(lack.crowd.number, lack.nodes) > 1:
        return f"{text}, nowhere enough for one"
    return text


def _without_places(lack: Lack) -> str:
    more = "no more pods" if not lack.there else f"{lack.there} more"
    verb = "takes" if lack.nodes == 1 else "take"
    where = usable_nodes(lack.nodes, lack.labels)
    return f"{lack.crowd.verb('need')} a place, and {where} {verb} {more}"


def _too_large(unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit]) -> str:
    found = find_lack(unit, assessment, shapes, When.EMPTY)
    if found is None:
        return _pieces_when_empty(unit, assessment, shapes)
    where = usable_nodes(found.nodes, found.labels)
    have = "has" if found.nodes == 1 else "have"
    if found.resource == PODS:
        needed, there = "a place", f"{found.there} places for pods"
    else:
        needed, there = needed_and_there(found.resource, found.needed, found.there)
    text = f"{found.crowd.verb('need')} {needed}, but {where} {have} {there} even when empty"
    return f"{text}{some_fit(unit, assessment, shapes, When.EMPTY)}"


def _pieces_when_empty(unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit]) -> str:
    crowd = crowd_of(assessment)
    where = f"on {_where(shapes)} even when empty"
    if len(shapes) > 1:
        return f"no placement exists for {crowd} together {where}"
    (one,) = shapes
    fit = how_many_fit(unit, assessment, one, When.EMPTY) or "not all of them fit"
    return f"{crowd.verb('need')} {_each(one, crowd)}, but {fit} {where}"


def _each(one: ShapeFit, crowd: Crowd) -> str:
    """Return what each pod of the shape asks for."""
    asked = {name: amount for name, amount in wanted(one.shape).items() if name != PODS}
    amounts = amounts_of(asked)
    return f"{listed(amounts)}{crowd.each}" if amounts else f"a place{crowd.each}"


def _fragmented(unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit]) -> str:
    crowd = crowd_of(assessment)
    if len(shapes) > 1:
        text = f"enough is free in total for {crowd} on {_where(shapes)}"
        return f"{text}, but in pieces: {crowd.they} do not fit together"
    (one,) = shapes
    asked = wanted(one.shape)
    resource = assessment.deciding or _scarcest(assessment, one)
    line = next((line for line in assessment.totals if line.resource == resource), None)
    most, some = alone(unit, one, When.NOW), some_fit(unit, assessment, shapes, When.NOW)
    if line is None:
        return f"enough is free in total for {crowd}, but in pieces{some}"
    if not _is_alone(unit, one, resource, most):
        return _not_together(assessment, one, some)
    piece = amount_of(resource, asked[resource])
    text = f"{crowd.verb('need')} {piece}{crowd.each}, and {are_free(resource, bare(resource, line.free))}"
    if not most:
        return f"{text}, but no node has {bare(resource, asked[resource])} ({_pieces(unit, one, resource)})"
    return f"{text}, but in pieces{some} ({_pieces(unit, one, resource)})"


def _is_alone(unit: Unit, one: ShapeFit, resource: str, most: int) -> bool:
    """Whether what is free of one resource tells how many pods fit: nodes can lack another."""
    pieces = _free(unit, one, resource, When.NOW) // wanted(one.shape)[resource]
    return total(pieces) == most


def _not_together(assessment: Assessment, one: ShapeFit, end: str) -> str:
    """Return what is said where nodes that have enough of one resource lack another."""
    free = amounts_of(
        {
            line.resource: line.free
            for line in assessment.totals
            if line.resource != PODS and line.needed
        }
    )
    crowd = crowd_of(assessment)
    text = f"{crowd.verb('need')} {_each(one, crowd)}, and {listed(free)} are free"
    return f"{text}, but not on the same nodes{end}"


def _scarcest(assessment: Assessment, one: ShapeFit) -> str:
    """Return the resource that stops most nodes, or the one with the least to spare."""
    stops = [limit for limit, _, _ in one.saturated if limit in wanted(one.shape)]
    if stops and stops[0] != PODS:
        return stops[0]
    lines = [line for line in assessment.totals if line.resource != PODS and line.needed]
    # Hundreds of a share are enough to choose what a sentence is about.
    tightest = min(lines, key=lambda line: line.free * 100 // line.needed, default=None)
    return tightest.resource if tightest is not None else ""


def _pieces(unit: Unit, one: ShapeFit, resource: str) -> str:
    """Return `4 nodes have 4 each` or `1 node has 5, 2 nodes have 2 each`, the largest first."""
    free, times = np.unique(_free(unit, one, resource, When.NOW), return_counts=True)
    amounts = dict(zip(free.tolist(), times.tolist(), strict=True))
    parts = []
    for amount, number in sorted(amounts.items(), reverse=True)[:3]:
        each = " each" if number > 1 else ""
        parts.append(f"{nodes_that(number)} {bare(resource, amount)}{each}")
    if len(amounts) > 3:
        rest = sum(number for _, number in sorted(amounts.items(), reverse=True)[3:])
        parts.append(f"{count(rest, 'other')} less")
    return listed(parts)
