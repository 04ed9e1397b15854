"""`partly-placed`: pod by pod, some members hold a node and there is no room for the rest.

What they hold is lost to everybody until the rest comes. Only where nothing keeps members together:
without a group, or with a basic one, whose condition turns True with its first pod (observed on
1.37.0). Members are those of the whole gang: a JobSet of which one Job runs and another finds no
room holds nodes without being whole, whichever of its Jobs is looked at. Why there is no room is part
of the sentence. The loss is told of a gang that ran before, and the reason beside it.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.text import count, out_of, plural, quote, sentence
from gangboard.domain.verdict import Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.lost_members import has_unrecovered_loss
from gangboard.facts.scheduler_text import (
    best_scheduler_message,
    scheduler_messages,
)
from gangboard.facts.state_since import refused_since
from gangboard.facts.unit import Unit, lacks_nodes
from gangboard.placement.sentences.cause import placement_reason
from gangboard.placement.sentences.finding import advice_of, evidence_of, said_evidence
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding for a unit without a quorum that is split by the scheduler."""
    refused = unit.refused
    if not _is_placed_one_by_one(unit) or not refused or has_unrecovered_loss(unit):
        return None
    # Only a unit without any place looks at the whole gang: large gangs have many units.
    elsewhere = 0 if unit.placed else _placed_elsewhere(unit)
    if not (unit.placed or elsewhere):
        return None
    said = scheduler_messages(unit, "Unschedulable")
    best = best_scheduler_message(said)
    why = placement_reason(unit)
    if why is not None:
        message = why.text
    else:
        number = len(refused)
        message = f"{count(number, 'pod')} {plural(number, 'find')} no room"
        message = f"{message}: {quote(best.reasons)}" if best is not None else message
    message = f"{message[:1].upper()}{message[1:]}; {_placed(unit, elsewhere)} a node"
    advice, named, until = advice_of(unit)
    return unit_finding(
        RULE,
        unit,
        sentence(message),
        advice=advice,
        evidence=(*evidence_of(unit, why), *said_evidence(unit, said), *named),
        recheck_at=until,
        since=refused_since(unit, said),
    )


def _is_placed_one_by_one(unit: Unit) -> bool:
    """Whether nothing keeps its members together. A quorum without a group is its owner's: once it has that
    many it is below its size.
    """
    return unit.quorum is None or (not unit.group_name and lacks_nodes(unit))


def _placed(unit: Unit, elsewhere: int) -> str:
    """Return `2 of 4 pods hold`; of a unit without any place `2 of 6 pods of the JobSet hold`."""
    number = len(unit.placed) or elsewhere
    pods = out_of(number, unit.wanted, "pod") if unit.placed else _of_the_gang(unit, elsewhere)
    return f"{pods} {plural(number, 'hold')}"


def _of_the_gang(unit: Unit, placed: int) -> str:
    """Return `4 of 6 pods of the JobSet`; where more are there than its owner asks for, no total."""
    whole, gang = unit.owner.desired, f"the {unit.owner.meta.ref.kind}"
    if placed + unit.desired > whole:
        return f"{count(placed, 'pod')} of {gang}"
    return f"{out_of(placed, whole, 'pod')} of {gang}"


def _placed_elsewhere(unit: Unit) -> int:
    """Return how many pods of the gang outside of this unit hold a node."""
    holding = unit.gang.pods_on_nodes
    return len(holding) - sum(pod.meta.ref.uid in holding for pod in unit.pods)


RULE = UnitRule(
    "partly-placed",
    Stage.PLACEMENT,
    "Partly placed",
    50,
    find,
    health=Health.DEGRADED,
    of_waiting=True,
    of_room=True,
)
