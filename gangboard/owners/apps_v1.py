"""StatefulSets and Deployments (apps/v1), which are gangs only with a group or an admission queue.

A web server is no gang. Its pods only use capacity, and their controller reference is enough to tell that. So the poller
lists these kinds only if a group can take their pods. A StatefulSet or Deployment is a gang if its pod template or a
pod names a group, or if its pods name a queue that admits pods.

A Deployment creates its pods through a ReplicaSet, which gangboard does not read. The Deployment controller names the
ReplicaSet `<deployment>-<hash>` and labels its pods with the hash (getNewReplicaSet in pkg/controller/deployment/sync.go).
This gives the name of the Deployment. Pods of a ReplicaSet that a user created have no such label.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gangboard.decode.jobs import WirePodTemplate, template_spec
from gangboard.decode.owner_meta import WireOwnerMeta
from gangboard.decode.podspec import pod_requests
from gangboard.decode.problems import raise_for_faults
from gangboard.decode.wire import Int32, Wire, or_one, read_text
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Owner, PodRequests
from gangboard.domain.pod import Pod
from gangboard.domain.text import label
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.state_since import not_formed_since
from gangboard.facts.unit import Unit
from gangboard.plugins.child_manifests import name_of, pod_from, section, size, text
from gangboard.plugins.manifest_faults import (
    negative_fault,
    pod_template_faults,
    subdomain_fault,
)
from gangboard.plugins.owner_kind import KindNotes, OwnerKind
from gangboard.plugins.rule import UnitRule

_GROUP = "apps"
_REPLICASET = "ReplicaSet"
_HASH = "pod-template-hash"
_POLICY, _ORDERED = "podManagementPolicy", "OrderedReady"


class _WireSpec(Wire):
    replicas: Int32 | None = None
    template: WirePodTemplate | None = None
    pod_management_policy: str | None = None
    """Field of StatefulSets only. The API server defaults it to `OrderedReady`."""


class WireReplicas(Wire):
    """The fields of a StatefulSet or Deployment that gangboard reads."""

    metadata: WireOwnerMeta
    spec: _WireSpec | None = None


class Replicas(OwnerKind):
    """Base of StatefulSets and Deployments: replicas of one pod template."""

    group = _GROUP
    versions = ("v1",)
    wire = WireReplicas
    needed = False
    makes = ()
    needs_group = True

    def build(self, wire: WireReplicas, version: str) -> Owner:
        """Return the owner. Its pods are one unit."""
        spec = wire.spec or _WireSpec()
        pod = template_spec(spec.template)
        replicas = or_one(spec.replicas)
        requests, faults = pod_requests(pod)
        policy = read_text(spec.pod_management_policy)
        owner = Owner(
            meta=self.read_meta(wire, version),
            desired=replicas,
            paused_by=self.read_pause(wire, replicas),
            pod_requests=(PodRequests(replicas, requests),),
            group_name=pod.group_name,
            priority_class=pod.priority_class_name or "",
            grace_seconds=pod.grace_seconds,
            detail={_POLICY: policy} if policy else {},
        )
        return raise_for_faults(owner, faults)

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterator[ManifestFault]:
        """Yield what the API server refuses (pkg/apis/apps/validation)."""
        spec = section(manifest, "spec")
        yield from subdomain_fault("metadata.name", name_of(manifest), "Its name")
        yield from negative_fault(spec, "replicas", "spec.replicas")
        yield from pod_template_faults(
            section(spec, "template"), "spec.template", restart_policies=("", "Always")
        )


def _find_ordered_deadlock(unit: Unit) -> Finding | None:
    """Return a finding if a StatefulSet creates its pods one by one and its group needs several at once.

    The controller creates the next pod once the previous one is ready (pkg/controller/statefulset). The scheduler
    places none below the quorum.
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
        f"{name} creates its pods one by one, but {label(group.meta.ref)} needs {unit.quorum} at once.",
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
    _find_ordered_deadlock,
    health=Health.BLOCKED,
)


def _notes(kind: str, limits: str) -> KindNotes:
    return KindNotes(
        gang=(
            f"a {kind} whose pods a group keeps together or a queue admits; pods of other {kind}s only use capacity"
        ),
        queues="Kueue",
        units="the groups that its pods name",
        limits=f"It has no suspend field. {limits}",
        tested=f"the {kind} controller of 1.37",
    )


def _no_lever(kind: str) -> str:
    return (
        f"{kind}s have no suspend field, and scaling to 0 would end all pods without a record of "
        "how many there were."
    )


class StatefulSet(Replicas):
    """A StatefulSet."""

    kind = "StatefulSet"
    notes = _notes(
        kind, "With `OrderedReady` it creates pods one by one, so a gang never gets all its pods"
    )
    no_lever = _no_lever(kind)
    rules = (ORDERED,)

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterator[dict[str, Any]]:
        """Yield its pods, of which an ordered set creates the first one and then one after the other."""
        spec = section(manifest, "spec")
        replicas = size(spec, "replicas")
        ordered = text(spec, _POLICY) in ("", _ORDERED)
        if ordered and not context.dependencies_met:
            replicas = min(1, replicas)
        start = size(spec, "ordinals", "start", default=0)
        for index in range(start, start + replicas):
            # The names and labels are stable (stateful_set_utils.go).
            name = f"{name_of(manifest)}-{index}"
            labels = {
                "statefulset.kubernetes.io/pod-name": name,
                "apps.kubernetes.io/pod-index": str(index),
            }
            yield pod_from(section(spec, "template"), name, labels=labels)


class Deployment(Replicas):
    """A Deployment."""

    kind = "Deployment"
    notes = _notes(kind, "During a rollout it has more pods than it requests")
    no_lever = _no_lever(kind)

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterator[dict[str, Any]]:
        """Yield its pods, which a ReplicaSet creates for it."""
        spec, name = section(manifest, "spec"), name_of(manifest)
        for _ in range(size(spec, "replicas")):
            yield pod_from(section(spec, "template"), generate_name=f"{name}-")

    def name_by_pod(self, pod: Pod) -> str:
        """Return the name of the Deployment that owns the ReplicaSet of a pod. Empty: no Deployment does."""
        made_by = pod.meta.controller
        if made_by is None or made_by.kind != _REPLICASET or made_by.group != _GROUP:
            return ""
        suffix = pod.labels.get(_HASH, "")
        if not suffix:
            return ""
        name, _, last_part = made_by.name.rpartition("-")
        return name if last_part == suffix else ""
