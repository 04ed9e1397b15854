"""Members that required anti-affinity keeps out of a zone, or of whatever other label of nodes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gangboard.domain.capacity import HOSTNAME, Shape
from gangboard.domain.facts import Unit
from gangboard.domain.placing import ShapeFit, When
from gangboard.domain.reading.wording import count
from gangboard.placement.apart import values_with_room
from gangboard.placement.ground import Ground
from gangboard.placement.hosts import hosts_of
from gangboard.placement.matching import clashing, is_about_hosts, keys_apart
from gangboard.placement.members import nodes_for
from gangboard.placement.sentences.numbers import Crowd


def shared(shapes: Iterable[Shape]) -> str:
    """Return what pods may not share: `a node`, `a value of zone`, `a node or a value of zone`."""
    shapes = list(shapes)
    terms = {term for shape in shapes for term in (*shape.apart, *shape.matched)}
    keys = sorted({term.topology_key for term in terms} - {HOSTNAME})
    places = ["a node"] if any(map(is_about_hosts, shapes)) else []
    return " or ".join([*places, *(f"a value of {key}" for key in keys)])


def apart_by_label(
    unit: Unit, meant: list[ShapeFit], crowd: Crowd, *, is_blocked: bool
) -> str | None:
    """Return what is said of equal pods and one label of nodes; None where it is more than that."""
    if len(meant) != 1 or is_about_hosts(meant[0].shape):
        return None
    shape = meant[0].shape
    keys = {term.topology_key for term in (*shape.apart, *shape.matched)}
    if len(keys) != 1:
        return None
    (key,) = keys
    ground = nodes_for(unit)
    total = len(_values(ground, shape, key))
    if not keys_apart(shape):
        text = f"{crowd} must not share a value of {key} with certain other pods"
        end = "" if is_blocked else _taken(ground, shape, key, crowd)
    else:
        end = ""
        if crowd.number == 1:
            text = f"{crowd} must not share a value of {key} with pods like it"
        else:
            text = f"{crowd} must be on nodes with different values of {key}"
    text = f"{text} (required anti-affinity)"
    if end:
        return f"{text}, {end}"
    if is_blocked and not total:
        return f"{text}, and no node could host one"
    if is_blocked:
        have = "has" if total == 1 else "have"
        return f"{text}, and only {count(total, 'value')} {have} a node that could host one"
    now = values_with_room(ground, shape, key, When.NOW)
    verb = "takes" if now == 1 else "take"
    return f"{text}, and {now} of {_with_nodes(total, crowd)} {verb} one now"


def _values(ground: Ground, shape: Shape, key: str) -> set[str]:
    """Return the values of the label on nodes that could ever host one."""
    places = np.flatnonzero(hosts_of(ground, shape).eligible()).tolist()
    return {value for at in places if (value := ground[at].labels.get(key)) is not None}


def _taken(ground: Ground, shape: Shape, key: str, crowd: Crowd) -> str:
    """Return how many of the values that could host one have a pod that keeps it away."""
    values = _values(ground, shape, key)
    terms = ground.terms(When.NOW)
    taken = sum((key, one) in terms and any(clashing(shape, terms[key, one])) for one in values)
    if not taken:
        return ""
    if len(values) == 1:
        return f"and the only value with nodes that could host {crowd.them} has such a pod"
    number = "each" if taken == len(values) else str(taken)
    have = "has" if taken in (1, len(values)) else "have"
    return f"and {number} of {_with_nodes(len(values), crowd)} {have} such a pod"


def _with_nodes(number: int, crowd: Crowd) -> str:
    what = "the only value" if number == 1 else f"the {number} values"
    return f"{what} with nodes that could host {crowd.them}"
