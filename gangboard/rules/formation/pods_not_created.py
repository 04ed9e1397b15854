"""`pods-not-created`: a controller has not created the pods, or the child Jobs, of the unit.

The gang is starting at first. It is blocked if no pod appears for two minutes after the latest of these:

- its creation or resume
- the deletion of its last old pod
- the readiness of the role that it depends on

A controller ignores an object with another manager (`KindTraits.managed_by_field`), so the sentence names that manager.
"""

from __future__ import annotations

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.group import label_of_group
from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Owner
from gangboard.domain.shell import command
from gangboard.domain.text import count, label, names, out_of, plural
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import restart_under_way
from gangboard.facts.creation_refusal import newest_creation_refusal, waits_for_leader
from gangboard.facts.dependencies import held_back_pods, unexplained_jobs
from gangboard.facts.findings import unit_finding
from gangboard.facts.grace_periods import CREATION_GRACE, creation_due
from gangboard.facts.overdue_pods import awaited_pods
from gangboard.facts.preemption import (
    has_lost_all_pods,
    last_preemption,
    preemptors_evidence,
    preemptors_text,
)
from gangboard.facts.silent_nodes import kept_pods_step
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

_JOB_CONTROLLER = "the Job controller (kube-controller-manager)"
_NO_REFUSAL = "it has reported no refusal"
_V1_36 = "v1alpha2"


def find(unit: Unit) -> Finding | None:
    """Return a finding while expected pods do not exist and no refusal explains it."""
    if unit.quorum is not None and has_lost_all_pods(unit):
        return None
    is_group = is_bare_group(unit) or is_empty_plan(unit)
    is_empty_group = is_group and not unit.pods and not unit.foreign_pods
    # The scheduler counts terminating pods, but they are no members of the next attempt.
    is_there = is_formed(unit) and unit.current
    if not is_empty_group and (is_there or unit.missing <= held_back_pods(unit)):
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
    missing_jobs = unexplained_jobs(unit)
    if missing_jobs:
        listed = (
            f"Job {missing_jobs[0]}"
            if len(missing_jobs) == 1
            else f"{len(missing_jobs)} Jobs ({names(missing_jobs)})"
        )
        return f"{label(unit.owner.meta.ref)} has not created {listed}."
    if is_empty_plan(unit):
        return _plan_message(unit)
    existing = len(unit.current) + unit.succeeded
    if is_bare_group(unit) and not existing:
        need = f", which needs {unit.needed}" if unit.needed else ""
        group = unit.group_name and label_of_group(unit.group_name)
        return f"No pod names {group or label(unit.owner.meta.ref)}{need}."
    maker = label((unit.jobs[0] if len(unit.jobs) == 1 else unit.owner).meta.ref)
    if existing:
        pods_text = (
            f"{out_of(existing, unit.wanted, 'pod')} {'exists' if existing == 1 else 'exist'}"
        )
        return f"{pods_text}; {maker} has not created the rest."
    if unit.wanted == 1:
        return f"{maker} has not created its pod."
    return f"{maker} has created none of its {count(unit.wanted, 'pod')}."


def _plan_message(unit: Unit) -> str:
    """Return the sentence about a Workload or CompositePodGroup without a PodGroup, which must exist before pods."""
    plan = unit.owner.meta.ref
    if plan.kind == "Workload":
        text, need = f"No PodGroup was created from {label(plan)}", count(unit.wanted, "pod")
        return f"{text}, which needs {need}." if unit.wanted else f"{text}."
    text = f"No PodGroup was created for {label(plan)}"
    quorums = [group.quorum for group in unit.gang.groups if group.meta.ref.uid == plan.uid]
    need = "".join(f", which needs {count(number, 'group')}" for number in quorums if number)
    return f"{text}{need}."


def _remarks(unit: Unit) -> str:
    remarks = []
    preemption = last_preemption(unit) if is_bare_group(unit) and not unit.current else None
    if preemption is not None:
        remarks.append(f" Its pods were preempted by {preemptors_text(preemption)}.")
    managed = _managed(unit)
    if managed:
        managers = sorted({owner.managed_by for owner in managed})
        fields = dict.fromkeys(_managed_by_field(unit, owner) for owner in managed)
        remarks.append(f" {names(managers)} must create them ({names(fields)}).")
    terminating = len(unit.terminating) + (len(unit.gang.old_pods) if unit.missing_jobs else 0)
    if terminating:
        remarks.append(
            f" {count(terminating, 'old pod')} still {plural(terminating, 'terminate')}."
        )
    if _lacks_workload(unit):
        remarks.append(" Its Workload, which comes first, does not exist either.")
    if not unit.gang.cluster.events_known:
        remarks.append(" Events cannot be read, so a refusal would not be seen.")
    return "".join(remarks)


def _advice(unit: Unit) -> tuple[AdvisedStep | str, ...]:
    """Return what keeps old pods that must end first, else who must create the pods.

    Empty if a stopped controller is not the likely cause: a manager (`managedBy`) creates pods by its own rules, and
    without readable events a refusal would not be seen.
    """
    if is_bare_group(unit):
        if unit.group is None or unit.group.meta.controller is not None:
            return ()
        group = label_of_group(unit.group_name) if unit.group_name else label(unit.owner.meta.ref)
        number = count(unit.needed, "pod") if unit.needed else "pods"
        return (f"Create {number} in {group}, or delete it.",)
    awaited = awaited_pods(unit)
    if awaited:
        return (kept_pods_step(awaited),)
    if _managed(unit) or not unit.gang.cluster.events_known:
        return ()
    if unexplained_jobs(unit):
        maker = unit.gang.traits.controller
        return (f"Start {maker} if it does not run: {_NO_REFUSAL}.",) if maker else ()
    if not unit.active_jobs:
        return ()
    workload = _workload_without_group(unit)
    if workload:
        text = (
            f"Find what refuses the PodGroup of {workload}, such as a quota (no event reports it)."
        )
        return (_look_at_quotas(text, unit),)
    if _lacks_workload(unit):
        return (
            _look_at_quotas(
                f"Start {_JOB_CONTROLLER} if it does not run, or find what refuses its Workload, such as a quota "
                "(Kubernetes 1.36 reports neither).",
                unit,
            ),
        )
    return (f"Start {_JOB_CONTROLLER} if it does not run: {_NO_REFUSAL}.",)


def _managed(unit: Unit) -> list[Owner]:
    """Return the owner and the Jobs of the unit whose pods another controller creates."""
    makers = {maker.meta.ref.uid: maker for maker in (unit.owner, *unit.jobs)}
    return [maker for maker in makers.values() if maker.managed_by]


def _managed_by_field(unit: Unit, owner: Owner) -> str:
    return unit.gang.traits_of(owner.meta.ref).managed_by_field


def _look_at_quotas(text: str, unit: Unit) -> AdvisedStep:
    """Return the step with the command that shows the quotas of the namespace, if its name is safe in a shell."""
    quotas = command("kubectl get resourcequota -n {}", unit.owner.meta.ref.namespace)
    return AdvisedStep(text, AdviceKind.LOOK, quotas)


def _lacks_workload(unit: Unit) -> bool:
    """Return whether Kubernetes 1.36 has not created the Workload of a standalone Job.

    It creates one for every Indexed Job with `completions` = `parallelism` > 1 before any pod. A refusal leaves
    no event and no condition (observed on 1.36.3 with a quota on `count/workloads.scheduling.k8s.io`).
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
        workload.meta.controller is not None and workload.meta.controller.uid == job.meta.ref.uid
        for workload in gang.workloads
    )


def _workload_without_group(unit: Unit) -> str:
    """Return the label of the Workload that the Job controller made for a Job without a PodGroup, or empty.

    The controller creates pods only after the PodGroup, and reports no refusal of that (observed on 1.37.0 with
    a quota on `count/podgroups.scheduling.k8s.io`).
    """
    jobs = {job.meta.ref.uid for job in unit.active_jobs}
    if any(
        group.meta.controller is not None and group.meta.controller.uid in jobs
        for group in unit.gang.groups
    ):
        return ""
    for workload in unit.gang.workloads:
        if workload.meta.controller is not None and workload.meta.controller.uid in jobs:
            return label(workload.meta.ref)
    return ""


def _evidence(unit: Unit) -> tuple[Evidence, ...]:
    existing = len(unit.current) + unit.succeeded
    evidence = [Evidence("pods", f"{existing} of {unit.wanted}", unit.owner.meta.ref)]
    evidence += [
        Evidence(_managed_by_field(unit, owner), owner.managed_by, owner.meta.ref)
        for owner in _managed(unit)
    ]
    evidence += preemptors_evidence(last_preemption(unit) if is_bare_group(unit) else None)
    return tuple(evidence)


RULE = UnitRule(
    "pods-not-created", Stage.FORMATION, "Pods not created", 70, find, health=Health.STARTING
)
