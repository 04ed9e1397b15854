"""`size-mismatch`: its owner's spec asks for another number of pods than what was made for it has.

It runs, and is not what was asked for: a training that counts on all its nodes waits or computes with fewer.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import RequestedSize, Role
from gangboard.domain.text import count, label
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding about the first part of the unit that has another size than asked for."""
    for role in unit.roles:
        if role.asked is not None and role.asked.pods != role.replicas * role.pods:
            return _finding(unit, role, role.asked)
    return None


def _finding(unit: Unit, role: Role, asked: RequestedSize) -> Finding:
    made = role.replicas * role.pods
    why = (Evidence("why", asked.why_not, unit.owner.meta.ref),) if asked.why_not else ()
    return unit_finding(
        RULE,
        unit,
        f"{label(unit.owner.meta.ref)} asks for {count(asked.pods, 'pod')} ({asked.field}), and "
        f"part {role.name} has {made}.",
        advice=asked.advice,
        evidence=(
            Evidence(asked.field, str(asked.pods), unit.owner.meta.ref),
            Evidence(f"pods of {role.name}", str(made), unit.owner.meta.ref),
            *why,
        ),
    )


RULE = UnitRule(
    "size-mismatch", Stage.RUN, "Another size than asked for", 5, find, health=Health.DEGRADED
)
