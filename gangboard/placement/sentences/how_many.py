"""How many of the pods that wait fit by themselves: `only 3 of 4 fit`."""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.domain.placing import Assessment, ShapeFit, When
from gangboard.facts.unit import Unit
from gangboard.placement.anti_affinity import is_anti_affinity_unsupported
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.members import nodes_for
from gangboard.placement.sentences.numbers import crowd_of


def some_fit(unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit], when: When) -> str:
    """Return `: only 3 of 4 fit`; empty where `how_many_fit` is, and for pods of several shapes."""
    fit = how_many_fit(unit, assessment, shapes[0], when) if len(shapes) == 1 else ""
    return f": {fit}" if fit else ""


def how_many_fit(unit: Unit, assessment: Assessment, one: ShapeFit, when: When) -> str:
    """Return `only 3 of 4 fit`, of the pods of the only shape that wait; empty where none fits.

    At most so many fit where something is asked for that is not counted here.
    """
    crowd, most = crowd_of(assessment), alone(unit, one, when)
    if not 0 < most < crowd.number:
        return ""
    is_bound = (
        one.shape.unsupported or unit_keys(unit) or is_anti_affinity_unsupported(assessment.request)
    )
    only = "at most" if is_bound else "only"
    return f"{only} {most} of {crowd.of} {'fits' if most == 1 else 'fit'}"


def alone(unit: Unit, one: ShapeFit, when: When) -> int:
    """Return how many pods of the shape fit by themselves, also outside of a domain that was chosen.

    They would not all fit without it either: it is not what these sentences are about.
    """
    if unit.placing is None or unit.placing.request.domain is None:
        return one.now if when is When.NOW else one.empty
    now, empty, *_ = feasible_nodes_of(nodes_for(unit), one.shape).summary(unit_keys(unit))
    return now if when is When.NOW else empty


def unit_keys(unit: Unit) -> tuple[str, ...]:
    """Return the topology keys of what the unit asks for."""
    return unit.placing.request.topology_keys if unit.placing is not None else ()
