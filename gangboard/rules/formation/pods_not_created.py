"""`pods-not-created`: a controller has not made the pods, or not the child Jobs, of the unit.

Starting at first; blocked when nothing has come for two minutes since it was created or resumed,
since its last old pod left, or since the part that it depends on was ready. A Job that is managed
by another controller (`spec.managedBy`) is ignored by the Job controller: the manager is named.
"""

from __future__ import annotations

from gangboard.domain.facts import Unit
from gangboard.domain.group import label_of_group
from gangboard.domain.health import Health, Stage
from gangboard.domain.reading.attempt import restart_under_way
from gangboard.domain.reading.dependencies import held_back_pods, unexplained_jobs
from gangboard.domain.reading.findings import unit_finding
from gangboard.domain.reading.grace import creation_due
from gangboard.domain.reading.progress import (
    failing_jobs,
    is_bare_group,
    is_formed,
    is_paused,
    missing,
    succeeded,
)
from gangboard.domain.reading.refusal import newest_refusal
from gangboard.domain.reading.wording import count, label, names, out_of, plural
from gangboard.domain.registry import UnitRule
from gangboard.domain.verdict import Evidence, Finding


def find(unit: Unit) -> Finding | None:
    """Return a finding while pods that should be made are not, and nothing refused them."""
    is_empty_group = is_bare_group(unit) and not unit.pods and not unit.strangers
    if not is_empty_group and (is_formed(unit) or missing(unit) <= held_back_pods(unit)):
        return None
    if unit.quorum is not None and unit.current:
        return None
    if is_paused(unit) or failing_jobs(unit) or newest_refusal(unit) is not None:
        return None
    due = creation_due(unit)
    is_young = due is not None and due > unit.now
    restart = restart_under_way(unit)
    if restart is not None and (is_young or restart.word == "Retry"):
        return None
    return unit_finding(
        RULE,
        unit,
        f"{_message(unit)}{_remarks(unit)}",
        health=Health.STARTING if is_young else Health.BLOCKED,
        evidence=_evidence(unit),
        recheck_at=due if is_young else None,
    )


def _message(unit: Unit) -> str:
    absent = unexplained_jobs(unit)
    if absent:
        listed = f"Job {absent[0]}" if len(absent) == 1 else f"{len(absent)} Jobs ({names(absent)})"
        return f"{label(unit.owner.meta.ref)} has not made {listed}."
    there = len(unit.current) + succeeded(unit)
    if is_bare_group(unit) and not there:
        need = f", which needs {unit.needed}" if unit.needed else ""
        group = unit.group_name and label_of_group(unit.group_name)
        return f"No pod names {group or label(unit.owner.meta.ref)}{need}."
    maker = label((unit.jobs[0] if len(unit.jobs) == 1 else unit.owner).meta.ref)
    if there:
        exist = f"{out_of(there, unit.wanted, 'pod')} {'exists' if there == 1 else 'exist'}"
        return f"{exist}; {maker} has not made the rest."
    if unit.wanted == 1:
        return f"{maker} has not made its pod."
    return f"{maker} has made none of its {count(unit.wanted, 'pod')}."


def _remarks(unit: Unit) -> str:
    remarks = []
    managers = sorted({one.managed_by for one in (unit.owner, *unit.jobs) if one.managed_by})
    if managers:
        remarks.append(f" Making them is left to {names(managers)} (spec.managedBy).")
    leaving = sum(pod.is_live and pod.is_terminating for pod in unit.pods)
    if leaving:
        remarks.append(f" {count(leaving, 'old pod')} still {plural(leaving, 'terminate')}.")
    if not unit.facts.events_known:
        remarks.append(" Events cannot be read, so a refusal would not be seen.")
    return "".join(remarks)


def _evidence(unit: Unit) -> tuple[Evidence, ...]:
    there = len(unit.current) + succeeded(unit)
    found = [Evidence("pods", f"{there} of {unit.wanted}", unit.owner.meta.ref)]
    found += [
        Evidence("spec.managedBy", one.managed_by, one.meta.ref)
        for one in {one.meta.ref.uid: one for one in (unit.owner, *unit.jobs)}.values()
        if one.managed_by
    ]
    return tuple(found)


RULE = UnitRule(
    "pods-not-created", Stage.FORMATION, "Pods not created", 70, find, health=Health.STARTING
)
