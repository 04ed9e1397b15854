"""Reasons why a queue has not admitted the owner or a child Job, as its admission system reports them.

The files in `queues/` read the messages of each system. A row of the table below has the code, its health, and
the beginning of the sentence. Without a message the reason is `queue-evaluating`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.advice import AdvisedStep
from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueCode, QueueMessage
from gangboard.domain.queue_status import QueueStatus
from gangboard.domain.text import count, names, remaining_pods_text, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import gang_finding, unit_finding
from gangboard.facts.gang import Gang
from gangboard.facts.queue_sentences import (
    admitted_jobs_text,
    jobs_suspended_by_queue,
    message_evidence,
    preemptor_text,
    queue_evidence,
    queue_text,
    with_queue_cause,
)
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import GangRule, UnitRule


@dataclass(frozen=True, slots=True)
class _QueuedSubject:
    """An owner or Job that its queue has not admitted, with the message of the admission system."""

    subject: Owner
    message: QueueMessage
    queue: str
    """The queue as a sentence names it."""
    preemptor: str
    """The workload that it was preempted for, as a sentence names it."""


def _rule(code: QueueCode, title: str, health: Health, beginning: str) -> GangRule:
    """Return the rule for owners and Jobs whose queue reports this code.

    `beginning` is the sentence before the cause. Its fields are the {queue}, the waiting {subject} and the {preemptor}.
    """

    def find(gang: Gang) -> Finding | None:
        owner = gang.owner
        if not owner.suspended or owner.finish is not None:
            return None
        queued = _queued_with(gang, [owner], code)
        if not queued:
            return None
        terminating = sentence(remaining_pods_text(gang.pods))
        return gang_finding(
            rule,
            health,
            " ".join(filter(None, (_sentence(beginning, queued, "it"), terminating))),
            advice=_advice(queued),
            evidence=_evidence(gang, queued),
            since=_since(queued),
        )

    def find_in_unit(unit: Unit) -> Finding | None:
        gang = unit.gang
        # The unit's own Jobs come first, so that a large gang does not check all its Jobs for each unit.
        own_jobs = _queued_with(gang, jobs_suspended_by_queue(gang, unit.jobs), code)
        if not own_jobs:
            return _find_gated(unit, unit_rule, code, beginning)
        queued = _queued_with(gang, jobs_suspended_by_queue(gang, gang.jobs), code)
        groups: dict[tuple[str, str, str], list[_QueuedSubject]] = {}
        for job in queued:
            groups.setdefault((job.queue, job.preemptor, job.message.cause), []).append(job)
        return unit_finding(
            unit_rule,
            unit,
            " ".join(
                (
                    *filter(None, (admitted_jobs_text(gang),)),
                    *(_sentence(beginning, jobs, _job_names(jobs)) for jobs in groups.values()),
                )
            ),
            advice=_advice(queued),
            evidence=_evidence(gang, own_jobs),
            since=_since(own_jobs),
            named=False,
        )

    # These come before `queue-evaluating`, which covers all other cases.
    position = code.position()
    unit_rule = UnitRule(
        code,
        Stage.ADMISSION,
        title,
        10 + position,
        find_in_unit,
        health=health,
        for_queued_units=True,
    )
    rule = GangRule(code, Stage.ADMISSION, title, 36 + position, find, unit_rule)
    return rule


def _find_gated(unit: Unit, rule: UnitRule, code: QueueCode, beginning: str) -> Finding | None:
    """Return a finding while pods have scheduling gates because a queue has not admitted them, or not all of them.

    Owners without a suspend field create gated pods. An owner that may grow while it runs then has a second,
    larger entry, and continues with the first one until that is admitted.
    """
    gang, gated = unit.gang, [pod for pod in unit.unplaced if pod.gates]
    if not gated:
        return None
    queued = _with_message(
        gang, unit.jobs or (gang.owner,), code, lambda status: status.growth or status.message
    )
    if not queued:
        return None
    statuses = (gang.queue_statuses[item.subject.meta.ref.uid] for item in queued)
    first, is_running = gated[0], len(gated) < len(unit.current)
    return unit_finding(
        rule,
        unit,
        _sentence(beginning, queued, count(len(gated), "more pod") if is_running else "it"),
        health=Health.DEGRADED if is_running and code.is_final else None,
        advice=_advice(queued),
        evidence=(
            *(evidence for status in statuses for evidence in message_evidence(gang, status)),
            Evidence("spec.schedulingGates", names(first.gates), first.meta.ref),
        ),
        since=_since(queued),
        named=False,
    )


def _queued_with(gang: Gang, subjects: Sequence[Owner], code: QueueCode) -> list[_QueuedSubject]:
    """Return the subjects whose queue reports this code."""
    return _with_message(gang, subjects, code, lambda status: status.message)


def _with_message(
    gang: Gang,
    subjects: Sequence[Owner],
    code: QueueCode,
    message_of: Callable[[QueueStatus], QueueMessage | None],
) -> list[_QueuedSubject]:
    """Return the subjects whose status has a message with this code. `message_of` selects the message."""
    queued = []
    for subject in subjects:
        status = gang.queue_statuses[subject.meta.ref.uid]
        message = message_of(status)
        if message is not None and message.code is code:
            preemptor = preemptor_text(gang, message)
            queue_message = with_queue_cause(gang, message)
            queued.append(
                _QueuedSubject(subject, queue_message, queue_text(gang, status), preemptor)
            )
    return queued


def _sentence(beginning: str, queued: Sequence[_QueuedSubject], subject: str) -> str:
    first = queued[0]
    opening = beginning.format(queue=first.queue, subject=subject, preemptor=first.preemptor)
    return sentence(f"{opening}: {first.message.cause}" if first.message.cause else opening)


def _job_names(queued: Sequence[_QueuedSubject]) -> str:
    if len(queued) > _MAX_NAMED_JOBS:
        return count(len(queued), "Job")
    noun = "Job" if len(queued) == 1 else "Jobs"
    return f"{noun} {names(job.subject.meta.ref.name for job in queued)}"


def _advice(queued: Sequence[_QueuedSubject]) -> tuple[AdvisedStep, ...]:
    messages = (item.message for item in queued if item.message.advice)
    return tuple(
        dict.fromkeys(AdvisedStep(message.advice, command=message.command) for message in messages)
    )


def _evidence(gang: Gang, queued: Sequence[_QueuedSubject]) -> tuple[Evidence, ...]:
    statuses = [(gang.queue_statuses[item.subject.meta.ref.uid], item.subject) for item in queued]
    return tuple(
        dict.fromkeys(
            evidence
            for status, subject in statuses
            for evidence in (
                *message_evidence(gang, status),
                *queue_evidence(gang, status, subject),
            )
        )
    )


def _since(queued: Sequence[_QueuedSubject]) -> datetime | None:
    return min(
        (item.message.since for item in queued if item.message.since is not None), default=None
    )


_MAX_NAMED_JOBS = 3
"""The largest number of Jobs that a sentence names. With more it only counts them."""
_WAITS = "{queue} has not admitted {subject} yet"
_NEVER = "{queue} cannot admit {subject}"

RULES = (
    # The named queue does not exist, or the queue that it leads to does not.
    _rule(QueueCode.QUEUE_MISSING, "Queue missing", Health.BLOCKED, _NEVER),
    # The queue was stopped, or an object that it needs is missing, so it admits no workload.
    _rule(QueueCode.QUEUE_STOPPED, "Queue stopped", Health.BLOCKED, _NEVER),
    # The queue works, but its configuration never accepts this workload.
    _rule(QueueCode.QUEUE_MISCONFIGURED, "Not taken by its queue", Health.BLOCKED, _NEVER),
    # No nodes of the queue match the workload, or it requests a resource that the queue does not have.
    _rule(QueueCode.NO_MATCHING_FLAVOR, "No matching flavor", Health.BLOCKED, _NEVER),
    # The workload requests more than the queue can ever provide, borrowing included.
    _rule(QueueCode.EXCEEDS_QUOTA, "Exceeds the quota", Health.BLOCKED, _NEVER),
    # The system gave the workload up, and ignores that it was activated again.
    _rule(QueueCode.NOT_REQUEUED, "Not queued again", Health.BLOCKED, _NEVER),
    # The workload was admitted but did not start. It is retried after a pause.
    _rule(QueueCode.REQUEUED, "Queued again", Health.WAITING, "{queue} evicted {subject}"),
    # The queue preempted the running workload. Preemption by the scheduler is a code of stage placement.
    _rule(
        QueueCode.PREEMPTED,
        "Preempted",
        Health.WAITING,
        "{queue} evicted {subject} for {preemptor}",
    ),
    # Other workloads use the quota, which can become free.
    _rule(QueueCode.WAITING_FOR_QUOTA, "Waits for quota", Health.WAITING, _WAITS),
    # The quota suffices, but no rack or block can host the pods that must be placed together.
    _rule(QueueCode.TOPOLOGY, "Topology does not fit", Health.WAITING, _WAITS),
    # A gate tells the queue not to consider the workload yet.
    _rule(QueueCode.ADMISSION_GATED, "Admission gated", Health.WAITING, _WAITS),
    # The quota is reserved, and another controller must approve the start.
    _rule(QueueCode.ADMISSION_CHECK, "Admission check", Health.WAITING, _WAITS),
)
