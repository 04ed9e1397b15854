"""`running`: every desired member is ready or has succeeded, counted from pods and never from a condition."""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.text import all_of, is_or_are, sentence_case
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.state_since import whole_since
from gangboard.facts.unit import (
    Unit,
    failing_jobs,
    is_bare_group,
    is_empty_plan,
    is_scaled_to_zero,
)
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding for a complete unit. A unit that requests no pods does not run."""
    if not unit.is_full or failing_jobs(unit) or is_scaled_to_zero(unit) or unit.given_up:
        return None
    if not unit.wanted and (unit.held or (is_bare_group(unit) and not unit.pods)):
        return None
    if is_empty_plan(unit):
        return None
    return unit_finding(
        RULE,
        unit,
        _message(unit),
        evidence=(
            Evidence("pods ready", str(len(unit.ready)), unit.owner.meta.ref),
            Evidence("pods asked for", str(unit.wanted), unit.owner.meta.ref),
        ),
        since=whole_since(unit),
    )


def _message(unit: Unit) -> str:
    ready, succeeded, remaining = len(unit.ready), unit.succeeded, unit.expected_pods
    if not remaining:
        subject = (
            f"{sentence_case(all_of(succeeded, 'pod'))} have" if succeeded > 1 else "Its pod has"
        )
        return f"{subject} succeeded." if succeeded else "All requested pods are done."
    if not succeeded:
        return (
            f"{sentence_case(all_of(ready, 'pod'))} are ready."
            if ready > 1
            else "Its pod is ready."
        )
    have = "has" if succeeded == 1 else "have"
    return f"{ready} of {unit.wanted} pods {is_or_are(ready)} ready, {succeeded} {have} succeeded."


RULE = UnitRule("running", Stage.RUN, "Running", 90, find, health=Health.RUNNING)
