"""`pod-creation-refused`: a quota, a webhook or another admission control refuses the missing pods.

The Job controller writes `FailedCreate` with the refusing text on the Job (observed with a ResourceQuota on
1.36.3 and 1.37.0). JobSet writes `JobCreationFailed` on the JobSet. A gang that has its quorum is past this
stage: if pods are missing it is below its size.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.text import count, names, out_of
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.creation_refusal import (
    CreationRefusal,
    newest_creation_refusal,
    remedy,
)
from gangboard.facts.findings import unit_finding
from gangboard.facts.unit import Unit, is_formed
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding while a newer refusal explains the missing pods."""
    if is_formed(unit) or not unit.missing:
        return None
    refusal = newest_creation_refusal(unit)
    if refusal is None:
        return None
    existing = len(unit.current) + unit.succeeded
    evidence = [Evidence("refused", refusal.event.note, refusal.event.regarding)]
    evidence += [
        Evidence(f"{limit.resource} used", f"{limit.used} of {limit.limited}")
        for limit in refusal.limits
    ]
    evidence.append(Evidence("pods", f"{existing} of {unit.wanted}"))
    return unit_finding(
        RULE,
        unit,
        _message(unit, refusal, existing),
        advice=remedy(unit, refusal),
        evidence=tuple(evidence),
        since=refusal.event.first_seen,
    )


def _message(unit: Unit, refusal: CreationRefusal, existing: int) -> str:
    if refusal.of_jobs:
        number = len(unit.missing_jobs)
        jobs_text = f"{count(number, 'Job')} {'has' if number == 1 else 'have'} not been created: {names(unit.missing_jobs)}."
        return f"{jobs_text} {refusal.about('them' if number > 1 else 'it')}"
    pods_text = f"{out_of(existing, unit.wanted, 'pod')} {'exists' if existing == 1 else 'exist'}."
    return f"{pods_text} {refusal.about('the rest' if existing else 'them')}"


RULE = UnitRule(
    "pod-creation-refused",
    Stage.FORMATION,
    "Pods refused",
    60,
    find,
    health=Health.BLOCKED,
)
