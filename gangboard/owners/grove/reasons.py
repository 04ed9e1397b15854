"""Why a PodCliqueSet does not go on, as only Grove's own objects tell it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gangboard.domain.event import Event, last_seen_seconds
from gangboard.domain.facts import Unit
from gangboard.domain.group import Group, label_of_group
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import find_condition
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.reading.findings import still_starting, unit_finding
from gangboard.domain.reading.grace import COUNT_GRACE, CREATION_GRACE, newest_creation
from gangboard.domain.reading.progress import is_formed, lacks_room, missing, succeeded
from gangboard.domain.reading.wording import (
    count,
    label,
    names,
    out_of,
    plural,
    sentence,
    shorten,
)
from gangboard.domain.registry import UnitRule
from gangboard.domain.verdict import Evidence, Finding
from gangboard.owners.grove.wire import (
    CLIQUE_LABEL,
    GROUP,
    PODCLIQUE,
    PODGANG_LABEL,
    SCALING_GROUP,
)

_PODGANGS = "scheduler.grove.io", "PodGang"
_BASE_LABEL = "grove.io/base-podgang"
_GATE = "grove.io/podgang-pending-creation"
_OPERATOR = "the Grove operator"
# A backend tells so in an event on the PodGang (kai/backend.go), or as the cause of an error.
_BACKEND_REFUSED = "BackendMappingFailed"
_NOT_EXPRESSIBLE = re.compile(
    r"scheduler backend|unsupported|not supported|at most \d|too (many|deep)|preferred topology"
    r"|feature gate|CompositePodGroup",
    re.IGNORECASE,
)
_HEAD = re.compile(r"^\[Operation: [^\]]*\] message: ")
_REFUSED = re.compile(r'forbidden|denied the request|failed calling webhook|"[^"]*" is invalid')


# What there is of Grove's objects


def _clique(unit: Unit, name: str) -> Owner | None:
    """Return a PodClique of the gang that is there."""
    found = unit.facts.named.get((GROUP, PODCLIQUE, name))
    return found if isinstance(found, Owner) else None


def _podgang(unit: Unit, name: str) -> Group | None:
    found = unit.facts.named.get((*_PODGANGS, name))
    return found if isinstance(found, Group) else None


def _clique_of(unit: Unit) -> Owner | None:
    """Return the PodClique of a unit, if it is there: units of several have none."""
    names_of = {role.name for role in unit.roles} or {
        pod.labels.get(CLIQUE_LABEL, "") for pod in unit.pods
    }
    return _clique(unit, names_of.pop()) if len(names_of) == 1 else None


def _podgang_of(unit: Unit) -> Group | None:
    """Return the PodGang that the pods of a unit name, before there are pods its PodClique."""
    if unit.pods:
        return _podgang(unit, unit.pods[0].labels.get(PODGANG_LABEL, ""))
    clique = _clique_of(unit)
    return _podgang(unit, clique.detail["podgang"]) if clique is not None else None


# A backend that refuses


def find_not_expressible(unit: Unit) -> Finding | None:
    """Return a finding while a backend has not made groups of a PodGang and says that it cannot."""
    if unit.group is not None or unit.placed or not (unit.unplaced or missing(unit)):
        return None
    podgang = _podgang_of(unit)
    event = _refusal(unit, podgang)
    if event is not None:
        text, said = event.note, Evidence(event.reason, event.note, event.regarding)
        since = event.first_seen
    else:
        error = _error(unit, _is_of_backend)
        if error is None:
            return None
        text, said, since = error.detail["error"], _evidence_of_error(error), None
    whose = label(podgang.meta.ref if podgang is not None else unit.owner.meta.ref)
    return unit_finding(
        NOT_EXPRESSIBLE,
        unit,
        f"Its scheduler cannot be told of {whose}: {sentence(shorten(_words(text)))}",
        advice=(
            f"Make {label(unit.owner.meta.ref)} anew in a shape that its scheduler takes: Grove "
            "changes none in place (recreate).",
        ),
        evidence=(said,),
        since=since,
    )


def _refusal(unit: Unit, podgang: Group | None) -> Event | None:
    if podgang is None:
        return None
    found = [
        event
        for event in unit.facts.events
        if event.reason.endswith(_BACKEND_REFUSED) and event.regarding.uid == podgang.meta.ref.uid
    ]
    return max(found, key=last_seen_seconds, default=None)


# Errors that Grove could not go on after


def find_error(unit: Unit) -> Finding | None:
    """Return a finding while something of a unit is not made and Grove says what it failed at."""
    if is_formed(unit) or not missing(unit):
        return None
    error = _error(unit)
    if error is None:
        return None
    text = error.detail["error"]
    rule = _rule_for(error)
    there = len(unit.current) + succeeded(unit)
    exist = f"{out_of(there, unit.wanted, 'pod')} {'exists' if there == 1 else 'exist'}"
    return unit_finding(
        rule,
        unit,
        f"{exist}, and Grove failed at {label(error.meta.ref)}: {sentence(shorten(_words(text)))}",
        evidence=(_evidence_of_error(error), Evidence("pods", f"{there} of {unit.wanted}")),
    )


def _rule_for(error: Owner) -> UnitRule:
    """Return as which reason an error counts: what was refused, by the error's code, or neither."""
    if not _REFUSED.search(error.detail["error"]):
        return FAILED
    return GROUP_FAILED if "PODGANG" in error.detail["error code"] else REFUSED


def _any(_error: Owner) -> bool:
    return True


def _error(unit: Unit, wanted: Callable[[Owner], bool] = _any) -> Owner | None:
    """Return the nearest object above the pods of a unit that has an error, its PodClique first."""
    clique = _clique_of(unit)
    above = clique.meta.controller if clique is not None else None
    group = unit.facts.named.get((GROUP, SCALING_GROUP, above.name)) if above is not None else None
    for one in (clique, group, unit.owner):
        if not isinstance(one, Owner):
            continue
        if "error" in one.detail and wanted(one):
            return one
    return None


def _is_of_backend(error: Owner) -> bool:
    text = error.detail["error"]
    return bool(_NOT_EXPRESSIBLE.search(text)) and not _REFUSED.search(text)


def _words(text: str) -> str:
    """Return the innermost cause of an error: Grove puts its own head and each cause behind another."""
    return _HEAD.sub("", text.rpartition(", cause: ")[2])


def _evidence_of_error(error: Owner) -> Evidence:
    return Evidence("lastErrors", error.detail["error"], error.meta.ref)


# The group that its pods wait for


def find_missing_group(unit: Unit) -> Finding | None:
    """Return a finding while gated pods name a group that was not made of their PodGang.

    A backend makes the Workload, then the groups, and only then the gates go.
    """
    podgang = _podgang_of(unit)
    gated = [pod for pod in unit.unplaced if _GATE in pod.gates]
    if not unit.group_name or unit.group is not None or not gated or podgang is None:
        return None
    if unit.facts.groups_unobserved or not unit.facts.gang_api_version:
        return None
    number, name = len(gated), label(podgang.meta.ref)
    wait = f"{count(number, 'pod')} {plural(number, 'wait')} for {label_of_group(unit.group_name)}"
    newest = newest_creation(tuple(gated))
    if newest is not None and newest + COUNT_GRACE > unit.now:
        due = newest + COUNT_GRACE
        return still_starting(GROUP_MISSING, unit, f"{wait}.", recheck_at=due)
    plan = next((one for one in unit.facts.workloads if _is_of(one, podgang)), None)
    made = (
        f"{label(plan.meta.ref)} was made" if plan is not None else "not even a Workload was made"
    )
    return unit_finding(
        GROUP_MISSING,
        unit,
        f"{wait}, which does not exist: of {name} {made}.",
        advice=(f"Look at {_OPERATOR}: it makes the groups of {name}.",),
        evidence=(Evidence("podgang", podgang.meta.ref.name, podgang.meta.ref),),
        since=newest,
    )


def _is_of(group: Group, podgang: Group) -> bool:
    ref = group.controller_ref
    named = ref is not None and ref == (*_PODGANGS, podgang.meta.ref.name)
    return named or podgang.meta.ref.uid in group.meta.owner_uids


# The gate


def find_unready(unit: Unit) -> Finding | None:
    """Return a finding while gated members wait for a PodGang that is not there, or not complete.

    Its groups are made of it when it is, so that they are missing is no news before.
    """
    return _find_gated(unit, NOT_READY)


def find_gated(unit: Unit) -> Finding | None:
    """Return a finding while gated members wait although their PodGang is complete.

    Grove takes its gate away when their PodGang lists them; where that follows a base PodGang, when each
    PodClique of that one has enough scheduled pods (podclique/components/pod/syncflow.go).
    """
    return _find_gated(unit, GATED)


def _find_gated(unit: Unit, rule: UnitRule) -> Finding | None:
    gated = [pod for pod in unit.unplaced if pod.gates]
    if not gated or not lacks_room(unit) or any(set(pod.gates) != {_GATE} for pod in gated):
        return None
    awaited = _awaited(unit, gated)
    if awaited.rule is not rule:
        return None
    number = len(gated)
    due = (newest_creation(tuple(gated)) or unit.now) + CREATION_GRACE
    is_stuck = awaited.by_operator and due <= unit.now
    since = [pod.scheduled.since for pod in gated if pod.scheduled and pod.scheduled.since]
    return unit_finding(
        rule,
        unit,
        f"{out_of(number, len(unit.current), 'pod')} {plural(number, 'wait')} for {awaited.what}.",
        health=Health.BLOCKED if is_stuck else None,
        advice=(f"Look at {_OPERATOR}: only it removes the gate {_GATE}.",) if is_stuck else (),
        evidence=(
            *awaited.evidence,
            *(Evidence("schedulingGates", names(pod.gates), pod.meta.ref) for pod in gated[:1]),
        ),
        recheck_at=due if awaited.by_operator and not is_stuck else None,
        since=min(since, default=None),
    )


class _Awaited(NamedTuple):
    """What gated pods wait for."""

    what: str
    by_operator: bool
    """Nobody but the operator can make it come: pods, and room for them, are not what lacks."""
    evidence: tuple[Evidence, ...] = ()
    is_complete: bool = False
    """Their PodGang is there, with all its pods."""

    @property
    def rule(self) -> UnitRule:
        """As which reason it is told."""
        return GATED if self.is_complete else NOT_READY


def _awaited(unit: Unit, gated: Sequence[Pod]) -> _Awaited:
    name, base_name = (gated[0].labels.get(key, "") for key in (PODGANG_LABEL, _BASE_LABEL))
    podgang = _podgang(unit, name)
    if podgang is None:
        return _Awaited(f"PodGang {name}, which does not exist" if name else "a PodGang", True)
    ref = podgang.meta.ref
    gone = [part.name for part in podgang.templates if _clique(unit, part.name) is None]
    if gone:
        what = f"{label(ref)}, which names PodClique {names(gone)} that does not exist"
        return _Awaited(what, True, (Evidence("podgroups", names(gone), ref),))
    initialized = find_condition(podgang.conditions, "Initialized")
    if initialized is None or not initialized.is_true:
        there = {part.name for part in podgang.templates}
        pods = sum(one.labels.get(CLIQUE_LABEL) in there for one in unit.facts.pods if one.is_live)
        size = sum(role.pods for role in unit.owner.roles if role.name in there)
        said = (Evidence("Initialized", initialized.message, ref),) if initialized else ()
        exist = "exists" if pods == 1 else "exist"
        return _Awaited(
            f"{label(ref)}, of which {out_of(pods, size, 'pod')} {exist}", pods >= size, said
        )
    listed = {member for part in podgang.templates for member in part.members}
    if all(one.meta.ref.name not in listed for one in gated):
        they = "it" if len(gated) == 1 else "them"
        number = Evidence("podReferences", str(len(listed)), ref)
        return _Awaited(f"{label(ref)} to list {they}", True, (number,), is_complete=True)
    short = _short_of_base(unit, base_name) if base_name else None
    return short or _Awaited(f"{_OPERATOR}: {label(ref)} is complete", True, is_complete=True)


def _short_of_base(unit: Unit, name: str) -> _Awaited | None:
    """Return what a base PodGang lacks before others follow it; None where it has it all."""
    base = _podgang(unit, name)
    if base is None:
        return _Awaited(f"base PodGang {name}, which does not exist", True, is_complete=True)
    for part in base.templates:
        clique = _clique(unit, part.name)
        if clique is None:
            what = f"base PodGang {name}, which names PodClique {part.name} that does not exist"
            named = (Evidence("podgroups", part.name, base.meta.ref),)
            return _Awaited(what, True, named, is_complete=True)
        scheduled, needed = int(clique.detail["scheduled"]), part.quorum or 0
        if scheduled < needed:
            return _Awaited(
                f"base PodGang {name}: {label(clique.meta.ref)} has {scheduled} of "
                f"{count(needed, 'pod')} placed",
                False,
                (
                    Evidence("scheduledReplicas", str(scheduled), clique.meta.ref),
                    Evidence("minReplicas", str(needed), base.meta.ref),
                ),
                is_complete=True,
            )
    return None


# What stands behind every finding


def evidence(unit: Unit) -> tuple[Evidence, ...]:
    """Return the three minima of a unit where they differ, and the last error of its objects.

    Once a PodGang was placed Grove can lower its `minReplicas` to 0; a core group cannot need no pod, and
    keeps the last positive number.
    """
    error = _error(unit)
    said = (_evidence_of_error(error),) if error is not None else ()
    podgang = _podgang_of(unit)
    clique = _clique_of(unit)
    if unit.group is None or unit.quorum is None or podgang is None or clique is None:
        return said
    name = clique.meta.ref.name
    part = next((one for one in podgang.templates if one.name == name), None)
    if part is None:
        return said
    numbers = (clique.detail["minAvailable"], str(part.quorum), str(unit.quorum))
    if len(set(numbers)) == 1:
        return said
    return (
        *said,
        Evidence("minAvailable of the PodClique", numbers[0], clique.meta.ref),
        Evidence("minReplicas in the PodGang", numbers[1], podgang.meta.ref),
        Evidence("minCount of the group", numbers[2], unit.group.meta.ref),
    )


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
GROUP_MISSING = UnitRule(
    "podgroup-missing",
    Stage.FORMATION,
    "PodGroup missing",
    39,
    find_missing_group,
    health=Health.BLOCKED,
)
NOT_READY = UnitRule(
    "scheduling-gated", Stage.FORMATION, "Scheduling gates", 38, find_unready, health=Health.WAITING
)
GATED = UnitRule(
    "scheduling-gated", Stage.PLACEMENT, "Scheduling gates", 5, find_gated, health=Health.WAITING
)
RULES = (NOT_EXPRESSIBLE, FAILED, NOT_READY, GROUP_MISSING, GATED)
