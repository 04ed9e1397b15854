"""`podgroup-missing`: pods wait for a PodGroup that does not exist.

The scheduler keeps such pods back without a condition and without an event (observed on 1.36.3 and
1.37.0; on 1.35.4 where the Workload is not there, or has no such podGroup), so it can only be seen
by comparing names. Pods and groups come by different watches and may be made in any order: a name
is missed only when its pods are 30 seconds old.
"""

from __future__ import annotations

from gangboard.domain.advice import ChangeMethod
from gangboard.domain.group import label_of_group, read_entry
from gangboard.domain.health import Health, Stage
from gangboard.domain.text import count, plural
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.dependencies import waiting_for_missing_group
from gangboard.facts.findings import starting_finding, unit_finding
from gangboard.facts.grace_periods import COUNT_GRACE, newest_creation
from gangboard.facts.state_since import first_creation
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding while pods of the unit wait and the group they name is not there."""
    waiting = waiting_for_missing_group(unit)
    if not waiting:
        return None
    number = len(waiting)
    wait = f"{count(number, 'pod')} {plural(number, 'wait')} for"
    message = f"{wait} {_what_is_missing(unit)}."
    kind = waiting[0].group_kind
    field = "schedulingGroup" if read_entry(unit.group_name) is None else "workloadRef"
    evidence = (Evidence(kind or f"spec.{field}", unit.group_name, waiting[0].meta.ref),)
    # One that was tried had its group once: when that went no object says.
    since = first_creation(waiting) if all(pod.is_untried for pod in waiting) else None
    newest = newest_creation(waiting)
    if newest is not None and newest + COUNT_GRACE > unit.now:
        due = newest + COUNT_GRACE
        message = f"{wait} {label_of_group(unit.group_name)}."
        return starting_finding(RULE, unit, message, evidence=evidence, recheck_at=due, since=since)
    return unit_finding(
        RULE, unit, message, advice=(_advice(unit, kind, field),), evidence=evidence, since=since
    )


def _advice(unit: Unit, kind: str, field: str) -> str:
    """Return how the pods get their group. The scheduler takes them as soon as it is there.

    Observed on 1.35.4, 1.36.3 and 1.37.0. The podGroups of a Workload of 1.35 cannot be changed.
    """
    entry, namespace = read_entry(unit.group_name), unit.owner.meta.ref.namespace
    if kind:
        _, _, api = kind.partition(".")
        return f"Create PodGroup {namespace}/{unit.group_name} of {api}, or make the pods without its name ({ChangeMethod.RECREATE})."
    if entry is None:
        make = f"Create PodGroup {namespace}/{unit.group_name}"
    elif all(one.meta.ref.name != entry.workload for one in unit.gang.workloads):
        make = f"Create Workload {namespace}/{entry.workload} with a podGroup {entry.pod_group}"
    else:
        make = (
            f"Give Workload {entry.workload} a podGroup {entry.pod_group} ({ChangeMethod.RECREATE})"
        )
    return f"{make}, or make the pods without {field} ({ChangeMethod.RECREATE})."


def _what_is_missing(unit: Unit) -> str:
    """Return the PodGroup; on 1.35 the Workload, or what a Workload that is there does not have."""
    entry = read_entry(unit.group_name)
    if entry is None:
        return f"PodGroup {unit.group_name}, which does not exist"
    workload = f"Workload {entry.workload}"
    if all(one.meta.ref.name != entry.workload for one in unit.gang.workloads):
        return f"{workload}, which does not exist"
    return f"podGroup {entry.pod_group}, which {workload} does not have"


RULE = UnitRule(
    "podgroup-missing", Stage.FORMATION, "PodGroup missing", 40, find, health=Health.BLOCKED
)
