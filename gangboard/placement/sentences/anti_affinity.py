"""Sentences about required anti-affinity by a node label other than the hostname, such as a zone."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gangboard.domain.capacity import Shape
from gangboard.domain.placement_result import ShapeFit, When
from gangboard.domain.pod_constraints import HOSTNAME
from gangboard.domain.text import count
from gangboard.facts.unit import Unit
from gangboard.placement.anti_affinity import values_with_free_capacity
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.gang_nodes import nodes_for
from gangboard.placement.matching import clashing, has_host_anti_affinity, one_per_domain_keys
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.sentences.wording import PodCount


def shared_scope_text(snapshot: NodeSnapshot, shapes: Iterable[Shape]) -> str:
    """Return the scope that pods must not share: `a node`, `a value of zone`, `a node or a value of zone`."""
    keys = sorted({key for shape in shapes for key in _blocking_labels(snapshot, shape)})
    scopes = ["a node" if key == HOSTNAME else f"a value of {key}" for key in keys]
    return " or ".join(scopes) or "a node"


def _blocking_labels(snapshot: NodeSnapshot, shape: Shape) -> set[str]:
    """Return the node labels by which anti-affinity separates pods of a shape from each other or from other pods.

    Any pod in the cluster can have a matching term. A term counts if it closes an eligible node.
    """
    keys = set(one_per_domain_keys(shape))
    hosts = feasible_nodes_of(snapshot, shape).eligible()
    if not hosts.any():
        hosts = np.ones(len(snapshot), dtype=np.bool_)
    if has_host_anti_affinity(shape, shape) or any(
        hosts[row] and has_host_anti_affinity(shape, load)
        for row, load in snapshot.sparse().terms_now.items()
    ):
        keys.add(HOSTNAME)
    for (key, value), terms in snapshot.terms(When.CURRENT).items():
        if key not in keys and any(clashing(shape, terms)):
            closed = snapshot.labels(key).among((value,))
            if bool((hosts & closed).any()):
                keys.add(key)
    return keys or {term.topology_key for term in shape.anti_affinity}


def anti_affinity_by_label(
    unit: Unit, affected: list[ShapeFit], pod_count: PodCount, *, is_blocked: bool
) -> str | None:
    """Return the sentence about equal pods and one node label. None: there are more shapes or labels."""
    if len(affected) != 1:
        return None
    shape, snapshot = affected[0].shape, nodes_for(unit)
    keys = _blocking_labels(snapshot, shape)
    if len(keys) != 1 or HOSTNAME in keys:
        return None
    (key,) = keys
    total = len(_eligible_values(snapshot, shape, key))
    taken_text = ""
    if key not in one_per_domain_keys(shape):
        text = f"{pod_count} must not share a value of {key} with certain pods"
        taken_text = "" if is_blocked else _blocked_values_text(snapshot, shape, key)
    elif pod_count.number == 1:
        text = f"{pod_count} must not share a value of {key} with pods like it"
    else:
        text = f"{pod_count} must not share a value of {key}"
    if taken_text:
        return f"{text}, {taken_text}"
    if is_blocked and not total:
        return f"{text}, and no node could host one"
    if is_blocked:
        have = "has" if total == 1 else "have"
        return f"{text}, and only {count(total, 'value')} {have} a node that could host one"
    now = values_with_free_capacity(snapshot, shape, key, When.CURRENT)
    verb = "takes" if now == 1 else "take"
    return f"{text}, and {now} of {_values_text(total)} {verb} one now"


def _eligible_values(snapshot: NodeSnapshot, shape: Shape, key: str) -> set[str]:
    """Return the values of the label on eligible nodes."""
    rows = np.flatnonzero(feasible_nodes_of(snapshot, shape).eligible()).tolist()
    return {value for row in rows if (value := snapshot[row].labels.get(key)) is not None}


def _blocked_values_text(snapshot: NodeSnapshot, shape: Shape, key: str) -> str:
    """Return the clause about eligible values that have a conflicting pod. Empty: there is none."""
    values = _eligible_values(snapshot, shape, key)
    terms = snapshot.terms(When.CURRENT)
    taken = sum(
        (key, value) in terms and any(clashing(shape, terms[key, value])) for value in values
    )
    if not taken:
        return ""
    if len(values) == 1:
        return "and the only usable value has such a pod"
    number = "each" if taken == len(values) else str(taken)
    have = "has" if taken in (1, len(values)) else "have"
    return f"and {number} of {_values_text(len(values))} {have} such a pod"


def _values_text(number: int) -> str:
    return "the only usable value" if number == 1 else f"the {number} usable values"
