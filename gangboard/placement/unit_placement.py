"""The placement arithmetic for the waiting members of one unit, and the rows of its node-fit table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gangboard.domain.capacity import PodSet, Shape
from gangboard.domain.placement_result import (
    Constraint,
    ExcludedNodes,
    Filter,
    PlacementCause,
    PlacementResult,
    ShapeFit,
    When,
)
from gangboard.domain.pod_constraints import Spread
from gangboard.domain.resources import decimal_text
from gangboard.domain.verdict import FitReason, FitRow
from gangboard.facts.scheduler_text import last_refusal
from gangboard.facts.unit import Unit
from gangboard.placement.anti_affinity import max_one_per_domain
from gangboard.placement.assess import assess
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.gang_nodes import nodes_for
from gangboard.placement.matching import undecidable
from gangboard.placement.members import placement_request_of, waiting_members
from gangboard.placement.node_filters import EXAMPLES, Obstacle
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.topology_domains import domains_of
from gangboard.placement.topology_spread import closed_nodes, max_spread_pods


def placing_of(unit: Unit) -> PlacementResult | None:
    """Return whether and where the waiting members of a unit fit. None: no member waits for a node."""
    if not waiting_members(unit):
        return None
    request = placement_request_of(unit)
    why = unit.gang.cluster.room.why or _unpredictable_scheduler(unit)
    if why:
        return PlacementResult(request, why=why)
    snapshot = nodes_for(unit)
    keys = request.topology_keys
    shapes = tuple(
        shape_fit(pod_set, snapshot, keys, request.domain) for pod_set in request.pod_sets
    )
    assessment = assess(request, snapshot)
    refused_at = last_refusal(unit) if assessment.cause is PlacementCause.FITS else None
    return PlacementResult(request, assessment, shapes, refused_at=refused_at)


def _unpredictable_scheduler(unit: Unit) -> str:
    """Return why arithmetic cannot predict the scheduler of the members. Empty: it can."""
    name = unit.other_scheduler
    return f"scheduler {name} places pods by rules of its own" if name else ""


def shape_fit(
    pod_set: PodSet,
    snapshot: NodeSnapshot,
    keys: tuple[str, ...],
    domain: tuple[str, ...] | None = None,
) -> ShapeFit:
    """Return where pods of one shape can go.

    Each node counts separately, except for constraints between nodes. `domain` are the values of `keys` of the placed
    members. Nodes elsewhere take no pod.
    """
    feasible = feasible_nodes_of(snapshot, pod_set.shape)
    now, empty, open_nodes, saturated = feasible.summary(keys)
    result = ShapeFit(
        pod_set.shape, pod_set.count, feasible.eligibility(keys), now, empty, open_nodes, saturated
    )
    if domain is not None:
        return _restrict_to_domain(result, snapshot, keys, domain)
    spread = pod_set.shape.spread
    limited = (
        _limit_by_spread(result, snapshot, spread)
        if spread is not None
        else _limit_by_anti_affinity(result, snapshot)
    )
    return _with_blockers(limited, snapshot, keys)


def _with_blockers(
    result: ShapeFit,
    snapshot: NodeSnapshot,
    keys: tuple[str, ...],
    between: Sequence[Obstacle] = (),
) -> ShapeFit:
    """Return the result with what keeps nodes out. `between` are constraints between nodes beside topology spread."""
    shape = result.shape
    spreads = [
        (Constraint.SPREAD, spread.topology_key, closed_nodes(snapshot, shape, spread))
        for spread in shape.spreads
    ]
    blockers, more = feasible_nodes_of(snapshot, shape).blockers(
        keys, (*between, *spreads), counts_pods=not (keys or spreads)
    )
    return replace(result, blockers=blockers, more_blockers=more)


def _restrict_to_domain(
    result: ShapeFit, snapshot: NodeSnapshot, keys: tuple[str, ...], domain: tuple[str, ...]
) -> ShapeFit:
    """Return the result with only the nodes of the chosen topology domain.

    A node elsewhere does not count, even with free capacity.
    """
    feasible, domains = feasible_nodes_of(snapshot, result.shape), domains_of(snapshot, keys)
    code = domains.values.index(domain) if domain in domains.values else None
    inside = domains.codes == code if code is not None else np.zeros(len(snapshot), dtype=np.bool_)
    now, empty, open_nodes, saturated = feasible.summary_of(feasible.eligible(keys) & inside)
    outside = np.flatnonzero(feasible.eligible(keys) & ~inside).tolist()
    names = tuple(snapshot.names[row] for row in outside[:EXAMPLES])
    outside_limit = ((str(Constraint.TOPOLOGY), len(outside), names),) if outside else ()
    saturated = tuple(sorted((*saturated, *outside_limit), key=lambda limit: (-limit[1], limit[0])))
    result = replace(result, now=now, empty=empty, open_nodes=open_nodes, saturated=saturated)
    elsewhere = (domains.codes >= 0) & ~inside
    return _with_blockers(result, snapshot, keys, [(Constraint.TOPOLOGY, "", elsewhere)])


def _limit_by_anti_affinity(result: ShapeFit, snapshot: NodeSnapshot) -> ShapeFit:
    """Return the result with the numbers of pods that exclude each other by one label."""
    now = max_one_per_domain(snapshot, result.shape, When.CURRENT)
    empty = max_one_per_domain(snapshot, result.shape, When.DRAINED)
    return result if now is None or empty is None else replace(result, now=now, empty=empty)


def _limit_by_spread(result: ShapeFit, snapshot: NodeSnapshot, spread: Spread) -> ShapeFit:
    """Return the result within the limits of a topology spread constraint."""
    shape = result.shape
    with_room = feasible_nodes_of(snapshot, shape).max_pods(When.CURRENT) > 0
    closed = np.flatnonzero(with_room & closed_nodes(snapshot, shape, spread)).tolist()
    names = tuple(snapshot.names[row] for row in closed[:EXAMPLES])
    spread_limit = ((str(Constraint.SPREAD), len(closed), names),) if closed else ()
    return replace(
        result,
        now=max_spread_pods(snapshot, shape, spread, When.CURRENT),
        empty=max_spread_pods(snapshot, shape, spread, When.DRAINED),
        open_nodes=result.open_nodes - len(closed),
        saturated=tuple(
            sorted((*result.saturated, *spread_limit), key=lambda limit: (-limit[1], limit[0]))
        ),
    )


# Rows of the node-fit table


def fit_rows(unit: Unit) -> tuple[FitRow, ...]:
    """Return one row for each shape of members that wait for a node.

    A row with `why` has no numbers, because nodes or pods could not be read.
    """
    placing = unit.placing
    if placing is None:
        return ()
    if placing.assessment is None:
        return tuple(
            _unknown_row(unit, pod_set, placing.why) for pod_set in placing.request.pod_sets
        )
    return tuple(_row(unit, shape_fit) for shape_fit in placing.shapes)


def _unknown_row(unit: Unit, pod_set: PodSet, why: str) -> FitRow:
    shape = pod_set.shape
    return FitRow(unit.name, shape.name, pod_set.count, _requests(shape), 0, 0, 0, 0, why=why)


def _row(unit: Unit, shape_fit: ShapeFit) -> FitRow:
    eligibility = shape_fit.eligibility
    return FitRow(
        unit.name,
        shape_fit.shape.name,
        shape_fit.count,
        _requests(shape_fit.shape),
        shape_fit.now,
        shape_fit.empty,
        eligibility.nodes,
        shape_fit.open_nodes,
        tuple(FitReason(limit, count, "", names) for limit, count, names in shape_fit.saturated),
        tuple(_excluded(label, excluded) for label, excluded in eligibility.excluded.items()),
        shape_fit.shape.unsupported,
        _not_understood(shape_fit.shape),
        shape_fit.blockers,
        shape_fit.more_blockers,
    )


def _not_understood(shape: Shape) -> str:
    """Return the requirements that make every number unsafe. Empty: the shape is understood."""
    names = undecidable(shape)
    return f"not understood: {', '.join(names)}" if names else ""


def _excluded(label: Filter, excluded: ExcludedNodes) -> FitReason:
    """Return an excluded group of nodes as a row, with its taints, labels or resources.

    With several of them, each has its number of nodes.
    """
    details = excluded.details
    if len(details) == 1:
        detail = details[0][0]
    else:
        detail = ", ".join(f"{name} ({count})" for name, count in details)
    return FitReason(str(label), excluded.count, detail, excluded.examples)


def _requests(shape: Shape) -> dict[str, str]:
    """Return the requests of one pod as plain decimal strings, without zeros."""
    return {name: decimal_text(amount) for name, amount in sorted(shape.requests.items()) if amount}
