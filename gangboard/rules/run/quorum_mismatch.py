"""`quorum-mismatch`: the scheduler may start the gang with fewer pods than its owner's spec requests.

The finding adds to any other. A complete gang has no problem now, but may start with fewer pods next time.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.text import count, label
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding for a group whose quorum is below the requested size of all its roles."""
    group, quorum = unit.group, unit.quorum
    requested = [role.asked.pods for role in unit.roles if role.asked is not None]
    if group is None or quorum is None or not requested or len(requested) < len(unit.roles):
        return None
    if quorum >= sum(requested):
        return None
    field = next(role.asked.field for role in unit.roles if role.asked is not None)
    return unit_finding(
        RULE,
        unit,
        f"{label(unit.owner.meta.ref)} requests {count(sum(requested), 'pod')} ({field}), and "
        f"{label(group.meta.ref)} may start with {quorum} of them.",
        evidence=(
            Evidence(field, str(sum(requested)), unit.owner.meta.ref),
            Evidence("quorum", str(quorum), group.meta.ref),
        ),
    )


RULE = UnitRule(
    "quorum-mismatch",
    Stage.RUN,
    "May start with fewer than requested",
    95,
    find,
    health=Health.RUNNING,
    is_additional=True,
)
