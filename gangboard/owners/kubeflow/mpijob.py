"""MPIJobs (kubeflow.org): a launcher starts processes on the workers.

Versions v2beta1 (MPI operator) and v1 (training operator) are one resource, and a cluster serves either. In
v2beta1 the launcher is a Job and the workers are pods of the MPIJob (seen with mpi-operator 0.8.0,
real-owners-2.md §1); in v1 all are pods of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gangboard.domain.action import Verb
from gangboard.domain.owner import Dependency, Finish, Owner, Role
from gangboard.domain.traits import KindTraits
from gangboard.owners.kubeflow import launching, training
from gangboard.owners.kubeflow.wire import (
    JOB_NAME,
    LAUNCHER,
    OPERATOR,
    WORKER,
    WireTrainingJob,
    WireTrainingSpec,
    WireTrainingStatus,
)
from gangboard.plugins.owner_kind import KindNotes, OwnerKind
from gangboard.policy.phrases import pods_deleted, pods_made

_KIND = "MPIJob"
_JOBS, _PODS = "v2beta1", "v1"
"""The version whose launcher is a Job, as in any later one, and that whose launcher is a pod."""
_WAITS = "WaitForWorkersReady"
_SLOTS = "slots"  # in `detail`
_NOT_MADE = {"ValidationError": "Found validation errors: ", "ErrResourceExists": ""}


def _build(wire: WireTrainingJob, version: str) -> Owner:
    spec = wire.spec or WireTrainingSpec()
    # Where it does not say how many workers, the MPI operator makes none.
    owner = training.build(wire, version, kind=_KIND, unsaid_workers=1 if version == _PODS else 0)
    if spec.slots_per_worker is not None:
        owner = replace(owner, detail={**owner.detail, _SLOTS: str(spec.slots_per_worker)})
    if version == _PODS:
        return owner
    status = wire.status or WireTrainingStatus()
    waits = spec.launcher_creation_policy == _WAITS
    return replace(
        owner,
        roles=tuple(_role(owner, role, status, waits=waits) for role in owner.roles),
        finish=_finish(owner.finish, status),
    )


def _role(owner: Owner, role: Role, status: WireTrainingStatus, *, waits: bool) -> Role:
    if role.name == LAUNCHER:
        until = (Dependency(WORKER, "Ready", origin="launcherCreationPolicy"),)
        child = f"{owner.meta.ref.name}-launcher"
        return replace(role, child_names=(child,), depends_on=until if waits else ())
    running = (status.replica_statuses or {}).get(role.name)
    active = (running.active or 0) if running is not None else 0
    return replace(role, ready=int(active >= role.pods))


def _finish(finish: Finish | None, status: WireTrainingStatus) -> Finish | None:
    """Return the end. That workers were evicted is none: launcher and other workers run on."""
    if finish is None:
        return None
    if finish.reason == launching.EVICTED and status.completion_time is None:
        return None
    # The reason of the last failed pod is put behind a slash, mostly an empty one.
    return replace(finish, reason=finish.reason.rstrip("/"))


def _facts(owner: Owner) -> Mapping[str, str]:
    return {"Slots per worker": owner.detail[_SLOTS]} if _SLOTS in owner.detail else {}


def _reactions(owner: Owner, _target: Owner, verb: Verb) -> tuple[str, ...]:
    """Say what the MPI operator does (real-owners-2.md §1.2 and 4)."""
    if verb is Verb.RESUME:
        return (pods_made(owner.desired),)
    return (
        pods_deleted(None, owner.grace_seconds),
        "Its launcher Job stays, suspended, and starts from the beginning when it is resumed.",
    )


OWNER = OwnerKind(
    resource=training.resource(_KIND, (_JOBS, _PODS), _build),
    label=_KIND,
    notes=KindNotes(
        gang="the MPIJob with the Job of its launcher and its pods",
        units="the PodGroup that its operator makes for it, else the launcher and the workers",
        queues="Kueue",
        limits=(
            "it resumes its launcher when that is suspended alone. A failed worker is re-created only when "
            "its pod is deleted; `Failed` with MPIJobEvicted is no end. In v1 the launcher is a pod"
        ),
        tested="MPI operator 0.8 on 1.37; v1 by its public types",
    ),
    own_managers=training.OWN_MANAGERS,
    managed_by_field=training.MANAGED_BY,
    makes=(("batch", "Job"),),
    levers=("suspend",),
    no_child_lever="its launcher starts everything that runs on the workers",
    suspend_field=training.SUSPEND,
    suspend_map_missing=training.lacks_run_policy,
    suspended_condition="Suspended",
    child_label="app",
    traits=KindTraits(
        controller="the MPI operator",
        ends_pods=True,
        resumes_jobs=True,
        quorum_field=training.QUORUM_FIELD,
        pods_refused={
            "FailedCreatePod": ("Error creating: ",),
            "MPIJobFailed": ("worker pod created failed: ", "launcher pod created failed: "),
        },
    ),
    event_reasons=_NOT_MADE,
    facts=_facts,
    reactions=_reactions,
    pod_label=JOB_NAME,
    pod_marks={OPERATOR: ("mpi-operator", "mpijob-controller")},
    role_of=training.role_of,
    rules=launching.RULES,
    evidence=training.evidence,
)
