"""The owner that a job of kubeflow.org is, whichever its kind: roles, end, what it asks of a scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from gangboard.decode.fitting import key_fields
from gangboard.decode.jobs import DEFAULT_GRACE, read_manager
from gangboard.decode.managers import last_writer
from gangboard.decode.minimums import set_minimum
from gangboard.decode.podspec import pod_requests
from gangboard.decode.problems import deliver
from gangboard.decode.wire import or_one, read_conditions, read_meta, read_time
from gangboard.domain.action import Verb
from gangboard.domain.api_resource import Resource
from gangboard.domain.objects import Condition, find_condition, first_true, resumed_at
from gangboard.domain.owner import (
    Finish,
    GangRequest,
    Outcome,
    Owner,
    PodRequests,
    Reported,
    Role,
    finish_by,
)
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit
from gangboard.owners.kubeflow.wire import (
    GROUP,
    JOB_ROLE,
    REPLICA_TYPE,
    WORKER,
    WireElasticPolicy,
    WireRunPolicy,
    WireSchedulingPolicy,
    WireTrainingJob,
    WireTrainingSpec,
    WireTrainingStatus,
    role_name,
)
from gangboard.policy.phrases import pods_deleted, pods_made

SUSPEND = ("spec", "runPolicy", "suspend")
MANAGED_BY = ("spec", "runPolicy", "managedBy")

OWN_MANAGERS = ("kubeflow.org/training-operator", "kubeflow.org/mpi-operator")
_ENDS = {"Succeeded": Outcome.SUCCEEDED, "Failed": Outcome.FAILED}
_ELASTIC, _NO_RUN_POLICY = "elastic", "no run policy"  # in `detail`
_SAID = "Restarting", "Failed"
"""Types of the conditions that tell why members are missing."""


def build(wire: WireTrainingJob, version: str, *, kind: str, unsaid_workers: int = 1) -> Owner:
    """Return the owner of a job of any kind. Raises DecodeError.

    `unsaid_workers` is how many workers it has where its spec says no number.
    """
    spec, status = wire.spec or WireTrainingSpec(), wire.status or WireTrainingStatus()
    policy = spec.run_policy or WireRunPolicy()
    conditions = read_conditions(status.conditions)
    suspend_set_by, set_at = last_writer(wire.metadata.managed_fields, f"/{'/'.join(SUSPEND)}")
    roles, faults = _roles(spec, unsaid_workers)
    size = sum(role.pods for role in roles)
    owner = Owner(
        meta=read_meta(wire.metadata, GROUP, kind, version),
        suspended=bool(policy.suspend),
        suspend_set_by=suspend_set_by,
        suspend_set_at=read_time(set_at),
        desired=size,
        roles=roles,
        pod_requests=tuple(PodRequests(role.pods, role.requests) for role in roles if role.pods),
        finish=_finish(conditions),
        conditions=conditions,
        restarting=first_true(conditions, "Restarting") is not None,
        queue=wire.queue,
        managed_by=read_manager(policy.managed_by, OWN_MANAGERS),
        gang_request=_gang_request(policy.scheduling_policy, size),
        priority_class=_same(one.pod.priority_class_name or "" for one in spec.replicas.values()),
        started_at=read_time(status.start_time),
        resumed_at=resumed_at(conditions),
        reported=_reported(size, status),
        last_action=wire.last_action,
        grace_seconds=max(
            (one.pod.grace_seconds for one in spec.replicas.values()), default=DEFAULT_GRACE
        ),
        detail={
            **_elastic(spec.elastic_policy),
            **({_NO_RUN_POLICY: "yes"} if spec.run_policy is None else {}),
        },
    )
    return deliver(owner, faults)


def _reported(size: int, status: WireTrainingStatus) -> Reported | None:
    """Return the pods that run or have succeeded (UpdateJobReplicaStatuses counts running pods as active)."""
    counts = [one for one in (status.replica_statuses or {}).values() if one is not None]
    up = sum((one.active or 0) + (one.succeeded or 0) for one in counts)
    return Reported(min(up, size), size, state="running") if counts and size else None


def _roles(spec: WireTrainingSpec, unsaid_workers: int) -> tuple[tuple[Role, ...], tuple[str, ...]]:
    """Return a role for each replica spec, in the order of the spec, and what is wrong with them."""
    found, faults = list[Role](), list[str]()
    for name, replicas in spec.replicas.items():
        requests, malformed = pod_requests(replicas.pod)
        faults += [f"in {name} {fault}" for fault in malformed]
        pods = or_one(replicas.replicas)
        if name == WORKER and replicas.replicas is None:
            pods = unsaid_workers
        quorum = _quorum(name, pods, spec.elastic_policy)
        group = replicas.pod.group_name
        found.append(Role(name, 1, pods, requests, group_name=group, noun="role", quorum=quorum))
    return tuple(found), tuple(faults)


def _quorum(name: str, pods: int, elastic: WireElasticPolicy | None) -> int | None:
    """Return with how many workers an elastic job can train; None where all are needed.

    Without `minReplicas` the operator takes all of them (setElasticPolicy).
    """
    least = set_minimum(elastic.min_replicas) if elastic is not None else None
    return None if name != WORKER or least is None else min(least, pods)


def _elastic(policy: WireElasticPolicy | None) -> dict[str, str]:
    least = set_minimum(policy.min_replicas) if policy is not None else None
    if policy is None or least is None or policy.max_replicas is None:
        return {}
    return {_ELASTIC: f"{least} to {policy.max_replicas} workers"}


QUORUM_FIELD = "schedulingPolicy.minAvailable"
"""Both operators write it into the PodGroup of a job at each look, and the API server takes another number."""


def _gang_request(policy: WireSchedulingPolicy | None, size: int) -> GangRequest | None:
    """Return the gang that a job asks for: of all its pods where it says no number.

    An operator without a gang scheduler ignores it, and says so nowhere.
    """
    if policy is None:
        return None
    number = set_minimum(policy.min_available)
    if number is None and policy == WireSchedulingPolicy(min_available=policy.min_available):
        return None
    return GangRequest(
        "gang", size if number is None else number, derived=number is None, api="schedulingPolicy"
    )


def _same(classes: Iterable[str]) -> str:
    """Return the text that all have; empty where they differ."""
    found = set(classes)
    return found.pop() if len(found) == 1 else ""


def _finish(conditions: tuple[Condition, ...]) -> Finish | None:
    """Return the end that a job has by its conditions. Of one that succeeded the message says only that."""
    found = finish_by(conditions, _ENDS)
    if found is None or found.outcome is Outcome.FAILED:
        return found
    return replace(found, message="")


def role_of(pod: Pod) -> str:
    """Return the role of a pod: the MPI operator has a label of its own for it."""
    return role_name(pod.labels.get(REPLICA_TYPE) or pod.labels.get(JOB_ROLE, ""))


def facts(owner: Owner) -> Mapping[str, str]:
    """Return what its page says of it besides."""
    return {"Elastic": owner.detail[_ELASTIC]} if _ELASTIC in owner.detail else {}


def lacks_run_policy(owner: Owner) -> bool:
    """Whether it has no `spec.runPolicy`: the CRDs ask for none."""
    return _NO_RUN_POLICY in owner.detail


def evidence(unit: Unit) -> tuple[Evidence, ...]:
    """Return what its operator says of members that failed, as long as it says so."""
    if unit.owner.finish is not None:
        return ()
    found = (find_condition(unit.owner.conditions, type_) for type_ in _SAID)
    return tuple(
        Evidence(one.type, f"{one.reason}: {one.message}", unit.owner.meta.ref)
        for one in found
        if one is not None and one.is_true
    )


def reactions(owner: Owner, _target: Owner, verb: Verb) -> tuple[str, ...]:
    """Say what its operator does when it is suspended or resumed (real-owners-2.md §2.2 and 2.4)."""
    if verb is Verb.RESUME:
        return (pods_made(owner.desired),)
    return (
        pods_deleted(None, owner.grace_seconds),
        "Its Services and its PodGroup are deleted too. All of them are re-created when it is resumed.",
    )


def resource(
    kind: str, versions: tuple[str, ...], build_owner: Callable[[WireTrainingJob, str], Owner]
) -> Resource:
    """Return the resource of a kind of kubeflow.org."""
    return Resource(
        group=GROUP,
        plural=f"{kind.lower()}s",
        kind=kind,
        versions=versions,
        wire=WireTrainingJob,
        model=Owner,
        build=build_owner,
        needed=True,
        decoder_version=4,
        fields=key_fields(WireTrainingJob),
    )
