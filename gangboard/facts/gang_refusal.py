"""What a scheduler that places gangs by rules of its own says of one for which it finds no room.

Each such scheduler has its own texts, read in its own file of `groups/`; how it is told is the same for all.
"""

from __future__ import annotations

from datetime import datetime

from gangboard.domain.quota import Queue
from gangboard.domain.text import count, quote, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.scheduler_text import scheduler_messages
from gangboard.facts.unit import Unit
from gangboard.facts.unit_counts import lacks_room
from gangboard.plugins.rule import UnitRule

_SHOWN = 3


def gang_refusal(
    rule: UnitRule, unit: Unit, who: str, cause: str, *, fits: int | None = None
) -> Finding | None:
    """Return a finding while members that the gang needs have no room.

    `cause` is the scheduler's own text, as far as it is for people, empty where it does not tell; `fits` how many
    members had room.
    """
    said = scheduler_messages(unit, "Unschedulable")
    if not said or not lacks_room(unit):
        return None
    needed = unit.needed
    if fits is None:
        begun = f"{who} finds no room for {count(len(unit.unplaced), 'pod')}"
    else:
        some = "none" if fits == 0 else str(fits)
        begun = f"{who} has room for {some} of {needed} pods that must start together"
    lines = dict.fromkeys((one.raw, one.source) for one in said)
    return unit_finding(
        rule,
        unit,
        sentence(
            f"{begun}: {quote(cause)}" if cause else f"{begun}, and does not say what is lacking"
        ),
        evidence=(
            Evidence("pods placed", f"{len(unit.placed)} of {unit.wanted}", unit.owner.meta.ref),
            *(Evidence("scheduler says", raw, source) for raw, source in list(lines)[-_SHOWN:]),
        ),
        since=_since(unit),
    )


def _since(unit: Unit) -> datetime | None:
    """Return since when members are refused: the condition of a pod keeps its time while it stays False."""
    times = [
        pod.scheduled.since
        for pod in unit.unplaced
        if pod.scheduled is not None and pod.scheduled.is_false and pod.scheduled.since is not None
    ]
    return min(times, default=None)


def queue_of(unit: Unit) -> Queue | None:
    """Return the queue of the unit's group; None where it has none, or that is not known."""
    group = unit.group
    if group is None or not group.queue:
        return None
    return unit.gang.queues.entrance(group.meta.ref.group, group.meta.ref.namespace, group.queue)


def lacks_queue(unit: Unit, kind: str) -> bool:
    """Whether the queue of the unit's group does not exist; `kind` as in `Gang.known_kinds`."""
    group = unit.group
    if group is None or not group.queue or kind not in unit.gang.cluster.known_kinds:
        return False
    return queue_of(unit) is None
