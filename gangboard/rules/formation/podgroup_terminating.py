"""`podgroup-terminating`: pods wait in a PodGroup that is being deleted.

Its finalizer `scheduling.k8s.io/podgroup-protection` keeps it until all its pods are finished or
gone (1.36 and later), so it can stay like this for as long as they wait. A gang whose members all
have a node is left alone.
"""

from __future__ import annotations

from gangboard.domain.facts import Unit
from gangboard.domain.health import Health, Stage
from gangboard.domain.reading.findings import unit_finding
from gangboard.domain.reading.wording import count, label, plural
from gangboard.domain.registry import UnitRule
from gangboard.domain.verdict import Evidence, Finding


def find(unit: Unit) -> Finding | None:
    """Return a finding while pods of the unit wait and their group is on its way out."""
    group = unit.group
    if group is None or group.meta.deleting_since is None or not unit.unplaced:
        return None
    number = len(unit.unplaced)
    message = (
        f"{label(group.meta.ref)} is being deleted while {count(number, 'pod')} still "
        f"{plural(number, 'wait')} in it."
    )
    return unit_finding(
        RULE,
        unit,
        message,
        evidence=(
            Evidence("deletionTimestamp", group.meta.deleting_since.isoformat(), group.meta.ref),
        ),
        since=group.meta.deleting_since,
    )


RULE = UnitRule(
    "podgroup-terminating",
    Stage.FORMATION,
    "PodGroup terminating",
    50,
    find,
    health=Health.BLOCKED,
)
