"""`queue-evaluating`: the owner or a child Job is suspended and a queue has not admitted it yet.

An admission system creates its owners suspended and keeps them so until admission (jobset-kueue.md §2.6, §5).
This state is therefore never called `suspended`. It is blocked in two cases: the named queue belongs to no
served admission system, or no entry appears for two minutes. It is unknown if that cannot be observed. Messages
of the queue have codes of their own (`queue_reasons`).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from gangboard.domain.advice import AdvisedStep
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import find_condition
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueCode
from gangboard.domain.queue_status import QueueStanding
from gangboard.domain.text import label, remaining_pods_text, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import gang_finding, unit_finding
from gangboard.facts.gang import Gang
from gangboard.facts.job_holds import resume_advice
from gangboard.facts.queue_sentences import (
    admitted_jobs_text,
    entry_kind,
    first_response_due,
    is_not_resumed,
    jobs_sentences,
    jobs_suspended_by_queue,
    message_evidence,
    owner_sentence,
    queue_evidence,
    queue_health,
    resume_due,
    system,
)
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import GangRule, UnitRule

_CODE, _TITLE = "queue-evaluating", "Waits in a queue"


def find(gang: Gang) -> Finding | None:
    """Return a finding for a suspended owner that a queue manages or should manage."""
    owner, status = gang.owner, gang.queue
    if not owner.suspended or owner.finish is not None or status.standing is QueueStanding.FREE:
        return None
    terminating = sentence(remaining_pods_text(gang.pods))
    suspended = find_condition(owner.conditions, "Suspended")
    return gang_finding(
        RULE,
        queue_health(gang, owner),
        " ".join(filter(None, (owner_sentence(gang), terminating))),
        advice=_advice(gang),
        evidence=(*message_evidence(gang, status), *queue_evidence(gang, status, owner)),
        recheck_at=_recheck_at(gang, (owner,)),
        since=suspended.since if suspended is not None and suspended.is_true else None,
    )


def _advice(gang: Gang) -> tuple[AdvisedStep | str, ...]:
    """Return the next steps. Without an admission system, a user may change `spec.suspend` directly."""
    if gang.queue.standing is not QueueStanding.NOT_SERVED:
        return _late_advice(gang, (gang.owner,))
    install = f"Install {system(gang)}, which admits {label(gang.owner.meta.ref)}, or remove its queue label."
    return (*resume_advice(gang, (gang.owner,)), install)


def _late_advice(gang: Gang, subjects: Iterable[Owner]) -> tuple[str, ...]:
    """Return what to look at if an entry or a resume is late."""
    late_subjects = [job for job in subjects if queue_health(gang, job) is Health.BLOCKED]
    if not late_subjects:
        return ()
    subject = label(late_subjects[0].meta.ref)
    if is_not_resumed(gang, late_subjects[0]):
        return (
            f"Check the events of {subject} and the log of {system(gang)}: its resume is refused. "
            "The quota stays in use meanwhile.",
        )
    return (
        f"Check that {system(gang)} runs and manages {subject}: it then creates a {entry_kind(gang)}, "
        "or an event says why not.",
    )


def _recheck_at(gang: Gang, subjects: Iterable[Owner]) -> datetime | None:
    dues = (due(gang, subject) for subject in subjects for due in (first_response_due, resume_due))
    return min((due for due in dues if due is not None and due > gang.now), default=None)


def find_in_unit(unit: Unit) -> Finding | None:
    """Return a finding about all Jobs with queues of their own if Jobs of this unit wait there."""
    gang = unit.gang
    own = _waiting(gang, unit.jobs)
    if not own:
        return None
    waiting = _waiting(gang, gang.jobs)
    is_late = any(queue_health(gang, job) is Health.BLOCKED for job in waiting)
    evidence: tuple[Evidence, ...] = ()
    for job in own:
        status = gang.queue_statuses[job.meta.ref.uid]
        evidence += (*message_evidence(gang, status), *queue_evidence(gang, status, job))
    return unit_finding(
        _UNIT_RULE,
        unit,
        " ".join(filter(None, (admitted_jobs_text(gang), jobs_sentences(gang, waiting)))),
        health=Health.BLOCKED if is_late else queue_health(gang, own[0]),
        advice=_late_advice(gang, waiting),
        evidence=evidence,
        recheck_at=_recheck_at(gang, waiting),
    )


def _waiting(gang: Gang, jobs: Iterable[Owner]) -> list[Owner]:
    return [job for job in jobs_suspended_by_queue(gang, jobs) if _has_no_other_finding(gang, job)]


def _has_no_other_finding(gang: Gang, job: Owner) -> bool:
    """Return whether no other rule reports the queue of a Job."""
    status = gang.queue_statuses[job.meta.ref.uid]
    if status.standing is QueueStanding.DEACTIVATED:
        return False
    return status.message is None or status.message.code is QueueCode.QUEUE_EVALUATING


_UNIT_RULE = UnitRule(_CODE, Stage.ADMISSION, _TITLE, 25, find_in_unit, health=Health.WAITING)
RULE = GangRule(_CODE, Stage.ADMISSION, _TITLE, 48, find, _UNIT_RULE)
