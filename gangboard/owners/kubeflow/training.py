"""Kinds of kubeflow.org without a launcher, and the common base of all kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gangboard.decode.jobs import DEFAULT_GRACE, requests_of, shared_text, size_of
from gangboard.decode.podspec import pod_requests
from gangboard.decode.problems import raise_for_faults
from gangboard.decode.quantities import read_minimum
from gangboard.decode.wire import or_one, read_conditions, read_time
from gangboard.domain.action import Verb
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.group import Group, GroupFate
from gangboard.domain.objects import Condition, find_condition, first_true_condition, resumed_at
from gangboard.domain.owner import (
    Finish,
    GangRequest,
    Outcome,
    Owner,
    ReportedCounts,
    Role,
    finish_by,
)
from gangboard.domain.pod import Pod
from gangboard.domain.traits import KindTraits
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit
from gangboard.owners.kubeflow import creation
from gangboard.owners.kubeflow.wire import (
    GROUP,
    JOB_NAME,
    JOB_ROLE,
    OPERATOR,
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
from gangboard.plugins.owner_kind import KindNotes, OwnerKind
from gangboard.policy.phrases import pods_deleted, pods_made

QUORUM_FIELD = "schedulingPolicy.minAvailable"
"""Both operators write this field into the PodGroup of a job at each reconcile. It can be changed in place."""
QUORUM_PATH = f"spec.runPolicy.{QUORUM_FIELD}"
_OUTCOMES = {"Succeeded": Outcome.SUCCEEDED, "Failed": Outcome.FAILED}
_ELASTIC, _NO_RUN_POLICY = "elastic", "no run policy"  # in `detail`
_REFERENCE_KIND = "PyTorchJob"
_FAILURE_CONDITIONS = "Restarting", "Failed"
"""Condition types that explain missing members."""


class TrainingJob(OwnerKind):
    """Base of the kinds of kubeflow.org."""

    group = GROUP
    versions: tuple[str, ...] = ("v1",)
    wire = WireTrainingJob
    traits = KindTraits(
        ends_pods=True,
        quorum_field=QUORUM_FIELD,
        number_paths={QUORUM_FIELD: QUORUM_PATH},
        pods_refused={"FailedCreatePod": ("Error creating: ",)},
    )
    own_managers = ("kubeflow.org/training-operator", "kubeflow.org/mpi-operator")
    managed_by_field = ("spec", "runPolicy", "managedBy")
    makes: tuple[tuple[str, str], ...] | None = ()
    pod_label = JOB_NAME
    levers = ("suspend",)
    suspend_field = ("spec", "runPolicy", "suspend")
    suspended_condition = "Suspended"
    main_container = ""
    """Name that a container of each pod must have."""
    known_roles: tuple[str, ...] = ("Master", "Worker")

    def build(self, wire: WireTrainingJob, version: str) -> Owner:
        """Return the job with a role for each replica spec."""
        spec, status = wire.spec or WireTrainingSpec(), wire.status or WireTrainingStatus()
        policy = spec.run_policy or WireRunPolicy()
        conditions = read_conditions(status.conditions)
        roles, faults = _roles(spec, self.workers_unless_set(version))
        pods = [replicas.pod for replicas in spec.replicas.values()]
        owner = Owner(
            meta=self.read_meta(wire, version),
            **self.read_control(wire, policy.managed_by),
            suspended=bool(policy.suspend),
            desired=size_of(roles),
            roles=roles,
            pod_requests=requests_of(roles),
            finish=_finish(conditions),
            conditions=conditions,
            restarting=first_true_condition(conditions, "Restarting") is not None,
            gang_request=_gang_request(policy.scheduling_policy, size_of(roles)),
            priority_class=shared_text(pod.priority_class_name or "" for pod in pods),
            started_at=read_time(status.start_time),
            resumed_at=resumed_at(conditions),
            reported=_reported(size_of(roles), status),
            grace_seconds=max((pod.grace_seconds for pod in pods), default=DEFAULT_GRACE),
            detail={
                **_elastic(spec.elastic_policy),
                **({_NO_RUN_POLICY: "yes"} if spec.run_policy is None else {}),
            },
        )
        return raise_for_faults(owner, faults)

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterable[Manifest]:
        """Return its pods."""
        return creation.operator_pods(manifest, self.pod_marks[OPERATOR][0])

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterable[ManifestFault]:
        """Return what the webhook of the training operator refuses."""
        return creation.operator_faults(manifest, self.known_roles, self.main_container)

    def workers_unless_set(self, version: str) -> int:
        """Return the default number of workers."""
        return 1

    def role_of(self, pod: Pod) -> str:
        """Return the role of a pod."""
        return role_of(pod)

    def facts(self, owner: Owner) -> Mapping[str, str]:
        """Return the range of workers of an elastic job."""
        return {"Elastic": owner.detail[_ELASTIC]} if _ELASTIC in owner.detail else {}

    def suspend_map_missing(self, owner: Owner) -> bool:
        """Return whether the job has no `spec.runPolicy`, which the CRDs do not require."""
        return _NO_RUN_POLICY in owner.detail

    def evidence(self, unit: Unit) -> tuple[Evidence, ...]:
        """Return the conditions about failed members, until the job ends."""
        if unit.owner.finish is not None:
            return ()
        conditions = (find_condition(unit.owner.conditions, type_) for type_ in _FAILURE_CONDITIONS)
        return tuple(
            Evidence(
                condition.type, f"{condition.reason}: {condition.message}", unit.owner.meta.ref
            )
            for condition in conditions
            if condition is not None and condition.is_true
        )

    def reactions(self, owner: Owner, target: Owner, verb: Verb) -> tuple[str, ...]:
        """Return the reactions of the training operator (real-owners-2.md §2.2 and 2.4)."""
        if verb is Verb.RESUME:
            return (pods_made(owner.desired),)
        return (
            pods_deleted(None, owner.grace_seconds),
            "Its Services are deleted too, and re-created when it is resumed.",
        )

    def group_fate(
        self, owner: Owner, group: Group, kubernetes: tuple[int, int] | None
    ) -> GroupFate | None:
        """Return that both operators delete its PodGroup (real-owners-2.md §1.2 and 2.2, observed)."""
        return GroupFate(is_kept=False)


def _notes(kind: str, limits: str = f"Those of a {_REFERENCE_KIND}") -> KindNotes:
    return KindNotes(
        gang=f"the {kind} with its pods",
        units="the PodGroup that its operator creates; without one, each role",
        queues="Kueue",
        limits=limits,
        tested="training-operator 1.9 on 1.37",
    )


class JAXJob(TrainingJob):
    """A JAXJob."""

    kind = "JAXJob"
    notes = _notes(kind)
    pod_marks: Mapping[str, tuple[str, ...]] = {OPERATOR: ("jaxjob-controller",)}
    main_container = "jax"
    known_roles = ("Worker",)


class PaddleJob(TrainingJob):
    """A PaddleJob."""

    kind = "PaddleJob"
    notes = _notes(kind)
    pod_marks: Mapping[str, tuple[str, ...]] = {OPERATOR: ("paddlejob-controller",)}
    main_container = "paddle"


class PyTorchJob(TrainingJob):
    """A PyTorchJob. The notes of the other kinds refer to its notes, because it is the most common kind."""

    kind = _REFERENCE_KIND
    notes = _notes(
        kind,
        "A role cannot be suspended alone. gangboard counts pods and ignores the condition `Running`. "
        "With `cleanPodPolicy: None`, the default, pods stay after the end. The request for a gang "
        "has no effect if its operator has no gang scheduler",
    )
    pod_marks: Mapping[str, tuple[str, ...]] = {OPERATOR: ("pytorchjob-controller",)}
    main_container = "pytorch"


class TFJob(TrainingJob):
    """A TFJob."""

    kind = "TFJob"
    notes = _notes(kind)
    pod_marks: Mapping[str, tuple[str, ...]] = {OPERATOR: ("tfjob-controller",)}
    main_container = "tensorflow"
    known_roles = ("Chief", "Evaluator", "Master", "PS", "Worker")


class XGBoostJob(TrainingJob):
    """An XGBoostJob."""

    kind = "XGBoostJob"
    notes = _notes(
        kind,
        # UpdateJobStatus in xgboostjob_controller.go of training-operator 1.9.3.
        f"Those of a {_REFERENCE_KIND}. It ends with the first failed pod, unless the `restartPolicy` of the role is `ExitCode`",
    )
    pod_marks: Mapping[str, tuple[str, ...]] = {OPERATOR: ("xgboostjob-controller",)}
    main_container = "xgboost"


def role_of(pod: Pod) -> str:
    """Return the role of a pod. The MPI operator uses another label than the training operator."""
    return role_name(pod.labels.get(REPLICA_TYPE) or pod.labels.get(JOB_ROLE, ""))


def _reported(size: int, status: WireTrainingStatus) -> ReportedCounts | None:
    """Return how many pods run or have succeeded (UpdateJobReplicaStatuses counts running pods as active)."""
    counts = [count for count in (status.replica_statuses or {}).values() if count is not None]
    up = sum((count.active or 0) + (count.succeeded or 0) for count in counts)
    return ReportedCounts(min(up, size), size, state="running") if counts and size else None


def _roles(spec: WireTrainingSpec, unsaid_workers: int) -> tuple[tuple[Role, ...], tuple[str, ...]]:
    """Return a role for each replica spec, in the order of the spec, and their faults."""
    roles, faults = list[Role](), list[str]()
    for name, replicas in spec.replicas.items():
        requests, malformed = pod_requests(replicas.pod)
        faults += [f"in {name} {fault}" for fault in malformed]
        pods = or_one(replicas.replicas)
        if name == WORKER and replicas.replicas is None:
            pods = unsaid_workers
        quorum = _quorum(name, pods, spec.elastic_policy)
        group = replicas.pod.group_name
        roles.append(Role(name, 1, pods, requests, group_name=group, noun="role", quorum=quorum))
    return tuple(roles), tuple(faults)


def _quorum(name: str, pods: int, elastic: WireElasticPolicy | None) -> int | None:
    """Return the minimum of workers with which an elastic job trains. None: it needs all.

    Without `minReplicas` the operator sets it to all workers (setElasticPolicy).
    """
    least = read_minimum(elastic.min_replicas) if elastic is not None else None
    return None if name != WORKER or least is None else min(least, pods)


def _elastic(policy: WireElasticPolicy | None) -> dict[str, str]:
    least = read_minimum(policy.min_replicas) if policy is not None else None
    if policy is None or least is None or policy.max_replicas is None:
        return {}
    return {_ELASTIC: f"{least} to {policy.max_replicas} workers"}


def _gang_request(policy: WireSchedulingPolicy | None, size: int) -> GangRequest | None:
    """Return the gang request of a job. Without a number it covers all pods.

    An operator without a gang scheduler ignores it and does not report that.
    """
    if policy is None:
        return None
    number = read_minimum(policy.min_available)
    if number is None and policy == WireSchedulingPolicy(min_available=policy.min_available):
        return None
    return GangRequest(
        "gang", size if number is None else number, derived=number is None, api="schedulingPolicy"
    )


def _finish(conditions: tuple[Condition, ...]) -> Finish | None:
    """Return the end of a job from its conditions. A success has no message."""
    finish = finish_by(conditions, _OUTCOMES)
    if finish is None or finish.outcome is Outcome.FAILED:
        return finish
    return replace(finish, message="")
