"""`mutual-deadlock`: two half-placed gangs hold what the other needs, and neither lets go.

Pods that are scheduled one by one keep their node while the rest of their gang waits. It is said only
where arithmetic proves it, see `placement/deadlock.py`: each of the two would fit if the other let
go, and no other gang's end helps either of them.
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
from gangboard.placement.sentences.finding import evidence_of, said_evidence
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding for a gang that holds room which another half-placed gang needs."""
    if not has_scheduler_messages(unit, "Unschedulable") or not lacks_nodes(unit):
        return None
    found = find_rival(unit)
    if found is None:
        return None
    own, rival = found
    said = scheduler_messages(unit, "Unschedulable")
    return unit_finding(
        RULE,
        unit,
        f"{_name(own.ref)} ({_placed(own, _waiting(unit, own))}) and {_name(rival.ref)} "
        f"({_placed(rival, _waits(rival))}) hold room that the other needs.",
        advice=_advice(own, rival),
        evidence=(
            Evidence("holds room without being whole", _name(own.ref), own.ref),
            Evidence("holds room without being whole", _name(rival.ref), rival.ref),
            *evidence_of(unit),
            *said_evidence(unit, said),
        ),
        since=refused_since(unit, said),
    )


def _advice(own: RunningGang, rival: RunningGang) -> tuple[AdvisedStep, ...]:
    """Return which of the two is to let go: none that cannot, and none for one of lower priority."""
    theirs, ours = _name(rival.ref), _name(own.ref)
    if _may_let_go(rival, own) and _may_let_go(own, rival):
        text = (
            f"Suspend {theirs} until {ours} runs, or the other way round: either fits once the "
            "other one lets go."
        )
        return (_suspend(rival, text),)
    if _may_let_go(rival, own):
        return (
            _suspend(rival, f"Suspend {theirs} until {ours} runs: it fits once {theirs} lets go."),
        )
    if _may_let_go(own, rival):
        return (_suspend(own, f"Suspend {ours} until {theirs} runs: it fits once {ours} lets go."),)
    return ()


def _suspend(gang: RunningGang, text: str) -> AdvisedStep:
    return AdvisedStep(text, AdviceKind.SUSPEND_BROKEN, objects=(gang.ref,))


def _may_let_go(one: RunningGang, other: RunningGang) -> bool:
    return one.suspendable and one.priority <= other.priority


def _name(ref: ObjectRef) -> str:
    return f"{ref.namespace}/{ref.name}"


def _placed(gang: RunningGang, waiting: int) -> str:
    """Return `2 of 4 pods`: those that have a node, of these and those that wait."""
    pods = sum(load.pods for load in gang.active_loads.values())
    return out_of(pods, pods + waiting, "pod")


def _waiting(unit: Unit, own: RunningGang) -> int:
    """Return how many pods of the unit's gang wait, those of its other units included."""
    return max(len(unit.unplaced), _waits(own))


def _waits(gang: RunningGang) -> int:
    return sum(pod_set.count for pod_set in gang.waits)


RULE = UnitRule(
    "mutual-deadlock",
    Stage.PLACEMENT,
    "Mutual deadlock",
    46,
    find,
    health=Health.BLOCKED,
    of_waiting=True,
)
