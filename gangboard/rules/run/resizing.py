"""`resizing`: a gang has its quorum, not its full size, and its members changed just now."""

from __future__ import annotations

from gangboard.domain.facts import Unit
from gangboard.domain.health import Health, Stage
from gangboard.domain.reading.attempt_history import restart_under_way
from gangboard.domain.reading.findings import unit_finding
from gangboard.domain.reading.grace import growing_until
from gangboard.domain.reading.losses import are_kept_away, how_many_run
from gangboard.domain.reading.missing_members import missing_reason
from gangboard.domain.reading.progress import is_full, runs_enough
from gangboard.domain.reading.state_since import quorum_since
from gangboard.domain.registry import UnitRule
from gangboard.domain.verdict import Evidence, Finding


def find(unit: Unit) -> Finding | None:
    """Return a finding while a gang at its quorum grows and nothing keeps the rest away."""
    if is_full(unit) or not runs_enough(unit) or are_kept_away(unit):
        return None
    until = growing_until(unit)
    if until is None or until <= unit.now or restart_under_way(unit) is not None:
        return None
    source = unit.group.meta.ref if unit.group is not None else None
    return unit_finding(
        RULE,
        unit,
        f"{how_many_run(unit)}. {missing_reason(unit)}".strip(),
        evidence=(Evidence("quorum", str(unit.quorum), source),),
        recheck_at=until,
        since=quorum_since(unit),
    )


RULE = UnitRule("resizing", Stage.RUN, "Resizing", 20, find, health=Health.STARTING)
