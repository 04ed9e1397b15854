"""MPIJobs (kubeflow.org), in which a launcher starts processes on workers.

A cluster serves either v2beta1 (MPI operator) or v1 (training operator) of this resource. In v2beta1 the launcher is a
Job, and the workers are pods of the MPIJob (observed with mpi-operator 0.8.0, real-owners-2.md §1). In v1 all are pods.

A launcher that waits for workers is a symptom. mpirun fails if it cannot reach a worker, and is restarted. So a launcher
that fails while workers are missing only points at them. The operator replaces a failed worker only after its pod was
deleted (getOrCreateWorker of mpi-operator 0.8.0; 40 ms after the deletion, observed).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gangboard.domain.action import Verb
from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Dependency, Finish, Owner, Role
from gangboard.domain.pod import Pod
from gangboard.domain.shell import command
from gangboard.domain.text import all_of, count, is_or_are, label, names
from gangboard.domain.traits import KindTraits
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.lost_members import running_members_text
from gangboard.facts.unit import Unit
from gangboard.owners.kubeflow import creation
from gangboard.owners.kubeflow.training import QUORUM_FIELD, QUORUM_PATH, TrainingJob, role_of
from gangboard.owners.kubeflow.wire import (
    LAUNCHER,
    OPERATOR,
    WORKER,
    WireTrainingJob,
    WireTrainingSpec,
    WireTrainingStatus,
)
from gangboard.plugins.child_manifests import text
from gangboard.plugins.owner_kind import KindNotes
from gangboard.plugins.rule import UnitRule
from gangboard.policy.phrases import pods_deleted, pods_made

_JOB_LAUNCHER_VERSION, _POD_LAUNCHER_VERSION = "v2beta1", "v1"
"""The version with a Job as launcher, as any later one, and the version with a pod as launcher."""
_WAIT_FOR_WORKERS = "WaitForWorkersReady"
_SLOTS = "slots"  # in `detail`
MAX_PODS_IN_COMMAND = 50
"""Most pods in one command."""
EVICTED = "MPIJobEvicted"
"""Reason of the condition with which the MPI operator reports evicted workers."""


def _role(owner: Owner, role: Role, status: WireTrainingStatus, *, waits: bool) -> Role:
    if role.name == LAUNCHER:
        until = (Dependency(WORKER, "Ready", origin="launcherCreationPolicy"),)
        child = f"{owner.meta.ref.name}-launcher"
        return replace(role, child_names=(child,), depends_on=until if waits else ())
    running = (status.replica_statuses or {}).get(role.name)
    active = (running.active or 0) if running is not None else 0
    return replace(role, ready=int(active >= role.pods))


def _finish(finish: Finish | None, status: WireTrainingStatus) -> Finish | None:
    """Return the end of the job. An eviction of workers is no end, because the launcher and other workers run on."""
    if finish is None:
        return None
    if finish.reason == EVICTED and status.completion_time is None:
        return None
    # The operator appends a slash and the reason of the last failed pod, which is often empty.
    return replace(finish, reason=finish.reason.rstrip("/"))


def find_not_made(unit: Unit) -> Finding | None:
    """Return a finding while the launcher Job does not exist because workers are not ready."""
    if not _is_launcher(unit) or not unit.missing_jobs:
        return None
    if not any(role.depends_on for role in unit.roles):
        return None
    return _waiting_finding(
        unit, LAUNCHER_NOT_MADE, f"Job {unit.missing_jobs[0]} is not created before"
    )


def find_waiting(unit: Unit) -> Finding | None:
    """Return a finding while the launcher has a node and is not ready because workers are not."""
    if not _is_launcher(unit) or unit.missing_jobs or unit.unplaced or unit.is_full:
        return None
    failures = sum(container.restarts for pod in unit.pods for container in pod.containers)
    failures += sum(job.retries for job in unit.jobs)
    ended = f" It has failed {count(failures, 'time')}." if failures else ""
    return _waiting_finding(unit, WAITING, "The launcher cannot start processes before", ended)


def _is_launcher(unit: Unit) -> bool:
    return {role.name for role in unit.roles} == {LAUNCHER}


def _waiting_finding(
    unit: Unit, rule: UnitRule, waiting_part: str, ending: str = ""
) -> Finding | None:
    workers_wanted = sum(role.pods for role in unit.owner.roles if role.name == WORKER)
    ready = sum(pod.is_ready for pod in _workers(unit.gang.pods))
    if ready >= workers_wanted:
        return None
    workers = f"{all_of(workers_wanted, 'worker')} are" if workers_wanted > 1 else "its worker is"
    return unit_finding(
        rule,
        unit,
        f"{waiting_part} {workers} ready: {ready} {is_or_are(ready)}.{ending}",
        evidence=(
            Evidence("workers ready", f"{ready} of {workers_wanted}", unit.owner.meta.ref),
            *(Evidence("restarts", str(job.retries), job.meta.ref) for job in unit.jobs),
        ),
        symptom=True,
    )


def find_failed_workers(unit: Unit) -> Finding | None:
    """Return a finding while failed pods of workers exist."""
    failed = [
        pod for pod in _workers(unit.pods) if pod.phase == "Failed" and not pod.is_terminating
    ]
    # The training operator, whose launcher is a pod, handles failed pods itself.
    by_job = any(role.child_names for role in unit.owner.roles)
    if not failed or not by_job or unit.owner.suspended:
        return None
    reasons = sorted({pod.reason for pod in failed} - {""})
    why = f" ({names(reasons)})" if reasons else ""
    clause_start, clause_end = (
        ("it comes", "its pod is") if len(failed) == 1 else ("they come", "their pods are")
    )
    listed = names(pod.meta.ref.name for pod in failed)
    runs = any(pod.is_ready for pod in unit.gang.pods)
    return unit_finding(
        FAILED,
        unit,
        f"{running_members_text(unit)}: {listed} failed{why}, and {clause_start} back only when {clause_end} deleted.",
        health=None if runs else Health.BLOCKED,
        advice=(_deletion_step(failed),),
        evidence=tuple(
            Evidence("failed pod", f"{pod.reason}: {pod.message}".strip(": "), pod.meta.ref)
            for pod in failed[:3]
        ),
    )


def _deletion_step(failed: list[Pod]) -> AdvisedStep:
    """Return the step that deletes these pods so that the operator re-creates them.

    It has a command if there are few pods and their names are safe in a shell.
    """
    ref = failed[0].meta.ref
    listed = [pod.meta.ref.name for pod in failed]
    copied_command: tuple[str, ...] = ()
    if len(listed) <= MAX_PODS_IN_COMMAND:
        copied_command = command(
            f"kubectl delete pod -n {{}}{' {}' * len(listed)}", ref.namespace, *listed
        )
    text = "Have them re-created."
    if not copied_command:
        text = f"Delete the pods of the workers that failed, such as {label(ref)}."
    return AdvisedStep(text, AdviceKind.REPLACE_PODS, copied_command)


def _workers(pods: tuple[Pod, ...]) -> list[Pod]:
    return [pod for pod in pods if role_of(pod) == WORKER]


LAUNCHER_NOT_MADE = UnitRule(
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
RULES = LAUNCHER_NOT_MADE, WAITING, FAILED


class MPIJob(TrainingJob):
    """An MPIJob of either operator."""

    kind = "MPIJob"
    versions = (_JOB_LAUNCHER_VERSION, _POD_LAUNCHER_VERSION)
    notes = KindNotes(
        gang="the MPIJob with its pods and the Job of its launcher",
        units=("the PodGroup that its operator creates; without one, the launcher and the workers"),
        queues="Kueue",
        limits=(
            "Its operator resumes a launcher that is suspended alone. It replaces a failed "
            "worker only after somebody deletes the pod. `Failed` with the reason "
            "MPIJobEvicted is not an end. In v1 the launcher is a pod"
        ),
        tested="MPI operator 0.8 on 1.37; v1 by its public types",
    )
    traits = KindTraits(
        controller="the MPI operator",
        ends_pods=True,
        resumes_jobs=True,
        quorum_field=QUORUM_FIELD,
        number_paths={QUORUM_FIELD: QUORUM_PATH},
        pods_refused={
            "FailedCreatePod": ("Error creating: ",),
            "MPIJobFailed": ("worker pod created failed: ", "launcher pod created failed: "),
        },
    )
    makes = (("batch", "Job"),)
    no_child_lever = "its launcher starts everything that runs on the workers"
    child_label = "app"
    pod_marks: Mapping[str, tuple[str, ...]] = {OPERATOR: ("mpi-operator", "mpijob-controller")}
    event_reasons: Mapping[str, str] = {
        "ValidationError": "Found validation errors: ",
        "ErrResourceExists": "",
    }
    rules = RULES
    main_container = "mpi"
    known_roles = (LAUNCHER, WORKER)

    def build(self, wire: WireTrainingJob, version: str) -> Owner:
        """Return the MPIJob, with its launcher as a Job unless the version is v1."""
        owner = super().build(wire, version)
        spec = wire.spec or WireTrainingSpec()
        if spec.slots_per_worker is not None:
            owner = replace(owner, detail={**owner.detail, _SLOTS: str(spec.slots_per_worker)})
        if version == _POD_LAUNCHER_VERSION:
            return owner
        status = wire.status or WireTrainingStatus()
        waits = spec.launcher_creation_policy == _WAIT_FOR_WORKERS
        return replace(
            owner,
            roles=tuple(_role(owner, role, status, waits=waits) for role in owner.roles),
            finish=_finish(owner.finish, status),
        )

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterable[Manifest]:
        """Return its worker pods and its launcher, which is a Job unless the version is v1."""
        if _version(manifest) == _POD_LAUNCHER_VERSION:
            return creation.operator_pods(manifest, self.pod_marks[OPERATOR][1])
        return creation.mpi_objects(manifest, context)

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterable[ManifestFault]:
        """Return what its operator refuses."""
        if _version(manifest) == _POD_LAUNCHER_VERSION:
            return creation.operator_faults(manifest, self.known_roles, self.main_container)
        return creation.mpi_faults(manifest)

    def workers_unless_set(self, version: str) -> int:
        """Return 0 for the MPI operator, which creates no workers without a number."""
        return 1 if version == _POD_LAUNCHER_VERSION else 0

    def facts(self, owner: Owner) -> Mapping[str, str]:
        """Return the slots per worker."""
        return {"Slots per worker": owner.detail[_SLOTS]} if _SLOTS in owner.detail else {}

    def reactions(self, owner: Owner, target: Owner, verb: Verb) -> tuple[str, ...]:
        """Return the reactions of the MPI operator (real-owners-2.md §1.2 and 4)."""
        if verb is Verb.RESUME:
            return (pods_made(owner.desired),)
        return (
            pods_deleted(None, owner.grace_seconds),
            "Its launcher Job stays, suspended, and starts from the beginning when it is resumed.",
        )


def _version(manifest: Manifest) -> str:
    return text(manifest, "apiVersion").rpartition("/")[2]
