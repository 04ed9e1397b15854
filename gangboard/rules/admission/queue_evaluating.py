"""`queue-evaluating`: the owner is suspended and belongs to a queue that has not admitted it yet.

Kueue creates and keeps its owners suspended until they are admitted (jobset-kueue.md §2.6, §5), so
this is never called `suspended`. What the queue itself says is judged by rules that know queues.
"""

from __future__ import annotations

from gangboard.domain.facts import GangFacts
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import find_condition
from gangboard.domain.reading.findings import gang_finding
from gangboard.domain.reading.wording import label, pods_left, sentence
from gangboard.domain.registry import GangRule
from gangboard.domain.verdict import Evidence, Finding


def find(facts: GangFacts) -> Finding | None:
    """Return a finding for a suspended owner with a queue."""
    owner = facts.owner
    if not owner.suspended or not owner.queue or owner.finish is not None:
        return None
    message = _message(facts)
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


def _message(facts: GangFacts) -> str:
    owner = facts.owner
    own = [entry for entry in facts.entries if entry.owner_uid == owner.meta.ref.uid]
    entries = [entry for entry in own if entry.is_in_use]
    if entries and all(entry.admitted for entry in entries):
        return f"Queue {owner.queue} has admitted it, and Kueue has not resumed it yet."
    if not own and facts.queue_sight == "not-served":
        return (
            f"{label(owner.meta.ref)} carries the queue label {owner.queue}, and this cluster serves "
            "no Kueue Workloads: nobody admits it."
        )
    message = f"Queue {owner.queue} has not admitted it yet"
    if not own and facts.queue_sight == "served":
        return f"{message}: Kueue has made no Workload for it."
    return f"{message}."


RULE = GangRule("queue-evaluating", Stage.ADMISSION, "Waits in a queue", 40, find)
