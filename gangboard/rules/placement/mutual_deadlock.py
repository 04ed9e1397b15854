"""`mutual-deadlock`: two partly placed gangs each hold capacity that the other one needs.

Pods that are scheduled one by one keep their node while the rest of their gang waits. The finding needs a proof
by the arithmetic in `placement/deadlock.py`: each of the two gangs fits if the other one is stopped, and the
end of no other gang helps.
"""

from __future__ import annotations

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.capacity import RunningGang
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import ObjectRef
from gangboard.domain.text import out_of
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.scheduler_text import has_scheduler_messages, scheduler_messages
from gangboard.facts.state_since import refused_since
from gangboard.facts.unit import Unit, lacks_nodes
from gangboard.placement.deadlock import find_rival
from gangboard.placement.sentences.finding import evidence_of, message_evidence_of
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding for a gang that holds capacity which another partly placed gang needs."""
    if not has_scheduler_messages(unit, "Unschedulable") or not lacks_nodes(unit):
        return None
    deadlock = find_rival(unit)
    if deadlock is None:
        return None
    own, rival = deadlock
    messages = scheduler_messages(unit, "Unschedulable")
    return unit_finding(
        RULE,
        unit,
        f"{_name(own.ref)} ({_placed_text(own, _waiting_count(unit, own))}) and {_name(rival.ref)} "
        f"({_placed_text(rival, _waiting_in_snapshot(rival))}) hold nodes that the other needs.",
        advice=_advice(own, rival),
        evidence=(
            Evidence("holds nodes while incomplete", _name(own.ref), own.ref),
            Evidence("holds nodes while incomplete", _name(rival.ref), rival.ref),
            *evidence_of(unit),
            *message_evidence_of(unit, messages),
        ),
        since=refused_since(unit, messages),
    )


def _advice(own: RunningGang, rival: RunningGang) -> tuple[AdvisedStep, ...]:
    """Return the step for each of the two gangs that can yield, the other gang first.

    A gang that cannot be suspended, or has a higher priority than the other, is left out.
    """
    return tuple(
        _suspend(stopped, other)
        for stopped, other in ((rival, own), (own, rival))
        if _can_yield_to(stopped, other)
    )


def _suspend(stopped: RunningGang, other: RunningGang) -> AdvisedStep:
    stopped_name, other_name = _name(stopped.ref), _name(other.ref)
    text = f"Suspend {stopped_name} until {other_name} runs: it fits once {stopped_name} releases its nodes."
    return AdvisedStep(text, AdviceKind.SUSPEND_BROKEN, objects=(stopped.ref,))


def _can_yield_to(gang: RunningGang, rival: RunningGang) -> bool:
    return gang.suspendable and gang.priority <= rival.priority


def _name(ref: ObjectRef) -> str:
    return f"{ref.namespace}/{ref.name}"


def _placed_text(running: RunningGang, waiting: int) -> str:
    """Return `2 of 4 pods`: the pods with a node, of these and the waiting ones."""
    pods = sum(load.pods for load in running.active_loads.values())
    return out_of(pods, pods + waiting, "pod")


def _waiting_count(unit: Unit, own: RunningGang) -> int:
    """Return the number of waiting pods of the unit's gang, including its other units."""
    return max(len(unit.unplaced), _waiting_in_snapshot(own))


def _waiting_in_snapshot(gang: RunningGang) -> int:
    return sum(pod_set.count for pod_set in gang.waits)


RULE = UnitRule(
    "mutual-deadlock",
    Stage.PLACEMENT,
    "Mutual deadlock",
    46,
    find,
    health=Health.BLOCKED,
    for_waiting_units=True,
    is_solved_by_capacity=True,
)
