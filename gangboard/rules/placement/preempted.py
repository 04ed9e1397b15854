"""`preempted`: the scheduler deleted all members in favour of pods with a higher priority.

The victims' PodGroup stays True and has no condition about it (observed on 1.37.0). The rule therefore reads
the event `Preempted` of deleted pods, and `DisruptionTarget` of pods that still terminate. A permanent blocker
is nearer to the cause and decides. If a member still runs, the code is `lost-members`.
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
from gangboard.placement.sentences.finding import advice_of, evidence_of, message_evidence_of
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding for a unit without any running member after a preemption."""
    if not lacks_nodes(unit) or unit.placed or unit.ready:
        return None
    preemption = last_preemption(unit)
    since = preemption.at if preemption is not None else _preempted_at(unit)
    if since is None:
        return None
    reason = placement_reason(unit)
    if reason is not None and reason.blocked:
        return None
    messages = scheduler_messages(unit, "Unschedulable")
    advice, name_evidence, until = advice_of(unit)
    number = len(unit.unplaced)
    wait = f"{count(number, 'pod')} {plural(number, 'wait')} for a node"
    rest = reason.text if reason is not None else wait
    message = f"Its pods were preempted by {preemptors_text(preemption)}; {rest}."
    return unit_finding(
        RULE,
        unit,
        message,
        advice=advice,
        evidence=(
            *preemptors_evidence(preemption),
            *evidence_of(unit, reason),
            *message_evidence_of(unit, messages),
            *name_evidence,
        ),
        recheck_at=until,
        since=since,
    )


def _preempted_at(unit: Unit) -> datetime | None:
    """Return when terminating pods were preempted, if there is no event."""
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
    "preempted",
    Stage.PLACEMENT,
    "Preempted",
    74,
    find,
    health=Health.WAITING,
    for_waiting_units=True,
)
