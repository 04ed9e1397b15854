"""`podgroup-terminating`: pods wait in a PodGroup that is being deleted.

The finalizer `scheduling.k8s.io/podgroup-protection` keeps it until all its pods are finished or deleted (1.36
and later). It can therefore exist for as long as they wait. A gang whose members all have a node gets no
finding.
"""

from __future__ import annotations

from gangboard.domain.group import Group
from gangboard.domain.health import Health, Stage
from gangboard.domain.text import count, label, plural
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.unit import Unit, is_bare_group
from gangboard.plugins.rule import UnitRule

_CORE = "scheduling.k8s.io"


def find(unit: Unit) -> Finding | None:
    """Return a finding while pods of the unit wait and their group is being deleted."""
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
        advice=_advice(unit, group),
        evidence=(
            Evidence(
                "metadata.deletionTimestamp", group.meta.deleting_since.isoformat(), group.meta.ref
            ),
        ),
        since=group.meta.deleting_since,
    )


def _advice(unit: Unit, group: Group) -> tuple[str, ...]:
    """Return how the group is deleted and re-created, or nothing if it is shared or the whole gang is being deleted.

    Observed on 1.36.3 and 1.37.0: the group is deleted once the pods of a suspended Job are deleted. A new
    group with its name takes the pods of the resumed Job. The Job controller makes a group only for a new Job
    (1.37.0: the pods of the resumed Job had none).
    """
    owner, name = unit.owner.meta, group.meta.ref.name
    is_gang_deleted = owner.deleting_since is not None and not is_bare_group(unit)
    is_shared = any(pod.is_live for pod in unit.foreign_pods)
    if is_shared or is_gang_deleted or group.meta.ref.group != _CORE:
        return ()
    if group.meta.controller is not None:
        if group.meta.controller.uid != owner.ref.uid or not owner.ref.is_job:
            return ()
        return (f"Re-create {label(owner.ref)}: only a new Job gets a new PodGroup.",)
    is_queued = unit.gang.queue.is_managed
    if unit.gang.traits.ends_pods and owner.controller is None and not is_queued:
        return (
            f"Suspend {label(owner.ref)}, re-create PodGroup {name} when it is gone, and resume the "
            f"{owner.ref.kind}.",
        )
    if any(pod.meta.controller is not None for pod in unit.live):
        return ()  # their controller would replace them
    number = len(unit.live)
    pods = "its pod" if number == 1 else f"its {number} pods"
    return (f"Delete {pods}, and re-create PodGroup {name} and its pods when it is gone.",)


RULE = UnitRule(
    "podgroup-terminating",
    Stage.FORMATION,
    "PodGroup terminating",
    50,
    find,
    health=Health.BLOCKED,
)
