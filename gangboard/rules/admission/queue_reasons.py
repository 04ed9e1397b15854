"""Why a queue has not admitted the owner or a child Job, where its admission system says it.

All are asked in the same way: what the system wrote is read in its own file in `queues/`, a row here
has the code, its health and how the sentence begins. Where it says nothing, it is `queue-evaluating`.
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
class _Kept:
    """An owner or Job that its queue has not admitted, and what its system says of it."""

    subject: Owner
    message: QueueMessage
    queue: str
    """Its queue in a sentence."""
    taker: str
    """For whom it was preempted, in a sentence."""


def _rule(code: QueueCode, title: str, health: Health, beginning: str) -> GangRule:
    """Return the rule that finds something when this is what is to be told of its queue.

    `beginning` is the sentence before its cause, of {queue}, {who} it keeps, and the {taker} of its place.
    """

    def find(gang: Gang) -> Finding | None:
        owner = gang.owner
        if not owner.suspended or owner.finish is not None:
            return None
        found = _kept(gang, [owner], code)
        if not found:
            return None
        left = sentence(remaining_pods_text(gang.pods))
        return gang_finding(
            rule,
            health,
            " ".join(filter(None, (_sentence(beginning, found, "it"), left))),
            advice=_advice(found),
            evidence=_evidence(gang, found),
            since=_since(found),
        )

    def find_in_unit(unit: Unit) -> Finding | None:
        gang = unit.gang
        # Of its own Jobs first: all Jobs of a large gang are not looked at for each of them.
        own = _kept(gang, jobs_suspended_by_queue(gang, unit.jobs), code)
        if not own:
            return _growing(unit, of_unit, code, beginning)
        found = _kept(gang, jobs_suspended_by_queue(gang, gang.jobs), code)
        alike: dict[tuple[str, str, str], list[_Kept]] = {}
        for one in found:
            alike.setdefault((one.queue, one.taker, one.message.cause), []).append(one)
        return unit_finding(
            of_unit,
            unit,
            " ".join(
                (
                    *filter(None, (admitted_jobs_text(gang),)),
                    *(_sentence(beginning, several, _jobs(several)) for several in alike.values()),
                )
            ),
            advice=_advice(found),
            evidence=_evidence(gang, own),
            since=_since(own),
            named=False,
        )

    # Before `queue-evaluating`, which is told where nothing else is.
    place = code.position()
    of_unit = UnitRule(
        code, Stage.ADMISSION, title, 10 + place, find_in_unit, health=health, of_queued=True
    )
    rule = GangRule(code, Stage.ADMISSION, title, 36 + place, find, of_unit)
    return rule


def _growing(unit: Unit, rule: UnitRule, code: QueueCode, beginning: str) -> Finding | None:
    """Return a finding while pods wait at a gate since a queue has not admitted them, or fewer.

    Owners without a suspend field make their pods, and these are gated. What may grow while it runs has a second, larger entry
    then, and goes on by the first one meanwhile.
    """
    gang, gated = unit.gang, [pod for pod in unit.unplaced if pod.gates]
    if not gated:
        return None
    found = _told(
        gang, unit.jobs or (gang.owner,), code, lambda status: status.growth or status.message
    )
    if not found:
        return None
    statuses = (gang.queue_statuses[one.subject.meta.ref.uid] for one in found)
    first, goes_on = gated[0], len(gated) < len(unit.current)
    return unit_finding(
        rule,
        unit,
        _sentence(beginning, found, count(len(gated), "more pod") if goes_on else "it"),
        health=Health.DEGRADED if goes_on and code.is_final else None,
        advice=_advice(found),
        evidence=(
            *(evidence for status in statuses for evidence in message_evidence(gang, status)),
            Evidence("spec.schedulingGates", names(first.gates), first.meta.ref),
        ),
        since=_since(found),
        named=False,
    )


def _kept(gang: Gang, subjects: Sequence[Owner], code: QueueCode) -> list[_Kept]:
    """Return those of them of which this is to be told first."""
    return _told(gang, subjects, code, lambda status: status.message)


def _told(
    gang: Gang,
    subjects: Sequence[Owner],
    code: QueueCode,
    message_of: Callable[[QueueStatus], QueueMessage | None],
) -> list[_Kept]:
    """Return those of whose status this is what is told."""
    found = []
    for subject in subjects:
        status = gang.queue_statuses[subject.meta.ref.uid]
        message = message_of(status)
        if message is not None and message.code is code:
            taker = preemptor_text(gang, message)
            told = with_queue_cause(gang, message)
            found.append(_Kept(subject, told, queue_text(gang, status), taker))
    return found


def _sentence(beginning: str, found: Sequence[_Kept], who: str) -> str:
    first = found[0]
    begun = beginning.format(queue=first.queue, who=who, taker=first.taker)
    return sentence(f"{begun}: {first.message.cause}" if first.message.cause else begun)


def _jobs(found: Sequence[_Kept]) -> str:
    if len(found) > _NAMED:
        return count(len(found), "Job")
    noun = "Job" if len(found) == 1 else "Jobs"
    return f"{noun} {names(one.subject.meta.ref.name for one in found)}"


def _advice(found: Sequence[_Kept]) -> tuple[AdvisedStep, ...]:
    advised = (one.message for one in found if one.message.advice)
    return tuple(dict.fromkeys(AdvisedStep(one.advice, command=one.command) for one in advised))


def _evidence(gang: Gang, found: Sequence[_Kept]) -> tuple[Evidence, ...]:
    statuses = [(gang.queue_statuses[one.subject.meta.ref.uid], one.subject) for one in found]
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


def _since(found: Sequence[_Kept]) -> datetime | None:
    return min((one.message.since for one in found if one.message.since is not None), default=None)


_NAMED = 3
"""Jobs that are named in a sentence: it is about all of them."""
_WAITS = "{queue} has not admitted {who} yet"
_NEVER = "{queue} cannot admit {who}"

RULES = (
    # The queue that it names does not exist, or the one that this leads to.
    _rule(QueueCode.QUEUE_MISSING, "Queue missing", Health.BLOCKED, _NEVER),
    # Somebody stopped the queue, or what it needs is not there: it admits nobody.
    _rule(QueueCode.QUEUE_STOPPED, "Queue stopped", Health.BLOCKED, _NEVER),
    # The queue works, and is set up so that it never takes this one.
    _rule(QueueCode.QUEUE_MISCONFIGURED, "Not taken by its queue", Health.BLOCKED, _NEVER),
    # None of the nodes that the queue gives out suit it, or it wants what the queue does not have.
    _rule(QueueCode.NO_MATCHING_FLAVOR, "No matching flavor", Health.BLOCKED, _NEVER),
    # It asks for more than the queue could ever give, with all that it may borrow.
    _rule(QueueCode.EXCEEDS_QUOTA, "Exceeds the quota", Health.BLOCKED, _NEVER),
    # It was given up and switched on again, which its system ignores.
    _rule(QueueCode.NOT_REQUEUED, "Not queued again", Health.BLOCKED, _NEVER),
    # It was admitted and did not come up, and is tried again after a pause.
    _rule(QueueCode.REQUEUED, "Queued again", Health.WAITING, "{queue} took {who} back"),
    # It ran and had to make room. That the scheduler did it is a code of stage placement.
    _rule(QueueCode.PREEMPTED, "Preempted", Health.WAITING, "{queue} took {who} back for {taker}"),
    # The quota is taken by others, and can become free.
    _rule(QueueCode.WAITING_FOR_QUOTA, "Waits for quota", Health.WAITING, _WAITS),
    # There is quota, and no rack or block with room for as many of its pods as must be together.
    _rule(QueueCode.TOPOLOGY, "Topology does not fit", Health.WAITING, _WAITS),
    # Somebody has asked that it is not looked at yet.
    _rule(QueueCode.ADMISSION_GATED, "Admission gated", Health.WAITING, _WAITS),
    # The quota is its own, and somebody else has to agree before it starts.
    _rule(QueueCode.ADMISSION_CHECK, "Admission check", Health.WAITING, _WAITS),
)
