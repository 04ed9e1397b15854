"""The finding about a role that waits for another role of its owner."""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.domain.advice import AdviceKind, AdvisedStep, ChangeMethod
from gangboard.domain.pod import Pod
from gangboard.domain.text import is_or_are, label, out_of
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import attempt_start
from gangboard.facts.copied_commands import look_at_unready
from gangboard.facts.dependencies import Waiting
from gangboard.facts.findings import unit_finding
from gangboard.facts.roles import creates_pods
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule


def dependency_finding(rule: UnitRule, unit: Unit, waits: Sequence[Waiting]) -> Finding:
    """Return the finding of a rule about the first of the waiting roles of a unit.

    It is a symptom, because the problem of the other role is nearer to the cause.
    """
    wait = waits[0]
    return unit_finding(
        rule,
        unit,
        _message(waits),
        advice=_advice(unit, wait),
        evidence=_evidence(unit, wait),
        symptom=True,
        # A restart re-creates Jobs, and its time is not known for Jobs that do not exist yet.
        since=None if unit.owner.restarts else attempt_start(unit),
        named=False,  # The sentence begins with the waiting role, whose Jobs do not exist yet.
    )


def _message(waits: Sequence[Waiting]) -> str:
    wait = waits[0]
    waiter, dependency, progress = wait.role.name, wait.dependency, wait.progress
    verb = "wait" if waiter.endswith("s") else "waits"
    if wait.role.needs_any:
        others = " or ".join(item.dependency.role for item in waits if item.role == wait.role)
        return f"{waiter} {verb} until {others} is {dependency.status}."
    origin = " (startup order)" if dependency.origin == "startupPolicy" else ""
    until = f"{waiter} {verb} until {dependency.role} is {dependency.status}{origin}"
    if wait.on is None:
        return f"{until}, but {dependency.role} does not exist."
    if progress is None:
        return f"{until}."
    counted = out_of(progress.reached, progress.required, progress.noun)
    return f"{until}: {counted} {is_or_are(progress.reached)}."


def _advice(unit: Unit, wait: Waiting) -> tuple[AdvisedStep | str, ...]:
    """Return the step that brings the other role to its state: name an existing role, look at its pods, or wait."""
    waiter, dependency = wait.role.name, wait.dependency
    if wait.on is None:
        return (
            f"Let {waiter} depend on a part that {label(unit.owner.meta.ref)} has ({ChangeMethod.RECREATE}).",
        )
    jobs = {job.meta.ref.uid for job in unit.gang.jobs if job.meta.ref.name in wait.on.child_names}
    roles = unit.gang.roles_of_pods if creates_pods(wait.on) else {}
    unready = look_at_unready(
        pod.meta.ref
        for pod in unit.gang.pods
        if pod.is_live
        and not pod.is_ready
        and (_controller_uid(pod) in jobs or roles.get(pod.meta.ref.uid) == wait.on.name)
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
    if wait.progress is not None:
        value = f"{wait.progress.reached} of {wait.progress.required}"
        label = f"{wait.dependency.role} {wait.dependency.status.lower()}"
        evidence.append(Evidence(label, value, unit.owner.meta.ref))
    return tuple(evidence)
