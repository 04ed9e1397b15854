"""`resizing`: a gang has its quorum but not its full size, and its members changed recently."""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import restart_under_way
from gangboard.facts.findings import unit_finding
from gangboard.facts.grace_periods import growing_until
from gangboard.facts.lost_members import has_refused_members, missing_reason, running_members_text
from gangboard.facts.state_since import quorum_since
from gangboard.facts.unit import Unit, has_ready_quorum
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding while a gang at its quorum grows and the rest is not blocked."""
    if unit.is_full or not has_ready_quorum(unit) or has_refused_members(unit):
        return None
    until = growing_until(unit)
    if until is None or until <= unit.now or restart_under_way(unit) is not None:
        return None
    source = unit.group.meta.ref if unit.group is not None else None
    return unit_finding(
        RULE,
        unit,
        f"{running_members_text(unit)}. {missing_reason(unit)}".strip(),
        evidence=(Evidence("quorum", str(unit.quorum), source),),
        recheck_at=until,
        since=quorum_since(unit),
    )


RULE = UnitRule("resizing", Stage.RUN, "Resizing", 20, find, health=Health.STARTING)
