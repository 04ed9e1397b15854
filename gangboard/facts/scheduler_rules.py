"""Rules and findings that several schedulers with groups of their own share.

Each file of `groups/` reads the texts of its scheduler. The code, the title, the order and the sentence of the
finding are the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from gangboard.domain.health import Health, Stage
from gangboard.domain.quota import Queue
from gangboard.domain.text import count, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.scheduler_text import quote_refusal, scheduler_messages
from gangboard.facts.unit import Unit, lacks_nodes
from gangboard.plugins.rule import UnitRule

Find = Callable[[Unit], Finding | None]


def queue_missing(find: Find) -> UnitRule:
    """Return the rule for a queue that does not exist."""
    return UnitRule(
        "queue-missing", Stage.ADMISSION, "Queue missing", 10, find, health=Health.BLOCKED
    )


def queue_stopped(find: Find) -> UnitRule:
    """Return the rule for a queue that admits no gang."""
    return UnitRule(
        "queue-stopped", Stage.ADMISSION, "Queue stopped", 11, find, health=Health.BLOCKED
    )


def exceeds_quota(find: Find) -> UnitRule:
    """Return the rule for a gang that requests more than its queue may ever have."""
    return UnitRule(
        "exceeds-quota", Stage.ADMISSION, "Exceeds the quota", 14, find, health=Health.BLOCKED
    )


def waiting_for_quota(find: Find) -> UnitRule:
    """Return the rule for a gang that waits until other gangs leave its queue."""
    return UnitRule(
        "waiting-for-quota", Stage.ADMISSION, "Waits for quota", 17, find, health=Health.WAITING
    )


def no_room(find: Find, *, order: int = 80) -> UnitRule:
    """Return the rule for members without a node. An order below 90 comes before the rule of kube-scheduler."""
    return UnitRule(
        "unschedulable", Stage.PLACEMENT, "Cannot be placed", order, find, health=Health.WAITING
    )


_MAX_MESSAGES = 3


def gang_refusal(
    rule: UnitRule, unit: Unit, scheduler: str, cause: str, *, fits: int | None = None
) -> Finding | None:
    """Return a finding while members that the gang needs have no node.

    `scheduler` is its name in the sentence. `cause` is the scheduler's own text without its internals, or empty.
    `fits` is the number of members that found nodes.
    """
    messages = scheduler_messages(unit, "Unschedulable")
    if not messages or not lacks_nodes(unit):
        return None
    needed = unit.needed
    if fits is None:
        summary = f"{scheduler} cannot place {count(len(unit.unplaced), 'pod')}"
    else:
        number = "none" if fits == 0 else str(fits)
        summary = f"{scheduler} has room for {number} of {needed} pods that must start together"
    lines = dict.fromkeys((message.raw, message.source) for message in messages)
    return unit_finding(
        rule,
        unit,
        sentence(
            f"{summary}: {quote_refusal(cause)}" if cause else f"{summary}, and does not say why"
        ),
        evidence=(
            Evidence("pods placed", f"{len(unit.placed)} of {unit.wanted}", unit.owner.meta.ref),
            *(
                Evidence("scheduler says", raw, source)
                for raw, source in list(lines)[-_MAX_MESSAGES:]
            ),
        ),
        since=_since(unit),
    )


def _since(unit: Unit) -> datetime | None:
    """Return since when members are refused. The condition of a pod keeps its time while it stays False."""
    times = [
        pod.scheduled.since
        for pod in unit.unplaced
        if pod.scheduled is not None and pod.scheduled.is_false and pod.scheduled.since is not None
    ]
    return min(times, default=None)


def queue_of(unit: Unit) -> Queue | None:
    """Return the queue of the unit's group, or None if it has none or the queue is unknown."""
    group = unit.group
    if group is None or not group.queue:
        return None
    return unit.gang.queues.find_entry_queue(
        group.meta.ref.group, group.meta.ref.namespace, group.queue
    )


def lacks_queue(unit: Unit, kind: str) -> bool:
    """Return whether the queue of the unit's group does not exist. `kind` is as in `ClusterView.known_kinds`."""
    group = unit.group
    if group is None or not group.queue or kind not in unit.gang.cluster.known_kinds:
        return False
    return queue_of(unit) is None
