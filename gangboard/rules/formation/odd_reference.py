"""`odd-reference`: owner references that lead nowhere, in a ring or to another namespace: said beside all else.

Objects are put together all the same, each once; the word tells why they stand where they are looked for in vain.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return what is odd about how the gang hangs together."""
    said = unit.gang.odd_references
    if not said:
        return None
    owner = unit.owner.meta
    evidence = tuple(Evidence("owner reference", uid, owner.ref) for uid in owner.owner_uids)
    return unit_finding(RULE, unit, " ".join(said), evidence=evidence)


RULE = UnitRule(
    "odd-reference",
    Stage.FORMATION,
    "Odd owner reference",
    99,
    find,
    health=Health.RUNNING,
    is_additional=True,
)
