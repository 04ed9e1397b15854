"""`queue-evaluating`: the owner is suspended and belongs to a queue that has not admitted it yet.

Kueue creates and keeps its owners suspended until they are admitted (jobset-kueue.md §2.6, §5), so
this is never called `suspended`. What the queue itself says is judged by rules that know queues.
"""

from __future__ import annotations

from gangboard.domain.facts import GangFacts
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import find_condition
from gangboard.domain.reading.findings import gang_finding
from gangboard.domain.reading.wording import pods_left, sentence
from gangboard.domain.registry import GangRule
from gangboard.domain.verdict import Evidence, Finding


def find(facts: GangFacts) -> Finding | None:
    """Return a finding for a suspended owner with a queue."""
    owner = facts.owner
    if not owner.suspended or not owner.queue or owner.finish is not None:
        return None
    message = f"Queue {owner.queue} has not admitted it yet."
    left = pods_left(facts.pods)
    if left:
        message = sentence(f"{message} {left}")
    suspended = find_condition(owner.conditions, "Suspended")
    return gang_finding(
        RULE,
        Health.WAITING,
        message,
        evidence=(
            Evidence("queue", owner.queue, owner.meta.ref),
            Evidence("spec.suspend", "true", owner.meta.ref),
        ),
        since=suspended.since if suspended is not None and suspended.is_true else None,
    )


RULE = GangRule("queue-evaluating", Stage.ADMISSION, "Waits in a queue", 40, find)
