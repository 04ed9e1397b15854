"""`size-mismatch`: the owner's spec requests another number of pods than the objects made for it have.

The gang runs, but not as requested. A training that needs all its nodes waits or computes with fewer.
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
    """Return a finding about the first role of the unit whose size differs from the requested one."""
    for role in unit.roles:
        if role.asked is not None and role.asked.pods != role.replicas * role.pods:
            return _finding(unit, role, role.asked)
    return None


def _finding(unit: Unit, role: Role, requested: RequestedSize) -> Finding:
    actual = role.replicas * role.pods
    reason = (Evidence("why", requested.why_not, unit.owner.meta.ref),) if requested.why_not else ()
    return unit_finding(
        RULE,
        unit,
        f"{label(unit.owner.meta.ref)} requests {count(requested.pods, 'pod')} ({requested.field}), and "
        f"part {role.name} has {actual}.",
        advice=requested.advice,
        evidence=(
            Evidence(requested.field, str(requested.pods), unit.owner.meta.ref),
            Evidence(f"pods of {role.name}", str(actual), unit.owner.meta.ref),
            *reason,
        ),
    )


RULE = UnitRule(
    "size-mismatch", Stage.RUN, "Other size than requested", 5, find, health=Health.DEGRADED
)
