"""The runtimes of TrainJobs, and what a TrainJob has by its own: which parts train, which prepare, what gang.

A runtime is read as it is now; the Trainer keeps the one that a TrainJob began with (2.3.0,
pkg/runtime/core/snapshot.go). So gangboard uses it only if the JobSet or the pods confirm it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import msgspec

from gangboard.decode.jobs import WireScheduling, read_gang_request
from gangboard.decode.key_fields import KeyField, key_fields
from gangboard.decode.wire import Int32, Wire, WireMeta, WirePresence, read_meta
from gangboard.domain.advice import ChangeMethod
from gangboard.domain.api_resource import Resource
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Blueprint, GangRequest, Owner, RequestedSize, Role
from gangboard.domain.text import label

GROUP = "trainer.kubeflow.org"
NODES = "numNodes"
"""Name in `detail` of a TrainJob, and of a runtime, of the nodes that it asks for itself."""

_KINDS = "ClusterTrainingRuntime", "TrainingRuntime"
"""The first is the default of `runtimeRef.kind` and belongs to no namespace."""
_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
_TRAINS, _PREPARES = "trainer", ("dataset-initializer", "model-initializer")
"""Values of that label on the parts of a runtime."""
_TRAINING_PART = "node"
_APIS = {"coscheduling": "scheduling.x-k8s.io/pod-group", "Volcano": "", "": ""}
"""API of a `podGroupPolicy`, as sentences call it → the label by which the Trainer hands it the pods. Volcano is
told by an annotation; the empty one is Kubernetes' own: `spec.scheduling` (planned: trainer#3219), before that
`podGroupPolicy.workload` (trainer#3015)."""
_ASKED_IN = "spec.trainer.numNodes"
_PREPARES_FIRST = "It prepares data or a model before the nodes start: by design it is in no gang."

# Further names in `detail` of a runtime: API of the gang, whether nodes are dealt by rules of its own, and
# the label of each part.
_GANG, _DEALT, _STEP_OF = "gang", "dealt", "step/"
_POLICY, _QUORUM = "policy", "quorum"
"""The policy and quorum of `spec.scheduling`."""


class WireRuntimeRef(Wire):
    """`spec.runtimeRef` of a TrainJob."""

    name: KeyField[str | None] = None
    api_group: str | None = None
    kind: str | None = None


class _WirePolicy(Wire):
    num_nodes: Int32 | None = None
    mpi: WirePresence | None = None
    flux: WirePresence | None = None


class _WireGangPolicy(Wire):
    coscheduling: WirePresence | None = None
    volcano: WirePresence | None = None
    workload: WirePresence | None = None


class _WireStepLabels(Wire):
    step: str | None = msgspec.field(default=None, name=_STEP)


class _WireStepMeta(Wire):
    labels: _WireStepLabels | None = None


class _WireJobTemplate(Wire):
    metadata: _WireStepMeta | None = None


class _WirePart(Wire):
    name: str = ""
    template: _WireJobTemplate | None = None


class _WireParts(Wire):
    replicated_jobs: KeyField[list[_WirePart] | None] = None


class _WireTemplate(Wire):
    spec: _WireParts | None = None


class _WireRuntimeSpec(Wire):
    ml_policy: _WirePolicy | None = None
    pod_group_policy: _WireGangPolicy | None = None
    scheduling: WireScheduling | None = None
    template: _WireTemplate | None = None


class WireRuntime(Wire):
    """A TrainingRuntime or ClusterTrainingRuntime as narrow as it is kept."""

    metadata: WireMeta
    spec: _WireRuntimeSpec | None = None


def _build(wire: WireRuntime, version: str, *, kind: str) -> Blueprint:
    spec = wire.spec or _WireRuntimeSpec()
    policy, gang = spec.ml_policy or _WirePolicy(), spec.pod_group_policy or _WireGangPolicy()
    template = spec.template or _WireTemplate()
    detail = {}
    if policy.num_nodes is not None:
        detail[NODES] = str(policy.num_nodes)
    if policy.mpi is not None or policy.flux is not None:
        detail[_DEALT] = "yes"
    policies = {"coscheduling": gang.coscheduling, "Volcano": gang.volcano, "": gang.workload}
    for api, source in policies.items():
        if source is not None:
            detail[_GANG] = api
    request = read_gang_request(spec.scheduling, quorum=None, default="gang")
    if request is not None:
        detail |= {_GANG: "", _POLICY: request.policy}
        if request.quorum is not None:
            detail[_QUORUM] = str(request.quorum)
    for part in (template.spec or _WireParts()).replicated_jobs or ():
        meta = (part.template or _WireJobTemplate()).metadata or _WireStepMeta()
        step = (meta.labels or _WireStepLabels()).step
        if step:
            detail[_STEP_OF + part.name] = step
    return Blueprint(read_meta(wire.metadata, GROUP, kind, version), detail)


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
    """Return the runtime that a TrainJob of a namespace names, without its uid."""
    if ref is None or not ref.name:
        return ()
    kind = ref.kind or _KINDS[0]
    place = "" if kind == _KINDS[0] else namespace
    return (ObjectRef(ref.api_group or GROUP, kind, place, ref.name, ""),)


def with_runtime(trainjob: Owner, runtime: Blueprint) -> Owner:
    """Return the TrainJob with the facts of its runtime.

    The size comes from the runtime only until the JobSet exists: then the TrainJob has roles.
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
    """Return the gang that its `podGroupPolicy` or `scheduling` asks for: of all pods (real-owners.md §1.2)."""
    detail = runtime.detail
    api = detail.get(_GANG)
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
    """Return a part with the facts of its runtime."""
    step = runtime.detail.get(_STEP_OF + role.name)
    if step in _PREPARES:
        # Both other APIs include the initializers.
        return replace(role, alone="" if runtime.detail.get(_GANG) else _PREPARES_FIRST)
    nodes = trainjob.detail.get(NODES)
    if nodes is None or _DEALT in runtime.detail:
        return role
    if step == _TRAINS:
        return replace(role, asked=RequestedSize(int(nodes), _ASKED_IN))
    is_it = role.name == _TRAINING_PART or len(trainjob.roles) == 1
    if not is_it or _TRAINS in runtime.detail.values():
        return role
    name = label(runtime.meta.ref)
    unheard = RequestedSize(
        int(nodes),
        _ASKED_IN,
        why_not=f"{name} labels no part as its trainer",
        advice=(
            f"Label the part of {name} that trains {_STEP}: {_TRAINS} ({ChangeMethod.RECREATE}).",
        ),
    )
    return replace(role, asked=unheard)
