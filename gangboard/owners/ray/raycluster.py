"""RayClusters (a head and groups of workers), and the common base of the Ray kinds.

gangboard counts pods instead of trusting the status. `RayClusterProvisioned` is only about the first start, and `state`
stays `ready` for ever (calculateStatus in raycluster_controller.go of 1.6.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gangboard.decode.jobs import requests_of, size_of
from gangboard.decode.owner_meta import WireOwnerMeta, decode_annotations, decode_labels
from gangboard.decode.problems import raise_for_faults
from gangboard.decode.wire import Wire, read_conditions, read_text
from gangboard.domain.action import Verb
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.group import Group, GroupFate
from gangboard.domain.owner import GangRequest, Owner
from gangboard.domain.pod import Pod
from gangboard.domain.text import count
from gangboard.domain.traits import KindTraits
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit
from gangboard.owners.ray import creation, reasons, unknown_conditions
from gangboard.owners.ray.wire import (
    AUTOSCALED,
    CLUSTER,
    CLUSTER_LABEL,
    GANG_LABEL,
    GROUP,
    GROUP_LABEL,
    WireClusterSpec,
    WireClusterStatus,
    WireManagedSpec,
    WireRayAnnotations,
    WireRayLabels,
    grace_of,
    roles_of,
)
from gangboard.plugins.child_manifests import section
from gangboard.plugins.owner_kind import KindNotes, OwnerKind
from gangboard.plugins.rule import UnitRule
from gangboard.policy.phrases import pods_made

VERSION = "KubeRay"  # in `detail`
_CORE_GROUPS = "scheduling.k8s.io"
_CREATES_GROUPS = "1.7."
"""The release of KubeRay that creates core groups."""


class WireRayCluster(Wire):
    """The fields of a RayCluster that gangboard reads."""

    metadata: WireOwnerMeta
    spec: WireClusterSpec | None = None
    status: WireClusterStatus | None = None


class RayKind(OwnerKind):
    """Base of the Ray kinds."""

    group = GROUP
    versions = ("v1",)
    own_managers = ("ray.io/kuberay-operator",)
    levers = ("suspend",)
    rules: tuple[UnitRule, ...] = (*reasons.RULES, *unknown_conditions.RULES)

    def build_owner(
        self,
        wire: Any,
        version: str,
        spec: WireManagedSpec,
        cluster: WireClusterSpec | None,
        **fields: Any,
    ) -> Owner:
        """Return an owner with the roles and requests of its RayCluster spec, and these fields.

        Raises PartlyDecoded with the owner for malformed requests.
        """
        faults: list[str] = []
        if cluster is not None and cluster.enable_in_tree_autoscaling:
            fields["detail"] = {**fields.get("detail", {}), AUTOSCALED: "yes"}
        roles = roles_of(cluster, faults) if cluster is not None else ()
        gang = decode_labels(wire.metadata, WireRayLabels).gang
        owner = Owner(
            meta=self.read_meta(wire, version),
            suspended=bool(spec.suspend),
            roles=roles,
            pod_requests=requests_of(roles),
            # A flag of the operator selects the API of the group. No object shows the flag.
            gang_request=None if gang is None else GangRequest("gang", api=GANG_LABEL),
            grace_seconds=grace_of(cluster or WireClusterSpec()),
            **self.read_control(wire, spec.managed_by),
            **{"desired": size_of(roles), **fields},
        )
        return raise_for_faults(owner, tuple(faults))

    def tries_again(self, owner: Owner) -> bool:
        """Return True, because KubeRay replaces pods that end (shouldDeletePod)."""
        return True

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterable[Manifest]:
        """Return its pods."""
        return creation.cluster_pods(manifest)

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterable[ManifestFault]:
        """Return what KubeRay refuses."""
        spec = section(manifest, "spec")
        return (*creation.name_faults(manifest), *creation.cluster_faults(spec, "spec"))

    def role_of(self, pod: Pod) -> str:
        """Return the Ray group of a pod."""
        return pod.labels.get(GROUP_LABEL, "")

    def evidence(self, unit: Unit) -> tuple[Evidence, ...]:
        """Return KubeRay's condition of a head that is not ready."""
        return reasons.evidence(unit)


class RayCluster(RayKind):
    """A RayCluster."""

    kind = CLUSTER
    wire = WireRayCluster
    notes = KindNotes(
        gang="the RayCluster with its pods, unless a RayJob or RayService created it",
        units=(
            "the PodGroups that its pods name; without any, the head and each group of "
            "workers, with `minReplicas` as quorum if the autoscaler is on"
        ),
        queues="Kueue",
        limits=(
            "A suspension that has begun runs to its end, and Ray saves no state. gangboard "
            "counts pods, because the status keeps an old ready state. Workers that wait "
            "for the head (`wait-gcs-ready`) are a symptom. KubeRay 1.7 creates core groups "
            "in `v1alpha2` only, and none with the autoscaler"
        ),
        tested="KubeRay 1.6.2 on 1.37",
    )
    # KubeRay creates a PodGroup of this API once, and does not update it when the RayCluster is scaled.
    traits = KindTraits(ends_pods=True, leaves_groups=frozenset({"scheduling.x-k8s.io"}))
    makes = ()
    # Its only Job clears a Redis after the RayCluster was deleted.
    child_label = CLUSTER_LABEL
    pod_label = CLUSTER_LABEL
    suspended_condition = "RayClusterSuspended"
    event_reasons: Mapping[str, str] = {
        "InvalidRayClusterSpec": "The RayCluster spec is invalid NAMESPACE/NAME: ",
        "InvalidRayClusterMetadata": "The RayCluster metadata is invalid NAMESPACE/NAME: ",
    }

    def build(self, wire: WireRayCluster, version: str) -> Owner:
        """Return the RayCluster with a role for its head and each group of workers."""
        status = wire.status or WireClusterStatus()
        kuberay = read_text(decode_annotations(wire.metadata, WireRayAnnotations).kuberay)
        return self.build_owner(
            wire,
            version,
            wire.spec or WireClusterSpec(),
            wire.spec,
            conditions=read_conditions(status.conditions),
            reported=status.reported,
            detail={VERSION: kuberay} if kuberay else {},
        )

    def reactions(self, owner: Owner, target: Owner, verb: Verb) -> tuple[str, ...]:
        """Return the reactions of KubeRay."""
        pods = owner.desired
        if verb is Verb.SUSPEND:
            return (
                f"KubeRay deletes its {count(pods, 'pod')}, the head too: what Ray keeps in memory is "
                "lost, and the work that runs on it fails.",
                "Once begun that runs to its end, whatever is asked for meanwhile.",
            )
        return (pods_made(pods), "Ray starts empty: work has to be submitted again.")

    def group_fate(
        self, owner: Owner, group: Group, kubernetes: tuple[int, int] | None
    ) -> GroupFate | None:
        """Return that KubeRay 1.7 deletes its core groups (kuberay#4962). Other versions are not known.

        No earlier release creates core groups. Only RayClusters of a RayService name their version.
        """
        version = owner.detail.get(VERSION, _CREATES_GROUPS).removeprefix("v")
        if not version.startswith(_CREATES_GROUPS) or group.meta.ref.group != _CORE_GROUPS:
            return None
        return GroupFate(is_kept=False, design="kuberay#4962")
