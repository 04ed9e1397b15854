"""`odd-reference`: owner references form a ring, or lead to a missing object or another namespace.

The rule adds to any other finding. The objects still belong to one gang each. The sentence explains why an
object is not in the gang in which people look for it.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return the problems of the gang's owner references."""
    problems = unit.gang.odd_references
    if not problems:
        return None
    owner = unit.owner.meta
    evidence = tuple(Evidence("owner reference", uid, owner.ref) for uid in owner.owner_uids)
    return unit_finding(RULE, unit, " ".join(problems), evidence=evidence)


RULE = UnitRule(
    "odd-reference",
    Stage.FORMATION,
    "Odd owner reference",
    99,
    find,
    health=Health.RUNNING,
    is_additional=True,
)
