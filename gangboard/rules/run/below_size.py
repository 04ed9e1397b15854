"""`below-size`: a gang runs at or above its quorum, below its full size, and does not grow.

The scheduler places a gang once its quorum fits, and the rest as it fits (observed on 1.37.0: in a gang of 2
with 4 pods, 2 fit, the group is True and the rest Unschedulable).
"""

from __future__ import annotations

from gangboard.domain.advice import AdvisedStep
from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import restart_under_way
from gangboard.facts.copied_commands import look_at_unready
from gangboard.facts.findings import unit_finding
from gangboard.facts.grace_periods import growing_until
from gangboard.facts.lost_members import (
    has_refused_members,
    missing_advice,
    missing_evidence,
    missing_reason,
    running_members_text,
)
from gangboard.facts.overdue_pods import awaited_pods
from gangboard.facts.silent_nodes import report_overdue
from gangboard.facts.state_since import quorum_since
from gangboard.facts.unit import Unit, has_ready_quorum, ready_count
from gangboard.placement.sentences.finding import advice_of, reason_of
from gangboard.placement.sentences.removed_members import (
    removed_members_evidence,
    removed_members_text,
)
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding for a gang at its quorum whose other members are missing and do not come."""
    failed = unit.given_up
    if (unit.is_full and not failed) or not has_ready_quorum(unit):
        return None
    if not failed and not has_refused_members(unit):
        until = growing_until(unit)
        if restart_under_way(unit) is not None or (until is not None and until > unit.now):
            return None
    source = unit.group.meta.ref if unit.group is not None else None
    reason, reason_evidence = reason_of(unit)
    advice, name_evidence, until = advice_of(unit) if reason else ((), (), None)
    overdue = report_overdue(unit.gang, awaited_pods(unit))
    return unit_finding(
        RULE,
        unit,
        f"{running_members_text(unit)}.{removed_members_text(unit)} {missing_reason(unit, reason)}".strip(),
        advice=(
            *missing_advice(unit),
            *_look_at_placed(unit),
            *advice,
            *overdue.steps,
        ),
        evidence=(
            Evidence("members ready", f"{ready_count(unit)} of {unit.wanted}", source),
            Evidence("quorum", str(unit.quorum), source),
            *removed_members_evidence(unit),
            *missing_evidence(unit),
            *overdue.evidence,
            *reason_evidence,
            *name_evidence,
        ),
        recheck_at=until,
        since=quorum_since(unit),
    )


def _look_at_placed(unit: Unit) -> tuple[AdvisedStep, ...]:
    """Return the step to look at placed members that are not ready, unless others still wait for a node."""
    unready = [pod.meta.ref for pod in unit.placed if not pod.is_ready]
    return () if unit.unplaced else look_at_unready(unready)


RULE = UnitRule("below-size", Stage.RUN, "Below its size", 30, find, health=Health.DEGRADED)
