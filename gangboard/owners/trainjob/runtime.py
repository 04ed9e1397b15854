"""Runtimes of TrainJobs, which tell the training roles, the preparing roles and the gang request.

gangboard reads the current runtime. The Trainer keeps the runtime that a TrainJob started with (2.3.0,
pkg/runtime/core/snapshot.go). So gangboard uses it only if the JobSet or the pods confirm it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gangboard.decode.jobs import WireScheduling, read_gang_request
from gangboard.decode.key_fields import KeyField, key_fields
from gangboard.decode.wire import Int32, Wire, WireMeta, WirePresence, read_meta
from gangboard.domain.advice import ChangeMethod
from gangboard.domain.api_resource import Resource
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Blueprint, GangRequest, Owner, RequestedSize, Role
from gangboard.domain.text import label
from gangboard.owners.trainjob.runtime_template import (
    TEMPLATE,
    JobSetTemplate,
    encode_template,
    steps,
)

GROUP = "trainer.kubeflow.org"
NODES = "numNodes"
"""Key in `detail` of a TrainJob or a runtime: the number of nodes in its own spec."""

_KINDS = "ClusterTrainingRuntime", "TrainingRuntime"
"""The first is the default of `runtimeRef.kind` and is cluster-scoped."""
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
TRAINER_STEP, PREPARING_STEPS = "trainer", ("dataset-initializer", "model-initializer")
"""Values of the label `STEP` on the ReplicatedJobs of a runtime."""
TRAINING_PART = "node"
_APIS = {"coscheduling": "scheduling.x-k8s.io/pod-group", "Volcano": "", "": ""}
"""API of a `podGroupPolicy`, as sentences name it → the label with which the Trainer adds pods to the group.

For Volcano the Trainer uses an annotation. The empty key is the API of Kubernetes: `spec.scheduling` (planned,
trainer#3219), earlier `podGroupPolicy.workload` (trainer#3015)."""
_NODES_FIELD = "spec.trainer.numNodes"
_PREPARES_FIRST = "It prepares data or a model before the nodes start: by design it is in no gang."

# Further keys in `detail` of a runtime: the API of the gang, whether the runtime has its own rules for the number of
# nodes, and the step label of each ReplicatedJob.
GANG, _CUSTOM_NODE_COUNT, _STEP_PREFIX = "gang", "dealt", "step/"
USES_MPI, LAUNCHER_IS_NODE = "mpi", "launcher is node"
"""Keys in `detail` of a runtime for MPI, and for one whose launcher counts as a node."""
_HAS_POLICY = "mlPolicy"
_POLICY, _QUORUM = "policy", "quorum"
"""The policy and quorum of `spec.scheduling`."""


class WireRuntimeRef(Wire):
    """`spec.runtimeRef` of a TrainJob."""

    name: KeyField[str | None] = None
    api_group: str | None = None
    kind: str | None = None


class _WireMPI(Wire):
    run_launcher_as_node: bool | None = None


class _WirePolicy(Wire):
    num_nodes: Int32 | None = None
    mpi: _WireMPI | None = None
    flux: WirePresence | None = None


class _WireGangPolicy(Wire):
    coscheduling: WirePresence | None = None
    volcano: WirePresence | None = None
    workload: WirePresence | None = None


class _WireRuntimeSpec(Wire):
    ml_policy: _WirePolicy | None = None
    pod_group_policy: _WireGangPolicy | None = None
    scheduling: WireScheduling | None = None
    template: JobSetTemplate | None = None


class WireRuntime(Wire):
    """The fields of a TrainingRuntime or ClusterTrainingRuntime that gangboard reads."""

    metadata: WireMeta
    spec: _WireRuntimeSpec | None = None


def _build(wire: WireRuntime, version: str, *, kind: str) -> Blueprint:
    spec = wire.spec or _WireRuntimeSpec()
    policy, gang = spec.ml_policy or _WirePolicy(), spec.pod_group_policy or _WireGangPolicy()
    detail = {TEMPLATE: encode_template(spec.template)}
    if spec.ml_policy is not None:
        detail[_HAS_POLICY] = "yes"
    if policy.num_nodes is not None:
        detail[NODES] = str(policy.num_nodes)
    if policy.mpi is not None or policy.flux is not None:
        detail[_CUSTOM_NODE_COUNT] = "yes"
    if policy.mpi is not None:
        detail[USES_MPI] = "yes"
        if policy.mpi.run_launcher_as_node:
            detail[LAUNCHER_IS_NODE] = "yes"
    policies = {"coscheduling": gang.coscheduling, "Volcano": gang.volcano, "": gang.workload}
    for api, source in policies.items():
        if source is not None:
            detail[GANG] = api
    request = read_gang_request(spec.scheduling, quorum=None, default="gang")
    if request is not None:
        detail |= {GANG: "", _POLICY: request.policy}
        if request.quorum is not None:
            detail[_QUORUM] = str(request.quorum)
    detail |= {f"{_STEP_PREFIX}{name}": step for name, step in steps(spec.template, STEP).items()}
    detail = {name: text for name, text in detail.items() if text or name == GANG}
    return Blueprint(read_meta(wire.metadata, GROUP, kind, version), detail)


def has_policy(runtime: Blueprint) -> bool:
    """Return whether a runtime has an `mlPolicy`, by which the Trainer counts the nodes."""
    return _HAS_POLICY in runtime.detail


def _resource(kind: str) -> Resource:
    return Resource(
        group=GROUP,
        plural=f"{kind.lower()}s",
        kind=kind,
        versions=("v1alpha1",),
        wire=WireRuntime,
        model=Blueprint,
        build=partial(_build, kind=kind),
        fields=key_fields(WireRuntime),
    )


RUNTIMES = tuple(map(_resource, _KINDS))


def named_runtime(namespace: str, ref: WireRuntimeRef | None) -> tuple[ObjectRef, ...]:
    """Return the reference to the runtime that a TrainJob in a namespace names, without a uid."""
    if ref is None or not ref.name:
        return ()
    kind = ref.kind or _KINDS[0]
    place = "" if kind == _KINDS[0] else namespace
    return (ObjectRef(ref.api_group or GROUP, kind, place, ref.name, ""),)


def with_runtime(trainjob: Owner, runtime: Blueprint) -> Owner:
    """Return the TrainJob with the fields of its runtime.

    The size comes from the runtime until the JobSet exists and the TrainJob has roles.
    """
    desired = trainjob.desired
    if not trainjob.roles and NODES not in trainjob.detail:
        desired = int(runtime.detail.get(NODES, "1"))
    return replace(
        trainjob,
        desired=desired,
        gang_request=trainjob.gang_request or _gang_request(runtime),
        roles=tuple(_role(trainjob, runtime, role) for role in trainjob.roles),
    )


def _gang_request(runtime: Blueprint) -> GangRequest | None:
    """Return the gang request of `podGroupPolicy` or `scheduling`, which covers all pods (real-owners.md §1.2)."""
    detail = runtime.detail
    api = detail.get(GANG)
    if api is None:
        return None
    policy, quorum = detail.get(_POLICY, "gang"), detail.get(_QUORUM)
    return GangRequest(
        policy,
        int(quorum) if quorum is not None else None,
        api=api,
        asker=runtime.meta.ref,
        mark=_APIS[api],
    )


def _role(trainjob: Owner, runtime: Blueprint, role: Role) -> Role:
    """Return a role with the fields of its runtime."""
    step = runtime.detail.get(_STEP_PREFIX + role.name)
    if step in PREPARING_STEPS:
        # Both other APIs include the initializers.
        return replace(role, alone="" if runtime.detail.get(GANG) else _PREPARES_FIRST)
    nodes = trainjob.detail.get(NODES)
    if nodes is None or _CUSTOM_NODE_COUNT in runtime.detail:
        return role
    if step == TRAINER_STEP:
        return replace(role, asked=RequestedSize(int(nodes), _NODES_FIELD))
    is_it = role.name == TRAINING_PART or len(trainjob.roles) == 1
    if not is_it or TRAINER_STEP in runtime.detail.values():
        return role
    name = label(runtime.meta.ref)
    ignored = RequestedSize(
        int(nodes),
        _NODES_FIELD,
        why_not=f"{name} labels no part as its trainer",
        advice=(
            f"Label the part of {name} that trains {STEP}: {TRAINER_STEP} ({ChangeMethod.RECREATE}).",
        ),
    )
    return replace(role, asked=ignored)
