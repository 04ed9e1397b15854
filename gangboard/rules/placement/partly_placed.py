"""`partly-placed`: some members have a node, and the scheduler cannot be placed for the rest.

The occupied capacity is useless until the rest is placed. The rule covers only members that no gang keeps
together: without a group, or in a basic one. The condition of a basic group is True from its first pod
(observed on 1.37.0).

The rule counts the whole gang. A JobSet with one running Job and one that cannot be placed occupies nodes without
being complete, and each of its Jobs shows that. The reason is part of the sentence. If the gang ran before, the
loss is the finding and the reason explains it.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.text import count, does_not_fit, is_or_are, out_of, sentence
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
from gangboard.placement.sentences.finding import advice_of, evidence_of, message_evidence_of
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding for a unit without a quorum if only some members of its gang are placed."""
    refused = unit.refused
    if not _is_placed_one_by_one(unit) or not refused or has_unrecovered_loss(unit):
        return None
    # Only a unit without placed pods reads the whole gang, because large gangs have many units.
    elsewhere = 0 if unit.placed else _placed_elsewhere(unit)
    if not (unit.placed or elsewhere):
        return None
    messages = scheduler_messages(unit, "Unschedulable")
    best = best_scheduler_message(messages)
    reason = placement_reason(unit)
    if reason is not None:
        message = reason.text
    else:
        message = does_not_fit(len(refused))
        message = f"{message}: {best.quoted_reasons}" if best is not None else message
    message = f"{message[:1].upper()}{message[1:]}; {_placed_text(unit, elsewhere)}"
    advice, name_evidence, until = advice_of(unit)
    return unit_finding(
        RULE,
        unit,
        sentence(message),
        advice=advice,
        evidence=(*evidence_of(unit, reason), *message_evidence_of(unit, messages), *name_evidence),
        recheck_at=until,
        since=refused_since(unit, messages),
    )


def _is_placed_one_by_one(unit: Unit) -> bool:
    """Return whether no gang keeps the members together.

    A quorum without a group comes from the owner. A unit that has reached it is below its size.
    """
    return unit.quorum is None or (not unit.group_name and lacks_nodes(unit))


def _placed_text(unit: Unit, elsewhere: int) -> str:
    """Return `2 of 4 pods are placed`, or `2 of 6 pods of the JobSet are placed` for a unit without placed pods."""
    number = len(unit.placed) or elsewhere
    pods = out_of(number, unit.wanted, "pod") if unit.placed else _gang_count_text(unit, elsewhere)
    return f"{pods} {is_or_are(number)} placed"


def _gang_count_text(unit: Unit, placed: int) -> str:
    """Return `4 of 6 pods of the JobSet`, without a total if more pods exist than the owner requests."""
    desired, gang = unit.owner.desired, f"the {unit.owner.meta.ref.kind}"
    if placed + unit.desired > desired:
        return f"{count(placed, 'pod')} of {gang}"
    return f"{out_of(placed, desired, 'pod')} of {gang}"


def _placed_elsewhere(unit: Unit) -> int:
    """Return the number of placed pods of the gang outside of this unit."""
    pods_on_nodes = unit.gang.pods_on_nodes
    return len(pods_on_nodes) - sum(pod.meta.ref.uid in pods_on_nodes for pod in unit.pods)


RULE = UnitRule(
    "partly-placed",
    Stage.PLACEMENT,
    "Partly placed",
    50,
    find,
    health=Health.DEGRADED,
    for_waiting_units=True,
    for_merged_units=True,
    is_solved_by_capacity=True,
)
