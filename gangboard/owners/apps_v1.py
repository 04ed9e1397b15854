"""StatefulSets and Deployments (apps/v1): their pods take room and are no gang without a group or a queue of theirs.

A web server is no gang, so most of them are only occupants: what is on the nodes. That their pods tell by
their controller, so a cluster in which no group takes any is not asked for them. One whose pod template, or one of
whose pods, names a group, or whose pods name a queue that admits pods, is a gang like any other. A Deployment makes its pods through a ReplicaSet, which is not read:
the Deployment controller names that `<deployment>-<hash>` and gives its pods the hash as label (getNewReplicaSet in
pkg/controller/deployment/sync.go), so the pods tell the Deployment. Pods of a ReplicaSet that somebody made by hand
tell none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gangboard.decode.jobs import WirePodTemplate, WireTemplateSpec
from gangboard.decode.owner_meta import WireOwnerMeta
from gangboard.decode.podspec import pod_requests
from gangboard.decode.problems import deliver
from gangboard.decode.wire import Int32, Wire, or_one, read_meta, read_text
from gangboard.domain.api_resource import Resource
from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Owner, PodRequests
from gangboard.domain.pod import Pod
from gangboard.domain.text import label
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.state_since import not_formed_since
from gangboard.facts.unit import Unit
from gangboard.plugins.owner_kind import KindNotes, OwnerKind
from gangboard.plugins.rule import UnitRule

_GROUP = "apps"
_STATEFULSET, _DEPLOYMENT, _REPLICASET = "StatefulSet", "Deployment", "ReplicaSet"
_HASH = "pod-template-hash"
_POLICY, _ORDERED = "podManagementPolicy", "OrderedReady"


class _WireSpec(Wire):
    replicas: Int32 | None = None
    template: WirePodTemplate | None = None
    pod_management_policy: str | None = None
    """Of a StatefulSet; the API server fills in `OrderedReady`."""


class WireReplicas(Wire):
    """A StatefulSet or Deployment as narrow as it is kept."""

    metadata: WireOwnerMeta
    spec: _WireSpec | None = None


def _build(kind: str) -> Callable[[WireReplicas, str], Owner]:
    def build(wire: WireReplicas, version: str) -> Owner:
        spec = wire.spec or _WireSpec()
        pod = (spec.template and spec.template.spec) or WireTemplateSpec()
        replicas = or_one(spec.replicas)
        requests, faults = pod_requests(pod)
        policy = read_text(spec.pod_management_policy)
        owner = Owner(
            meta=read_meta(wire.metadata, _GROUP, kind, version),
            desired=replicas,
            pod_requests=(PodRequests(replicas, requests),),
            group_name=pod.group_name,
            priority_class=pod.priority_class_name or "",
            grace_seconds=pod.grace_seconds,
            detail={_POLICY: policy} if policy else {},
        )
        return deliver(owner, faults)

    return build


def _deployment_of(pod: Pod) -> str:
    """Return the name of the Deployment whose controller made the ReplicaSet of a pod, empty for none."""
    made_by = pod.meta.controller
    if made_by is None or made_by.kind != _REPLICASET or made_by.group != _GROUP:
        return ""
    suffix = pod.labels.get(_HASH, "")
    if not suffix:
        return ""
    name, _, end = made_by.name.rpartition("-")
    return name if end == suffix else ""


def _waits_for_itself(unit: Unit) -> Finding | None:
    """Return a finding where a StatefulSet makes its pods one by one, and its group needs several at once.

    It makes the next pod when the one before is ready (pkg/controller/statefulset), and the scheduler places
    none below the quorum.
    """
    owner, group = unit.owner, unit.group
    if owner.detail.get(_POLICY) != _ORDERED or unit.quorum is None or group is None:
        return None
    members = len(unit.current) + sum(pod.is_live for pod in unit.foreign_pods)
    if unit.placed or not unit.current or not members < unit.quorum <= unit.wanted:
        return None
    name = label(owner.meta.ref)
    return unit_finding(
        ORDERED,
        unit,
        f"{name} makes its pods one by one, but {label(group.meta.ref)} needs {unit.quorum} at once.",
        advice=(f"Re-create {name} with podManagementPolicy Parallel.",),
        evidence=(
            Evidence(f"spec.{_POLICY}", _ORDERED, owner.meta.ref),
            Evidence("quorum", str(unit.quorum), group.meta.ref),
            Evidence("live pods", str(members), group.meta.ref),
        ),
        since=not_formed_since(unit),
    )


ORDERED = UnitRule(
    "quorum-deadlock",
    Stage.FORMATION,
    "Quorum deadlock",
    10,
    _waits_for_itself,
    health=Health.BLOCKED,
)


def _resource(plural: str, kind: str) -> Resource:
    return Resource(
        group=_GROUP,
        plural=plural,
        kind=kind,
        versions=("v1",),
        wire=WireReplicas,
        model=Owner,
        build=_build(kind),
        decoder_version=2,
    )


def _kind(plural: str, kind: str, limits: str, **more: Any) -> OwnerKind:
    return OwnerKind(
        resource=_resource(plural, kind),
        label=kind,
        notes=KindNotes(
            gang=f"a {kind} whose pods a group keeps together or a queue admits; pods of all others only take room",
            queues="Kueue",
            units="the groups that its pods name",
            limits=f"it has no suspend field. {limits}",
            tested=f"the {kind} controller of 1.37",
        ),
        makes=(),
        needs_group=True,
        no_lever=(
            f"{kind}s have no suspend field, and scaling to 0 would end all pods without a record of "
            "how many there were."
        ),
        **more,
    )


OWNERS = (
    _kind(
        "statefulsets",
        _STATEFULSET,
        "With `OrderedReady` it makes one pod after the other, which a gang waits for in vain",
        rules=(ORDERED,),
    ),
    _kind(
        "deployments",
        _DEPLOYMENT,
        "While it rolls out a change it has more pods than it asks for",
        name_by_pod=_deployment_of,
    ),
)
