"""`scheduler-error`: the attempt to place the unit ended in an error of the scheduler.

The text can hide the cause: a claim that does not exist was reported as `error in
"DynamicResources" PodGroupPostFilter plugins: not found` (observed on 1.37.0). So it is quoted and
not interpreted.
"""

from __future__ import annotations

from gangboard.domain.facts import Unit
from gangboard.domain.health import Health, Stage
from gangboard.domain.reading.findings import unit_finding
from gangboard.domain.reading.progress import lacks_room
from gangboard.domain.reading.scheduler_text import best_saying, earliest, sayings
from gangboard.domain.reading.wording import count, sentence, shorten
from gangboard.domain.registry import UnitRule
from gangboard.domain.verdict import Evidence, Finding
from gangboard.placement.sentences.cause import obstacle


def find(unit: Unit) -> Finding | None:
    """Return a finding while members wait and the last word about them was an error."""
    said = sayings(unit, "SchedulerError")
    if not said or not lacks_room(unit):
        return None
    if obstacle(unit, "no-nodes") is not None:
        return None  # that is the cause, and there is a rule that says it
    best = best_saying(said)
    waiting = count(len(unit.unplaced), "pod")
    message = f"The scheduler failed when it tried to place {waiting}"
    if best is not None:
        message = f"{message}: {shorten(best.text)}"
    return unit_finding(
        RULE,
        unit,
        sentence(message),
        evidence=(Evidence("scheduler says", best.raw, best.source),) if best is not None else (),
        since=earliest(said),
    )


RULE = UnitRule(
    "scheduler-error", Stage.PLACEMENT, "Scheduler error", 40, find, health=Health.BLOCKED
)
