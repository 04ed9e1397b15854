"""`pods-not-created`: a controller has not made the pods, or not the child Jobs, of the unit.

Starting at first; blocked when nothing has come for two minutes since it was created or resumed,
since its last old pod left, or since the role that it depends on was ready. A Job that is managed
by another controller (`spec.managedBy`) is ignored by the Job controller: the manager is named.
"""

from __future__ import annotations

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.group import label_of_group
from gangboard.domain.health import Health, Stage
from gangboard.domain.shell import command
from gangboard.domain.text import count, label, names, out_of, plural
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import restart_under_way
from gangboard.facts.creation_refusal import newest_creation_refusal, waits_for_leader
from gangboard.facts.dependencies import held_back_pods, unexplained_jobs
from gangboard.facts.findings import unit_finding
from gangboard.facts.grace_periods import CREATION_GRACE, creation_due
from gangboard.facts.preemption import (
    has_lost_all_pods,
    last_preemption,
    preemptors_evidence,
    preemptors_text,
)
from gangboard.facts.state_since import creation_overdue_since
from gangboard.facts.unit import (
    Unit,
    failing_jobs,
    is_bare_group,
    is_empty_plan,
    is_formed,
    is_paused,
)
from gangboard.plugins.rule import UnitRule

_JOB = "the Job controller (kube-controller-manager)"
_NO_WORD = "it has reported no refusal"
_V1_36 = "v1alpha2"


def find(unit: Unit) -> Finding | None:
    """Return a finding while pods that should be made are not, and nothing refused them."""
    if unit.quorum is not None and has_lost_all_pods(unit):
        return None
    is_group = is_bare_group(unit) or is_empty_plan(unit)
    is_empty_group = is_group and not unit.pods and not unit.foreign_pods
    if not is_empty_group and (is_formed(unit) or unit.missing <= held_back_pods(unit)):
        return None
    if unit.quorum is not None and unit.current:
        return None
    if is_paused(unit) or failing_jobs(unit) or newest_creation_refusal(unit) is not None:
        return None
    if waits_for_leader(unit):
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
        advice=() if is_young else _advice(unit),
        evidence=_evidence(unit),
        recheck_at=due if is_young else None,
        since=creation_overdue_since(unit, due - CREATION_GRACE if due is not None else None),
    )


def _message(unit: Unit) -> str:
    absent = unexplained_jobs(unit)
    if absent:
        listed = f"Job {absent[0]}" if len(absent) == 1 else f"{len(absent)} Jobs ({names(absent)})"
        return f"{label(unit.owner.meta.ref)} has not made {listed}."
    if is_empty_plan(unit):
        return _of_plan(unit)
    there = len(unit.current) + unit.succeeded
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


def _of_plan(unit: Unit) -> str:
    """Tell of a Workload or CompositePodGroup that no PodGroup is there yet: pods come after it."""
    plan = unit.owner.meta.ref
    if plan.kind == "Workload":
        text, need = f"No PodGroup was made from {label(plan)}", count(unit.wanted, "pod")
        return f"{text}, which needs {need}." if unit.wanted else f"{text}."
    text = f"No PodGroup was made for {label(plan)}"
    quorums = [one.quorum for one in unit.gang.groups if one.meta.ref.uid == plan.uid]
    need = "".join(f", which needs {count(number, 'group')}" for number in quorums if number)
    return f"{text}{need}."


def _remarks(unit: Unit) -> str:
    remarks = []
    taken = last_preemption(unit) if is_bare_group(unit) and not unit.current else None
    if taken is not None:
        remarks.append(f" Its pods were preempted by {preemptors_text(taken)}.")
    managers = sorted({one.managed_by for one in (unit.owner, *unit.jobs) if one.managed_by})
    if managers:
        remarks.append(f" Making them is left to {names(managers)} (spec.managedBy).")
    leaving = sum(pod.is_live and pod.is_terminating for pod in unit.pods)
    if leaving:
        remarks.append(f" {count(leaving, 'old pod')} still {plural(leaving, 'terminate')}.")
    if _unplanned(unit):
        remarks.append(" Its Workload, which comes first, has not been made either.")
    if not unit.gang.cluster.events_known:
        remarks.append(" Events cannot be read, so a refusal would not be seen.")
    return "".join(remarks)


def _advice(unit: Unit) -> tuple[AdvisedStep | str, ...]:
    """Return who has to make them; nothing where something else than a dead controller explains it.

    A Job can wait for old pods to end (`podReplacementPolicy`); who `managedBy` means makes pods
    where and when it wants to; and a refusal would be seen only where events can be read.
    """
    if is_bare_group(unit):
        if unit.group is None or unit.group.meta.controller is not None:
            return ()
        group = label_of_group(unit.group_name) if unit.group_name else label(unit.owner.meta.ref)
        number = count(unit.needed, "pod") if unit.needed else "pods"
        return (f"Make {number} in {group}, or delete it.",)
    is_managed = any(one.managed_by for one in (unit.owner, *unit.jobs))
    leaving = any(pod.is_live and pod.is_terminating for pod in unit.pods)
    if is_managed or leaving or not unit.gang.cluster.events_known:
        return ()
    if unexplained_jobs(unit):
        maker = unit.gang.traits.controller
        return (f"Start {maker} if it does not run: {_NO_WORD}.",) if maker else ()
    if not unit.active_jobs:
        return ()
    planned = _without_group(unit)
    if planned:
        text = (
            f"Find what refuses the PodGroup of {planned}, such as a quota (no event tells of it)."
        )
        return (_look_at_quotas(text, unit),)
    if _unplanned(unit):
        return (
            _look_at_quotas(
                f"Start {_JOB} if it does not run, or find what refuses its Workload, such as a quota "
                "(Kubernetes 1.36 tells of neither).",
                unit,
            ),
        )
    return (f"Start {_JOB} if it does not run: {_NO_WORD}.",)


def _look_at_quotas(text: str, unit: Unit) -> AdvisedStep:
    """Return the step with the command that shows the quotas of the namespace, if its name is safe in a shell."""
    words = command("kubectl get resourcequota -n {}", unit.owner.meta.ref.namespace)
    return AdvisedStep(text, AdviceKind.LOOK, words)


def _unplanned(unit: Unit) -> bool:
    """Whether 1.36 owes a Job of its own a Workload and has not made one.

    It makes one for every Indexed Job with `completions` = `parallelism` > 1 before any pod, and says
    nothing when that is refused: no event, no condition (observed on 1.36.3 with a quota on
    `count/workloads.scheduling.k8s.io`).
    """
    gang, job = unit.gang, unit.owner
    if (
        gang.cluster.gang_api_version != _V1_36
        or gang.cluster.groups_unobserved
        or not job.meta.ref.is_job
    ):
        return False
    is_gang = job.indexed and job.completions == job.parallelism and (job.parallelism or 0) > 1
    if not is_gang or job.group_name or job.managed_by or unit.current:
        return False
    return not any(
        one.meta.controller is not None and one.meta.controller.uid == job.meta.ref.uid
        for one in gang.workloads
    )


def _without_group(unit: Unit) -> str:
    """Return the Workload that the Job controller has made for a Job, and no PodGroup after it.

    It makes pods only then, and is silent when the PodGroup is refused (observed on 1.37.0 with a
    quota on `count/podgroups.scheduling.k8s.io`).
    """
    jobs = {job.meta.ref.uid for job in unit.active_jobs}
    if any(
        one.meta.controller is not None and one.meta.controller.uid in jobs
        for one in unit.gang.groups
    ):
        return ""
    for one in unit.gang.workloads:
        if one.meta.controller is not None and one.meta.controller.uid in jobs:
            return label(one.meta.ref)
    return ""


def _evidence(unit: Unit) -> tuple[Evidence, ...]:
    there = len(unit.current) + unit.succeeded
    found = [Evidence("pods", f"{there} of {unit.wanted}", unit.owner.meta.ref)]
    found += [
        Evidence(unit.gang.traits_of(one.meta.ref).managed_by_field, one.managed_by, one.meta.ref)
        for one in {one.meta.ref.uid: one for one in (unit.owner, *unit.jobs)}.values()
        if one.managed_by
    ]
    found += preemptors_evidence(last_preemption(unit) if is_bare_group(unit) else None)
    return tuple(found)


RULE = UnitRule(
    "pods-not-created", Stage.FORMATION, "Pods not created", 70, find, health=Health.STARTING
)
