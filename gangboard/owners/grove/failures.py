"""Failures that Grove, or the backend of a scheduler, reports, and the objects of Grove behind a unit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gangboard.domain.event import Event, last_seen_seconds
from gangboard.domain.group import Group
from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Owner
from gangboard.domain.text import label, names, out_of, quote, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.unit import Unit, is_formed
from gangboard.owners.grove.wire import (
    CLIQUE_LABEL,
    GROUP,
    PODCLIQUE,
    PODGANG_LABEL,
    SCALING_GROUP,
)
from gangboard.plugins.rule import UnitRule

PODGANGS = "scheduler.grove.io", "PodGang"

# A backend tells so in an event on the PodGang (kai/backend.go), or as the cause of an error.
_BACKEND_REFUSED = "BackendMappingFailed"
_NOT_EXPRESSIBLE = re.compile(
    r"scheduler backend|unsupported|not supported|at most \d|too (many|deep)|preferred topology"
    r"|feature gate|CompositePodGroup",
    re.IGNORECASE,
)
_HEAD = re.compile(r"^\[Operation: [^\]]*\] message: ")
_FORBIDDEN = re.compile(r'^[\w.]{1,253} "[^"]{0,253}" is forbidden: ')
_REFUSED = re.compile(r'forbidden|denied the request|failed calling webhook|"[^"]*" is invalid')


def find_not_expressible(unit: Unit) -> Finding | None:
    """Return a finding while a backend has not made groups of a PodGang and says that it cannot."""
    if unit.group is not None or unit.placed or not (unit.unplaced or unit.missing):
        return None
    podgangs = podgangs_of(unit)
    event = _refusal(unit, podgangs)
    if event is not None:
        text, source = event.note, Evidence(event.reason, event.note, event.regarding)
        since = event.first_seen
    else:
        error = error_of(unit, _is_of_backend)
        if error is None:
            return None
        text, source, since = error.detail["error"], _evidence_of_error(error), None
    refused = event.regarding if event is not None else unit.owner.meta.ref
    if event is None and len(podgangs) == 1:
        refused = podgangs[0].meta.ref
    whose = label(refused)
    return unit_finding(
        NOT_EXPRESSIBLE,
        unit,
        f"Its scheduler cannot be told of {whose}: {sentence(quote(_words(text)))}",
        advice=(
            f"Re-create {label(unit.owner.meta.ref)} in a shape that its scheduler takes: Grove cannot "
            "change it in place.",
        ),
        evidence=(source,),
        since=since,
    )


def _refusal(unit: Unit, podgangs: Sequence[Group]) -> Event | None:
    """Return the newest event with which a backend refuses one of these PodGangs."""
    uids = {podgang.meta.ref.uid for podgang in podgangs}
    events = [
        event
        for event in unit.gang.events
        if event.reason.endswith(_BACKEND_REFUSED) and event.regarding.uid in uids
    ]
    return max(events, key=last_seen_seconds, default=None)


def find_error(unit: Unit) -> Finding | None:
    """Return a finding while pods of a unit are missing and Grove reports an error."""
    if is_formed(unit) or not unit.missing:
        return None
    error = error_of(unit)
    if error is None:
        return None
    text = error.detail["error"]
    rule = _rule_for(error)
    live = len(unit.current) + unit.succeeded
    exist = f"{out_of(live, unit.wanted, 'pod')} {'exists' if live == 1 else 'exist'}"
    return unit_finding(
        rule,
        unit,
        f"{exist}, and Grove failed at {label(error.meta.ref)}: {sentence(quote(_words(text)))}",
        evidence=(_evidence_of_error(error), Evidence("pods", f"{live} of {unit.wanted}")),
    )


def _rule_for(error: Owner) -> UnitRule:
    """Return the rule of an error: a refused group or pod by its code, or another failure."""
    if not _REFUSED.search(error.detail["error"]):
        return FAILED
    return GROUP_FAILED if "PODGANG" in error.detail["error code"] else REFUSED


def _is_of_backend(error: Owner) -> bool:
    text = error.detail["error"]
    return bool(_NOT_EXPRESSIBLE.search(text)) and not _REFUSED.search(text)


def _words(text: str) -> str:
    """Return the innermost cause of an error: Grove puts its own head and each cause behind another."""
    return _FORBIDDEN.sub("", _HEAD.sub("", text.rpartition(", cause: ")[2]))


def _evidence_of_error(error: Owner) -> Evidence:
    return Evidence("status.lastErrors", error.detail["error"], error.meta.ref)


def evidence(unit: Unit) -> tuple[Evidence, ...]:
    """Return the three minima of a unit where they differ, and the last error of its objects.

    The `minReplicas` of a PodClique are summed over its PodGangs. Once a PodGang was placed Grove can lower its `minReplicas` to 0; a core group cannot need no pod, and
    keeps the last positive number.
    """
    error = error_of(unit)
    errors = (_evidence_of_error(error),) if error is not None else ()
    clique = clique_of(unit)
    if unit.group is None or unit.quorum is None or clique is None:
        return errors
    name = clique.meta.ref.name
    parts = [
        (podgang, template)
        for podgang in podgangs_of(unit)
        for template in podgang.templates
        if template.name == name
    ]
    if not parts:
        return errors
    least = sum(template.quorum or 0 for _, template in parts)
    numbers = (clique.detail["minAvailable"], str(least), str(unit.quorum))
    if len(set(numbers)) == 1:
        return errors
    gangs = names(podgang.meta.ref.name for podgang, _ in parts)
    object_text = "the PodGang" if len(parts) == 1 else f"the PodGangs {gangs}"
    return (
        *errors,
        Evidence("spec.minAvailable", numbers[0], clique.meta.ref),
        Evidence(
            f"spec.podgroups[].minReplicas in {object_text}", numbers[1], parts[0][0].meta.ref
        ),
        Evidence("quorum of the group", numbers[2], unit.group.meta.ref),
    )


# The objects of Grove behind a unit


def clique_named(unit: Unit, name: str) -> Owner | None:
    """Return a PodClique of the gang, None if it does not exist."""
    thing = unit.gang.objects_by_name.get((GROUP, PODCLIQUE, name))
    return thing if isinstance(thing, Owner) else None


def podgang_named(unit: Unit, name: str) -> Group | None:
    """Return a PodGang of the gang, None if it does not exist."""
    thing = unit.gang.objects_by_name.get((*PODGANGS, name))
    return thing if isinstance(thing, Group) else None


def clique_of(unit: Unit) -> Owner | None:
    """Return the PodClique of a unit. None for a unit of several, and if it does not exist."""
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
    podgangs = (podgang_named(unit, name) for name in sorted(names))
    return tuple(podgang for podgang in podgangs if podgang is not None)


def _any(_error: Owner) -> bool:
    return True


def error_of(unit: Unit, wanted: Callable[[Owner], bool] = _any) -> Owner | None:
    """Return the nearest object above the pods of a unit that has an error, its PodClique first."""
    clique = clique_of(unit)
    above = clique.meta.controller if clique is not None else None
    group = (
        unit.gang.objects_by_name.get((GROUP, SCALING_GROUP, above.name))
        if above is not None
        else None
    )
    for thing in (clique, group, unit.owner):
        if not isinstance(thing, Owner):
            continue
        if "error" in thing.detail and wanted(thing):
            return thing
    return None


NOT_EXPRESSIBLE = UnitRule(
    "group-not-expressible",
    Stage.FORMATION,
    "Group cannot be expressed",
    20,
    find_not_expressible,
    health=Health.BLOCKED,
)
GROUP_FAILED = UnitRule(
    "group-creation-failed",
    Stage.FORMATION,
    "Group not created",
    31,
    find_error,
    health=Health.BLOCKED,
)
REFUSED = UnitRule(
    "pod-creation-refused", Stage.FORMATION, "Pods refused", 31, find_error, health=Health.BLOCKED
)
FAILED = UnitRule(
    "pods-not-created", Stage.FORMATION, "Pods not created", 31, find_error, health=Health.BLOCKED
)
RULES = NOT_EXPRESSIBLE, FAILED
