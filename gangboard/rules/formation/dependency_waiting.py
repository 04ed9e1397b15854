"""`dependency-waiting`: a role waits until another role of its owner is Ready or Complete.

JobSet creates the Jobs of a ReplicatedJob with `dependsOn`, or late in the startup order, only after the
earlier one has reached its state (jobset-kueue.md §2.1, §2.2). The finding is a symptom, because the problem of
the other role is nearer to the cause.
"""

from __future__ import annotations

from gangboard.domain.advice import AdviceKind, AdvisedStep, ChangeMethod
from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.text import is_or_are, label, out_of
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import attempt_start
from gangboard.facts.copied_commands import look_at_unready
from gangboard.facts.dependencies import Waiting, waiting_roles
from gangboard.facts.findings import unit_finding
from gangboard.facts.roles import reached_jobs
from gangboard.facts.unit import Unit, is_formed
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding if a role outside of the unit keeps pods of the unit from being made."""
    if unit.current and is_formed(unit):
        return None
    inner = {role.name for role in unit.roles}
    waits = [wait for wait in waiting_roles(unit) if wait.dependency.role not in inner]
    if not waits:
        return None
    wait = waits[0]
    return unit_finding(
        RULE,
        unit,
        _message(wait),
        advice=_advice(unit, wait),
        evidence=_evidence(unit, wait),
        symptom=True,
        # A restart re-creates Jobs, and its time is not known for Jobs that do not exist yet.
        since=None if unit.owner.restarts else attempt_start(unit),
        named=False,  # The sentence begins with the waiting role, whose Jobs do not exist yet.
    )


def _message(wait: Waiting) -> str:
    waiter, dependency = wait.role.name, wait.dependency
    verb = "wait" if waiter.endswith("s") else "waits"
    origin = " (startup order)" if dependency.origin == "startupPolicy" else ""
    until = f"{waiter} {verb} until {dependency.role} is {dependency.status}{origin}"
    if wait.on is None:
        return f"{until}, but {dependency.role} does not exist."
    reached = reached_jobs(wait.on, dependency)
    if reached is None:
        return f"{until}."
    return f"{until}: {out_of(reached, wait.on.replicas, 'Job')} {is_or_are(reached)}."


def _advice(unit: Unit, wait: Waiting) -> tuple[AdvisedStep | str, ...]:
    """Return the step that brings the other role to its state: name an existing role, look at its pods, or wait."""
    waiter, dependency = wait.role.name, wait.dependency
    if wait.on is None:
        return (
            f"Let {waiter} depend on a part that {label(unit.owner.meta.ref)} has ({ChangeMethod.RECREATE}).",
        )
    jobs = {job.meta.ref.uid for job in unit.gang.jobs if job.meta.ref.name in wait.on.child_names}
    unready = look_at_unready(
        pod.meta.ref
        for pod in unit.gang.pods
        if pod.is_live and not pod.is_ready and _controller_uid(pod) in jobs
    )
    if unready:
        return unready
    step = f"Wait until {dependency.role} is {dependency.status}."
    waits_for_end = dependency.status == "Complete"
    return (AdvisedStep(step, AdviceKind.WAIT_FOR_END if waits_for_end else AdviceKind.LOOK),)


def _controller_uid(pod: Pod) -> str:
    controller = pod.meta.controller
    return controller.uid if controller is not None else ""


def _evidence(unit: Unit, wait: Waiting) -> tuple[Evidence, ...]:
    evidence = [Evidence("waits for", wait.dependency.role, unit.owner.meta.ref)]
    if wait.on is not None:
        reached = reached_jobs(wait.on, wait.dependency)
        if reached is not None:
            value = f"{reached} of {wait.on.replicas}"
            label = f"{wait.on.name} {wait.dependency.status.lower()}"
            evidence.append(Evidence(label, value, unit.owner.meta.ref))
    return tuple(evidence)


RULE = UnitRule(
    "dependency-waiting",
    Stage.FORMATION,
    "Waits for another part",
    20,
    find,
    health=Health.WAITING,
)
