"""`dependency-waiting`: a role waits until another role of its owner is Ready or Complete.

Controllers create the Jobs or pods of such a role only after the other one has reached its state. JobSet does so for
`dependsOn` and the startup order (jobset-kueue.md §2.1, §2.2).
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import Finding
from gangboard.facts.dependencies import waiting_roles
from gangboard.facts.dependency_finding import dependency_finding
from gangboard.facts.unit import Unit, is_formed
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding if a role outside of the unit keeps pods of the unit from being made."""
    if unit.current and is_formed(unit):
        return None
    inner = {role.name for role in unit.roles}
    waits = [wait for wait in waiting_roles(unit) if wait.dependency.role not in inner]
    return dependency_finding(RULE, unit, waits) if waits else None


RULE = UnitRule(
    "dependency-waiting",
    Stage.FORMATION,
    "Waits for another part",
    20,
    find,
    health=Health.WAITING,
)
