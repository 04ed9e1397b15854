"""What there is of Grove's objects in the facts of a gang."""

from __future__ import annotations

from collections.abc import Callable

from gangboard.domain.group import Group
from gangboard.domain.owner import Owner
from gangboard.facts.unit import Unit
from gangboard.owners.grove.wire import (
    CLIQUE_LABEL,
    GROUP,
    PODCLIQUE,
    PODGANG_LABEL,
    SCALING_GROUP,
)

PODGANGS = "scheduler.grove.io", "PodGang"


def clique_named(unit: Unit, name: str) -> Owner | None:
    """Return a PodClique of the gang that is there."""
    found = unit.gang.named.get((GROUP, PODCLIQUE, name))
    return found if isinstance(found, Owner) else None


def podgang_named(unit: Unit, name: str) -> Group | None:
    """Return a PodGang of the gang that is there."""
    found = unit.gang.named.get((*PODGANGS, name))
    return found if isinstance(found, Group) else None


def clique_of(unit: Unit) -> Owner | None:
    """Return the PodClique of a unit, if it is there: units of several have none."""
    names_of = {role.name for role in unit.roles} or {
        pod.labels.get(CLIQUE_LABEL, "") for pod in unit.pods
    }
    return clique_named(unit, names_of.pop()) if len(names_of) == 1 else None


def podgangs_of(unit: Unit) -> tuple[Group, ...]:
    """Return the PodGangs that the pods of a unit name, in order of names; before there are pods its PodClique's.

    The pods of one PodClique can be in several of them (podclique/components/pod, ai-dynamo/grove#799).
    """
    if unit.pods:
        names = {pod.labels.get(PODGANG_LABEL, "") for pod in unit.pods}
    else:
        clique = clique_of(unit)
        names = {clique.detail["podgang"]} if clique is not None else set()
    found = (podgang_named(unit, name) for name in sorted(names))
    return tuple(podgang for podgang in found if podgang is not None)


def _any(_error: Owner) -> bool:
    return True


def error_of(unit: Unit, wanted: Callable[[Owner], bool] = _any) -> Owner | None:
    """Return the nearest object above the pods of a unit that has an error, its PodClique first."""
    clique = clique_of(unit)
    above = clique.meta.controller if clique is not None else None
    group = unit.gang.named.get((GROUP, SCALING_GROUP, above.name)) if above is not None else None
    for one in (clique, group, unit.owner):
        if not isinstance(one, Owner):
            continue
        if "error" in one.detail and wanted(one):
            return one
    return None
