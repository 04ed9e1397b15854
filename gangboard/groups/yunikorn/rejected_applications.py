"""Findings about applications that YuniKorn rejected. It ends their pods without placing any.

YuniKorn cuts a pod's `status.message` at a colon (failTaskPodWithReasonAndMsg). The event has the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gangboard.domain.event import Event
from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Outcome
from gangboard.domain.text import quote, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import gang_finding
from gangboard.facts.gang import Gang
from gangboard.groups.yunikorn.reasons import AMOUNTS, SCHEDULER, first_shortage
from gangboard.plugins.rule import GangRule

FAILED = "ApplicationFailed"
"""Reason of YuniKorn's event about a failed application."""
_REJECTED = "ApplicationRejected"
"""`status.reason` of the pods of a rejected application."""
_CAUSE = re.compile(
    rf"Application (\S{{1,253}}) scheduling failed, reason: {_REJECTED}: (.*)", re.DOTALL
)
_TOO_LARGE = re.compile(
    rf"queue (\S{{1,1000}}) cannot fit application \S{{1,253}}: task group request {AMOUNTS} "
    rf"larger than max queue allocation {AMOUNTS}"
)
_NO_QUEUE = re.compile(
    r"failed to (?:place application \S{1,253}: application rejected: no placement rule matched"
    r"|find queue \S{1,1000} for application)"
)
_RECREATE_PODS = "then re-create its pods: YuniKorn ends those of a rejected application."


def _rejection(gang: Gang) -> tuple[Event | None, str, str] | None:
    """Return the event, the application and the cause. None: no application of the pods was rejected.

    Without the event, the cause is the cut message of a pod.
    """
    if gang.owner.finish is not None and gang.owner.finish.outcome is not Outcome.FAILED:
        return None
    ended = {pod.meta.ref.uid: pod for pod in gang.pods if pod.reason == _REJECTED}
    if not ended or any(pod.is_placed for pod in gang.pods):
        return None
    for event, match in _rejection_events(gang):
        if event.regarding.uid in ended:
            return event, match[1], match[2].strip()
    pod = next(iter(ended.values()))
    return None, pod.group_name, pod.message.strip()


def _rejection_events(gang: Gang) -> Iterator[tuple[Event, re.Match[str]]]:
    """Yield the gang's events about rejected applications, the newest first."""
    for event in gang.events:
        if event.reason == FAILED and (match := _CAUSE.match(event.note)):
            yield event, match


def _find_too_large(gang: Gang) -> Finding | None:
    rejection = _rejection(gang)
    match = _TOO_LARGE.match(rejection[2]) if rejection is not None else None
    if rejection is None or match is None:
        return None
    queue, lack = match[1], first_shortage(match[2], match[3])
    why = (
        f"its task groups request {lack[0]} at once, and queue {queue} allows at most {lack[1]}"
        if lack is not None
        else f"its task groups request more than queue {queue} allows"
    )
    return _finding(
        TOO_LARGE,
        gang,
        rejection,
        why,
        f"Raise the limit of Queue {queue}, or request less, {_RECREATE_PODS}",
    )


def _find_no_queue(gang: Gang) -> Finding | None:
    rejection = _rejection(gang)
    if rejection is None or _NO_QUEUE.match(rejection[2]) is None:
        return None
    queue = next((pod.queue for pod in gang.pods if pod.queue), "")
    why = (
        f"Queue {queue} does not exist, or no placement rule allows it"
        if queue
        else "its pods name no queue, and no placement rule sets one"
    )
    create = f"Create Queue {queue}, or name another one" if queue else "Name a queue"
    return _finding(NO_QUEUE, gang, rejection, why, f"{create}, {_RECREATE_PODS}")


def _find_rejected(gang: Gang) -> Finding | None:
    rejection = _rejection(gang)
    return (
        _finding(REJECTED, gang, rejection, quote(rejection[2]), "")
        if rejection is not None
        else None
    )


def _finding(
    rule: GangRule,
    gang: Gang,
    rejection: tuple[Event | None, str, str],
    why: str,
    advice: str,
) -> Finding:
    event, application, _ = rejection
    ended = [pod for pod in gang.pods if pod.reason == _REJECTED]
    return gang_finding(
        rule,
        Health.FAILED if rule is REJECTED else Health.BLOCKED,
        sentence(f"{SCHEDULER} rejected application {application}: {why}"),
        advice=(advice,) if advice else (),
        evidence=(
            Evidence(f"{SCHEDULER} says", event.note, event.regarding)
            if event is not None
            else Evidence("message", ended[0].message, ended[0].meta.ref),
            Evidence("pods ended", f"{len(ended)} of {len(gang.pods)}", gang.owner.meta.ref),
        ),
        since=event.first_seen if event is not None else None,
    )


NO_QUEUE = GangRule("queue-missing", Stage.ADMISSION, "Queue missing", 17, _find_no_queue)
TOO_LARGE = GangRule("exceeds-quota", Stage.ADMISSION, "Exceeds the quota", 18, _find_too_large)
REJECTED = GangRule("failed", Stage.RUN, "Failed", 19, _find_rejected)
RULES = NO_QUEUE, TOO_LARGE, REJECTED
