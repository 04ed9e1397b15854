"""`quorum-mismatch`: the scheduler may start a gang with fewer pods than its owner's spec asks for.

Said beside whatever the gang does: while all of it runs nothing is amiss, and the next start may be with fewer.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.text import count, label
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding for a group whose quorum is below what is asked for of all its parts."""
    group, quorum = unit.group, unit.quorum
    asked = [role.asked.pods for role in unit.roles if role.asked is not None]
    if group is None or quorum is None or not asked or len(asked) < len(unit.roles):
        return None
    if quorum >= sum(asked):
        return None
    field = next(role.asked.field for role in unit.roles if role.asked is not None)
    return unit_finding(
        RULE,
        unit,
        f"{label(unit.owner.meta.ref)} asks for {count(sum(asked), 'pod')} ({field}), and "
        f"{label(group.meta.ref)} may start with {quorum} of them.",
        evidence=(
            Evidence(field, str(sum(asked)), unit.owner.meta.ref),
            Evidence("quorum", str(quorum), group.meta.ref),
        ),
    )


RULE = UnitRule(
    "quorum-mismatch",
    Stage.RUN,
    "May start with fewer than asked for",
    95,
    find,
    health=Health.RUNNING,
    is_additional=True,
)
