"""`podgroup-missing`: pods wait for a PodGroup that does not exist.

The scheduler holds such pods back without a condition and without an event, so only a comparison of names shows
it. This was observed on 1.36.3 and 1.37.0, and on 1.35.4 if the Workload or its podGroup does not exist. Pods
and groups come from different watches and can be created in any order. A group therefore counts as missing only
after its pods are 30 seconds old.
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
    """Return a finding while pods of the unit wait for a group that does not exist."""
    waiting = waiting_for_missing_group(unit)
    if not waiting:
        return None
    number = len(waiting)
    wait = f"{count(number, 'pod')} {plural(number, 'wait')} for"
    message = f"{wait} {_missing_object(unit)}."
    kind = waiting[0].group_kind
    field = "schedulingGroup" if read_entry(unit.group_name) is None else "workloadRef"
    evidence = (Evidence(kind or f"spec.{field}", unit.group_name, waiting[0].meta.ref),)
    # A pod that was tried had its group once. No object records when that was deleted.
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
    """Return how the pods get their group. The scheduler takes them as soon as the group exists.

    Observed on 1.35.4, 1.36.3 and 1.37.0. The podGroups of a Workload (1.35) are immutable.
    """
    entry, namespace = read_entry(unit.group_name), unit.owner.meta.ref.namespace
    if kind:
        _, _, api = kind.partition(".")
        return f"Create PodGroup {namespace}/{unit.group_name} of {api}, or remove its name from the pods ({ChangeMethod.RECREATE})."
    if entry is None:
        creation = f"Create PodGroup {namespace}/{unit.group_name}"
    elif all(workload.meta.ref.name != entry.workload for workload in unit.gang.workloads):
        creation = f"Create Workload {namespace}/{entry.workload} with a podGroup {entry.pod_group}"
    else:
        creation = (
            f"Give Workload {entry.workload} a podGroup {entry.pod_group} ({ChangeMethod.RECREATE})"
        )
    return f"{creation}, or remove {field} from the pods ({ChangeMethod.RECREATE})."


def _missing_object(unit: Unit) -> str:
    """Return the missing PodGroup. On 1.35 it is the Workload, or the podGroup that an existing Workload lacks."""
    entry = read_entry(unit.group_name)
    if entry is None:
        return f"PodGroup {unit.group_name}, which does not exist"
    workload = f"Workload {entry.workload}"
    if all(known.meta.ref.name != entry.workload for known in unit.gang.workloads):
        return f"{workload}, which does not exist"
    return f"podGroup {entry.pod_group}, which {workload} does not have"


RULE = UnitRule(
    "podgroup-missing", Stage.FORMATION, "PodGroup missing", 40, find, health=Health.BLOCKED
)
