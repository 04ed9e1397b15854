"""Failures that Grove or a scheduler backend reports, and the Grove objects of a unit."""

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

# A backend refuses a PodGang by an event on it (kai/backend.go), or as the cause of an error.
_BACKEND_REFUSED = "BackendMappingFailed"
_NOT_EXPRESSIBLE = re.compile(
    r"scheduler backend|unsupported|not supported|at most \d|too (many|deep)|preferred topology"
    r"|feature gate|CompositePodGroup",
    re.IGNORECASE,
)
_OPERATION_PREFIX = re.compile(r"^\[Operation: [^\]]*\] message: ")
_FORBIDDEN_PREFIX = re.compile(r'^[\w.]{1,253} "[^"]{0,253}" is forbidden: ')
_REFUSED = re.compile(r'forbidden|denied the request|failed calling webhook|"[^"]*" is invalid')


def find_not_expressible(unit: Unit) -> Finding | None:
    """Return a finding while a backend reports that it cannot create groups for a PodGang."""
    if unit.group is not None or unit.placed or not (unit.unplaced or unit.missing):
        return None
    podgangs = podgangs_of(unit)
    event = _refusal(unit, podgangs)
    if event is not None:
        text, source = event.note, Evidence(event.reason, event.note, event.regarding)
        since = event.first_seen
    else:
        error = nearest_error(unit, _is_of_backend)
        if error is None:
            return None
        text, source, since = error.detail["error"], _evidence_of_error(error), None
    refused = event.regarding if event is not None else unit.owner.meta.ref
    if event is None and len(podgangs) == 1:
        refused = podgangs[0].meta.ref
    refused_label = label(refused)
    return unit_finding(
        NOT_EXPRESSIBLE,
        unit,
        f"The scheduler backend rejects {refused_label}: {sentence(quote(_innermost_cause(text)))}",
        advice=(
            f"Re-create {label(unit.owner.meta.ref)} in a shape that its scheduler supports: Grove cannot "
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
    error = nearest_error(unit)
    if error is None:
        return None
    text = error.detail["error"]
    rule = _rule_for(error)
    live = len(unit.current) + unit.succeeded
    exist = f"{out_of(live, unit.wanted, 'pod')} {'exists' if live == 1 else 'exist'}"
    return unit_finding(
        rule,
        unit,
        f"{exist}, and Grove failed at {label(error.meta.ref)}: {sentence(quote(_innermost_cause(text)))}",
        evidence=(_evidence_of_error(error), Evidence("pods", f"{live} of {unit.wanted}")),
    )


def _rule_for(error: Owner) -> UnitRule:
    """Return the rule of an error. The code tells whether a group or a pod was refused."""
    if not _REFUSED.search(error.detail["error"]):
        return FAILED
    return GROUP_FAILED if "PODGANG" in error.detail["error code"] else REFUSED


def _is_of_backend(error: Owner) -> bool:
    text = error.detail["error"]
    return bool(_NOT_EXPRESSIBLE.search(text)) and not _REFUSED.search(text)


def _innermost_cause(text: str) -> str:
    """Return the innermost cause of an error, without the prefix of Grove and the outer causes."""
    return _FORBIDDEN_PREFIX.sub("", _OPERATION_PREFIX.sub("", text.rpartition(", cause: ")[2]))


def _evidence_of_error(error: Owner) -> Evidence:
    return Evidence("status.lastErrors", error.detail["error"], error.meta.ref)


def evidence(unit: Unit) -> tuple[Evidence, ...]:
    """Return the three minima of a unit if they differ, and the last error of its objects.

    The `minReplicas` of a PodClique are summed over its PodGangs. Grove can lower the `minReplicas` of a placed PodGang
    to 0. A core group cannot have a quorum of 0, so it keeps the last positive number.
    """
    error = nearest_error(unit)
    errors = (_evidence_of_error(error),) if error is not None else ()
    clique = clique_of(unit)
    if unit.group is None or unit.quorum is None or clique is None:
        return errors
    name = clique.meta.ref.name
    templates = [
        (podgang, template)
        for podgang in podgangs_of(unit)
        for template in podgang.templates
        if template.name == name
    ]
    if not templates:
        return errors
    least = sum(template.quorum or 0 for _, template in templates)
    numbers = (clique.detail["minAvailable"], str(least), str(unit.quorum))
    if len(set(numbers)) == 1:
        return errors
    gangs = names(podgang.meta.ref.name for podgang, _ in templates)
    object_text = "the PodGang" if len(templates) == 1 else f"the PodGangs {gangs}"
    return (
        *errors,
        Evidence("spec.minAvailable", numbers[0], clique.meta.ref),
        Evidence(
            f"spec.podgroups[].minReplicas in {object_text}", numbers[1], templates[0][0].meta.ref
        ),
        Evidence("quorum of the group", numbers[2], unit.group.meta.ref),
    )


# Grove objects of a unit


def clique_named(unit: Unit, name: str) -> Owner | None:
    """Return a PodClique of the gang. None: it does not exist."""
    clique = unit.gang.objects_by_name.get((GROUP, PODCLIQUE, name))
    return clique if isinstance(clique, Owner) else None


def podgang_named(unit: Unit, name: str) -> Group | None:
    """Return a PodGang of the gang. None: it does not exist."""
    podgang = unit.gang.objects_by_name.get((*PODGANGS, name))
    return podgang if isinstance(podgang, Group) else None


def clique_of(unit: Unit) -> Owner | None:
    """Return the PodClique of a unit. None: the unit has several, or it does not exist."""
    names_of = {role.name for role in unit.roles} or {
        pod.labels.get(CLIQUE_LABEL, "") for pod in unit.pods
    }
    return clique_named(unit, names_of.pop()) if len(names_of) == 1 else None


def podgangs_of(unit: Unit) -> tuple[Group, ...]:
    """Return the PodGangs that the pods of a unit name, in order of names.

    Before any pod exists, it is the PodGang of the PodClique. The pods of one PodClique can be in several PodGangs
    (podclique/components/pod, ai-dynamo/grove#799).
    """
    if unit.pods:
        names = {pod.labels.get(PODGANG_LABEL, "") for pod in unit.pods}
    else:
        clique = clique_of(unit)
        names = {clique.detail["podgang"]} if clique is not None else set()
    podgangs = (podgang_named(unit, name) for name in sorted(names))
    return tuple(podgang for podgang in podgangs if podgang is not None)


def _accept_any(_error: Owner) -> bool:
    return True


def nearest_error(unit: Unit, accepts: Callable[[Owner], bool] = _accept_any) -> Owner | None:
    """Return the nearest object above the pods of a unit that has an error, its PodClique first."""
    clique = clique_of(unit)
    controller = clique.meta.controller if clique is not None else None
    group = (
        unit.gang.objects_by_name.get((GROUP, SCALING_GROUP, controller.name))
        if controller is not None
        else None
    )
    for candidate in (clique, group, unit.owner):
        if not isinstance(candidate, Owner):
            continue
        if "error" in candidate.detail and accepts(candidate):
            return candidate
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
