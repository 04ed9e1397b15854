"""`group-creation-failed`: the Workload or PodGroup of a Job could not be created.

The Job controller (1.37) reports this in events on the Job, `FailedWorkloadCompilation` and
`FailedWorkloadCreate`. A PodGroup that cannot be created leaves no event (k8s-gang-api.md §4.4).
"""

from __future__ import annotations

from gangboard.domain.advice import ChangeMethod
from gangboard.domain.event import Event
from gangboard.domain.health import Health, Stage
from gangboard.domain.text import quote, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.creation_refusal import raise_quota, read_creation_refusal
from gangboard.facts.findings import unit_finding
from gangboard.facts.grace_periods import newest_creation
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule

_TEMPLATE_NAME = "podGroupTemplates[0].name"
_SUFFIX = "-pgt-0"
_MAX_LABEL_LENGTH = 63
# The Workload's template has the name of the Job and must be a DNS label (observed on 1.37.0).
_MAX_NAME_LENGTH = _MAX_LABEL_LENGTH - len(_SUFFIX)
_REASONS = frozenset({"FailedWorkloadCompilation", "FailedWorkloadCreate"})


def find(unit: Unit) -> Finding | None:
    """Return a finding while pods are missing, no group exists and no newer pod disproves the event."""
    if unit.group is not None or unit.group_name or not unit.missing:
        return None
    event = _newest_failure(unit)
    if event is None:
        return None
    kind, name = event.regarding.kind, event.regarding.name
    refusal = read_creation_refusal(event)
    if refusal.limits:
        message = f"The group of {kind} {name} cannot be created. {refusal.about('it')}"
    elif _is_too_long(event):
        message = (
            f"{kind} name too long: {len(name)} characters, {_MAX_NAME_LENGTH} allowed. "
            "No group can be created."
        )
    else:
        note = event.note.removeprefix(f"Failed to create Workload for Job {name}: ")
        note = note.removeprefix(f"Failed to compile Workload for Job {name}: ")
        message = f"The group of {kind} {name} cannot be created: {sentence(quote(note))}"
    return unit_finding(
        RULE,
        unit,
        message,
        advice=_advice(event, has_other_units=unit.desired < unit.owner.desired),
        evidence=(Evidence(event.reason, event.note, event.regarding),),
        since=event.first_seen,
    )


def _advice(event: Event, *, has_other_units: bool) -> tuple[str, ...]:
    refusal = read_creation_refusal(event)
    if refusal.limits:
        return raise_quota(refusal, 1, at_least=has_other_units)
    if _is_too_long(event):
        return (
            f"Give {event.regarding.kind} {event.regarding.name} a name of at most {_MAX_NAME_LENGTH} "
            f"characters: Kubernetes appends {_SUFFIX}, and the limit is {_MAX_LABEL_LENGTH} ({ChangeMethod.RECREATE}).",
        )
    return ()


def _is_too_long(event: Event) -> bool:
    """Return whether the template's name was refused because the Job's name is too long."""
    return len(event.regarding.name) > _MAX_NAME_LENGTH and _TEMPLATE_NAME in event.note


def _newest_failure(unit: Unit) -> Event | None:
    """Return the newest such event about a Job of the unit that is younger than all its pods."""
    jobs = {job.meta.ref.uid for job in unit.jobs}
    newest_pod = newest_creation(unit.current)
    failures = [
        event
        for event in (*unit.events, *unit.gang.events)
        if event.reason in _REASONS
        and event.regarding.uid in jobs
        and event.last_seen is not None
        and (newest_pod is None or event.last_seen >= newest_pod)
    ]
    return max(failures, key=lambda event: (event.last_seen, event.meta.ref.name), default=None)


RULE = UnitRule(
    "group-creation-failed",
    Stage.FORMATION,
    "Group not created",
    30,
    find,
    health=Health.BLOCKED,
)
