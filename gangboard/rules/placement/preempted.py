"""`preempted`: the scheduler took all of its members away for somebody of higher priority.

The victims' PodGroup stays True and no condition of the group tells (observed on 1.37.0): only the
event `Preempted` of pods that are gone does, and `DisruptionTarget` of those that are not gone yet.
What is blocked for good is nearer to the cause. While some member still runs it is `lost-members`.
"""

from __future__ import annotations

from datetime import datetime

from gangboard.domain.health import Health, Stage
from gangboard.domain.text import count, plural
from gangboard.domain.verdict import Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.preemption import last_preemption, preemptors_evidence, preemptors_text
from gangboard.facts.scheduler_text import scheduler_messages
from gangboard.facts.unit import Unit, lacks_nodes
from gangboard.placement.sentences.cause import placement_reason
from gangboard.placement.sentences.finding import advice_of, evidence_of, said_evidence
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding for a unit of which nothing is left running after a preemption."""
    if not lacks_nodes(unit) or unit.placed or unit.ready:
        return None
    taken = last_preemption(unit)
    since = taken.at if taken is not None else _of_victims(unit)
    if since is None:
        return None
    why = placement_reason(unit)
    if why is not None and why.blocked:
        return None
    said = scheduler_messages(unit, "Unschedulable")
    advice, named, until = advice_of(unit)
    number = len(unit.unplaced)
    wait = f"{count(number, 'pod')} {plural(number, 'wait')} for a node"
    then = why.text if why is not None else wait
    message = f"Its pods were preempted by {preemptors_text(taken)}; {then}."
    return unit_finding(
        RULE,
        unit,
        message,
        advice=advice,
        evidence=(
            *preemptors_evidence(taken),
            *evidence_of(unit, why),
            *said_evidence(unit, said),
            *named,
        ),
        recheck_at=until,
        since=since,
    )


def _of_victims(unit: Unit) -> datetime | None:
    """Return when pods that are still going were preempted, where no event tells."""
    times = [
        pod.disruption.since
        for pod in unit.pods
        if (pod.is_terminating or pod.is_finished)
        and pod.disruption is not None
        and pod.disruption.is_true
        and pod.disruption.reason == "PreemptionByScheduler"
    ]
    return max((time for time in times if time is not None), default=None)


RULE = UnitRule(
    "preempted", Stage.PLACEMENT, "Preempted", 74, find, health=Health.WAITING, of_waiting=True
)
