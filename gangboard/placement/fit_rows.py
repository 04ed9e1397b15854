"""The lines of the node-fit table, in words."""

from __future__ import annotations

from gangboard.domain.capacity import PodSet, Shape
from gangboard.domain.placing import Excluded, Filter, ShapeFit
from gangboard.domain.resource_units import decimal_text
from gangboard.domain.verdict import FitReason, FitRow
from gangboard.facts.unit import Unit
from gangboard.placement.matching import undecidable


def fit_rows(unit: Unit) -> tuple[FitRow, ...]:
    """Return one line for each shape of members that wait for a node, none when none waits.

    Where nothing could be worked out, `why` is filled and the numbers of the line mean nothing.
    """
    placing = unit.placing
    if placing is None:
        return ()
    if placing.assessment is None:
        return tuple(_blind_row(unit, pod_set, placing.why) for pod_set in placing.request.pod_sets)
    return tuple(_row(unit, one) for one in placing.shapes)


def _blind_row(unit: Unit, pod_set: PodSet, why: str) -> FitRow:
    shape = pod_set.shape
    return FitRow(unit.name, shape.name, pod_set.count, _requests(shape), 0, 0, 0, 0, why=why)


def _row(unit: Unit, one: ShapeFit) -> FitRow:
    found = one.eligibility
    return FitRow(
        unit.name,
        one.shape.name,
        one.count,
        _requests(one.shape),
        one.now,
        one.empty,
        found.nodes,
        one.open_nodes,
        tuple(FitReason(limit, count, "", names) for limit, count, names in one.saturated),
        tuple(_excluded(label, excluded) for label, excluded in found.excluded.items()),
        one.shape.unsupported,
        _not_understood(one.shape),
    )


def _not_understood(shape: Shape) -> str:
    """Return what makes every number unsafe; empty when all of the shape is understood."""
    names = undecidable(shape)
    return f"not understood: {', '.join(names)}" if names else ""


def _excluded(label: Filter, excluded: Excluded) -> FitReason:
    """Say which taint, label or resource; with their numbers of nodes when there are several."""
    details = excluded.details
    if len(details) == 1:
        detail = details[0][0]
    else:
        detail = ", ".join(f"{name} ({count})" for name, count in details)
    return FitReason(str(label), excluded.count, detail, excluded.examples)


def _requests(shape: Shape) -> dict[str, str]:
    """Return what one pod asks for as plain decimal strings, without those of zero."""
    return {name: decimal_text(amount) for name, amount in sorted(shape.requests.items()) if amount}
