"""What arithmetic has to say of the members of one unit that wait for a node."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gangboard.domain.capacity import PodSet, Spread
from gangboard.domain.placing import Constraint, PlacementCause, Placing, ShapeFit, When
from gangboard.facts.retry import last_refusal
from gangboard.facts.unit import Unit
from gangboard.placement.anti_affinity import most_one_per_domain
from gangboard.placement.assess import assess
from gangboard.placement.domains import domains_of
from gangboard.placement.eligibility import EXAMPLES
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.members import nodes_for, request_of, waiting
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.spread import closed, most_in

__all__ = ["nodes_for", "placing_of", "request_of"]


def placing_of(unit: Unit) -> Placing | None:
    """Return whether and where the waiting members of a unit fit; None when none waits for a node."""
    if not waiting(unit):
        return None
    request = request_of(unit)
    why = unit.gang.cluster.room.why or _rules_of_its_own(unit)
    if why:
        return Placing(request, why=why)
    snapshot = nodes_for(unit)
    keys = request.topology_keys
    shapes = tuple(
        shape_fit(pod_set, snapshot, keys, request.domain) for pod_set in request.pod_sets
    )
    found = assess(request, snapshot)
    refused_at = last_refusal(unit) if found.cause is PlacementCause.FITS else None
    return Placing(request, found, shapes, refused_at=refused_at)


def _rules_of_its_own(unit: Unit) -> str:
    """Return why arithmetic cannot tell what the scheduler of its members does; empty where it can."""
    name = unit.other_scheduler
    return f"scheduler {name} places pods by rules of its own" if name else ""


def shape_fit(
    pod_set: PodSet,
    snapshot: NodeSnapshot,
    keys: tuple[str, ...],
    domain: tuple[str, ...] | None = None,
) -> ShapeFit:
    """Return where the pods of one shape can go, each node by itself but for rules about many.

    `domain` are the values of `keys` that members with a node have chosen: no other node takes one.
    """
    feasible = feasible_nodes_of(snapshot, pod_set.shape)
    now, empty, open_nodes, saturated = feasible.summary(keys)
    found = ShapeFit(
        pod_set.shape, pod_set.count, feasible.eligibility(keys), now, empty, open_nodes, saturated
    )
    if domain is not None:
        return _within(found, snapshot, keys, domain)
    spread = pod_set.shape.spread
    return (
        _spread_out(found, snapshot, spread) if spread is not None else _exclusive(found, snapshot)
    )


def _within(
    found: ShapeFit, snapshot: NodeSnapshot, keys: tuple[str, ...], domain: tuple[str, ...]
) -> ShapeFit:
    """Return the same with what the topology domain leaves of the numbers.

    A node elsewhere is none, whatever is free on it.
    """
    feasible, domains = feasible_nodes_of(snapshot, found.shape), domains_of(snapshot, keys)
    code = domains.values.index(domain) if domain in domains.values else None
    inside = domains.codes == code if code is not None else np.zeros(len(snapshot), dtype=np.bool_)
    now, empty, open_nodes, saturated = feasible.part(feasible.eligible(keys) & inside)
    outside = np.flatnonzero(feasible.eligible(keys) & ~inside).tolist()
    names = tuple(snapshot.names[at] for at in outside[:EXAMPLES])
    more = ((str(Constraint.TOPOLOGY), len(outside), names),) if outside else ()
    saturated = tuple(sorted((*saturated, *more), key=lambda one: (-one[1], one[0])))
    return replace(found, now=now, empty=empty, open_nodes=open_nodes, saturated=saturated)


def _exclusive(found: ShapeFit, snapshot: NodeSnapshot) -> ShapeFit:
    """Return the same with what pods leave of the numbers that keep each other out of a zone."""
    now = most_one_per_domain(snapshot, found.shape, When.NOW)
    empty = most_one_per_domain(snapshot, found.shape, When.EMPTY)
    return found if now is None or empty is None else replace(found, now=now, empty=empty)


def _spread_out(found: ShapeFit, snapshot: NodeSnapshot, spread: Spread) -> ShapeFit:
    """Return the same with what a topology spread constraint leaves of the numbers."""
    shape = found.shape
    with_room = feasible_nodes_of(snapshot, shape).caps(When.NOW) > 0
    shut = np.flatnonzero(with_room & closed(snapshot, shape, spread)).tolist()
    names = tuple(snapshot.names[at] for at in shut[:EXAMPLES])
    more = ((str(Constraint.SPREAD), len(shut), names),) if shut else ()
    return replace(
        found,
        now=most_in(snapshot, shape, spread, When.NOW),
        empty=most_in(snapshot, shape, spread, When.EMPTY),
        open_nodes=found.open_nodes - len(shut),
        saturated=tuple(sorted((*found.saturated, *more), key=lambda one: (-one[1], one[0]))),
    )
