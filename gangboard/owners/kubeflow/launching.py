"""What only MPIJobs lack: a launcher that waits for workers is the symptom, a worker that failed stays away.

mpirun ends with an error where a worker cannot be reached, and is started again; so a launcher that fails while
workers are missing tells of nothing but these. A worker that failed is counted, and made anew only once
somebody has deleted its pod (getOrCreateWorker of mpi-operator 0.8.0; made anew 40 ms after that, seen).
"""

from __future__ import annotations

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.shell import command
from gangboard.domain.text import all_of, count, is_or_are, label, names
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.lost_members import how_many_run
from gangboard.facts.unit import Unit
from gangboard.owners.kubeflow.training import role_of
from gangboard.owners.kubeflow.wire import LAUNCHER, WORKER
from gangboard.plugins.rule import UnitRule

MOST_IN_COMMAND = 50
"""Pods that one command names."""
EVICTED = "MPIJobEvicted"
"""Reason of the condition by which the MPI operator tells of workers that were evicted."""


def find_not_made(unit: Unit) -> Finding | None:
    """Return a finding while the Job of the launcher is not made because workers are not ready."""
    if not _is_launcher(unit) or not unit.missing_jobs:
        return None
    if not any(role.depends_on for role in unit.roles):
        return None
    return _waiting(unit, NOT_MADE, f"Job {unit.missing_jobs[0]} is not made before")


def find_waiting(unit: Unit) -> Finding | None:
    """Return a finding while the launcher has its place, is not up, and workers are not ready."""
    if not _is_launcher(unit) or unit.missing_jobs or unit.unplaced or unit.is_full:
        return None
    again = sum(one.restarts for pod in unit.pods for one in pod.containers)
    again += sum(job.retries for job in unit.jobs)
    ended = f" It has failed {count(again, 'time')}." if again else ""
    return _waiting(unit, WAITING, "The launcher can start nothing before", ended)


def _is_launcher(unit: Unit) -> bool:
    return {role.name for role in unit.roles} == {LAUNCHER}


def _waiting(unit: Unit, rule: UnitRule, what: str, more: str = "") -> Finding | None:
    wanted = sum(role.pods for role in unit.owner.roles if role.name == WORKER)
    ready = sum(pod.is_ready for pod in _workers(unit.gang.pods))
    if ready >= wanted:
        return None
    workers = f"{all_of(wanted, 'worker')} are" if wanted > 1 else "its worker is"
    return unit_finding(
        rule,
        unit,
        f"{what} {workers} ready: {ready} {is_or_are(ready)}.{more}",
        evidence=(
            Evidence("workers ready", f"{ready} of {wanted}", unit.owner.meta.ref),
            *(Evidence("restarts", str(job.retries), job.meta.ref) for job in unit.jobs),
        ),
        symptom=True,
    )


def find_failed_workers(unit: Unit) -> Finding | None:
    """Return a finding while pods of workers have failed and nobody has deleted them."""
    failed = [
        pod for pod in _workers(unit.pods) if pod.phase == "Failed" and not pod.is_terminating
    ]
    # The training operator, whose launcher is no Job, acts on such pods by itself.
    by_job = any(role.child_names for role in unit.owner.roles)
    if not failed or not by_job or unit.owner.suspended:
        return None
    reasons = sorted({pod.reason for pod in failed} - {""})
    why = f" ({names(reasons)})" if reasons else ""
    they, them = ("it comes", "its pod is") if len(failed) == 1 else ("they come", "their pods are")
    listed = names(pod.meta.ref.name for pod in failed)
    runs = any(pod.is_ready for pod in unit.gang.pods)
    return unit_finding(
        FAILED,
        unit,
        f"{how_many_run(unit)}: {listed} failed{why}, and {they} back only when {them} deleted.",
        health=None if runs else Health.BLOCKED,
        advice=(_delete(failed),),
        evidence=tuple(
            Evidence("failed pod", f"{pod.reason}: {pod.message}".strip(": "), pod.meta.ref)
            for pod in failed[:3]
        ),
    )


def _delete(failed: list[Pod]) -> AdvisedStep:
    """Return how these pods are made anew, with the command if it is short and its names are safe in a shell."""
    ref = failed[0].meta.ref
    listed = [pod.meta.ref.name for pod in failed]
    words: tuple[str, ...] = ()
    if len(listed) <= MOST_IN_COMMAND:
        words = command(f"kubectl delete pod -n {{}}{' {}' * len(listed)}", ref.namespace, *listed)
    text = "Have them re-created."
    if not words:
        text = f"Delete the pods of the workers that failed, such as {label(ref)}."
    return AdvisedStep(text, AdviceKind.REPLACE_PODS, words)


def _workers(pods: tuple[Pod, ...]) -> list[Pod]:
    return [pod for pod in pods if role_of(pod) == WORKER]


NOT_MADE = UnitRule(
    "dependency-waiting",
    Stage.FORMATION,
    "Waits for another part",
    18,
    find_not_made,
    health=Health.WAITING,
)
WAITING = UnitRule(
    "dependency-waiting",
    Stage.START,
    "Waits for another part",
    5,
    find_waiting,
    health=Health.WAITING,
)
FAILED = UnitRule(
    "lost-members",
    Stage.RUN,
    "Lost members",
    15,
    find_failed_workers,
    overrides=True,
    health=Health.DEGRADED,
)
RULES = NOT_MADE, WAITING, FAILED
