"""RayClusters: a head and groups of workers.

What its status says of being ready is of the first time only (`RayClusterProvisioned`) or is not taken back (`state`), so
pods are counted (calculateStatus in raycluster_controller.go of 1.6.2).
"""

from __future__ import annotations

from gangboard.decode.fitting import key_fields
from gangboard.decode.wire import Wire, read_conditions, read_text
from gangboard.domain.action import Verb
from gangboard.domain.api_resource import Resource
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.text import count
from gangboard.domain.traits import KindTraits
from gangboard.owners.ray import gangs, reasons, unknown_reasons
from gangboard.owners.ray.wire import (
    CLUSTER,
    CLUSTER_LABEL,
    GROUP,
    GROUP_LABEL,
    OWN_MANAGERS,
    WireClusterSpec,
    WireClusterStatus,
    WireRayAnnotations,
    WireRayMeta,
    build_owner,
)
from gangboard.plugins.owner_kind import KindNotes, OwnerKind
from gangboard.policy.phrases import pods_made

VERSION = "KubeRay"  # in `detail`


class WireRayCluster(Wire):
    """A RayCluster as narrow as it is kept."""

    metadata: WireRayMeta
    spec: WireClusterSpec | None = None
    status: WireClusterStatus | None = None


def _build(wire: WireRayCluster, version: str) -> Owner:
    status = wire.status or WireClusterStatus()
    kuberay = read_text((wire.metadata.annotations or WireRayAnnotations()).kuberay)
    return build_owner(
        CLUSTER,
        version,
        wire.metadata,
        wire.spec or WireClusterSpec(),
        wire.spec,
        conditions=read_conditions(status.conditions),
        reported=status.reported,
        detail={VERSION: kuberay} if kuberay else {},
    )


def _role_of(pod: Pod) -> str:
    return pod.labels.get(GROUP_LABEL, "")


def _reactions(cluster: Owner, _target: Owner, verb: Verb) -> tuple[str, ...]:
    pods = cluster.desired
    if verb is Verb.SUSPEND:
        return (
            f"KubeRay deletes its {count(pods, 'pod')}, the head too: what Ray keeps in memory is "
            "lost, and the work that runs on it fails.",
            "Once begun that runs to its end, whatever is asked for meanwhile.",
        )
    return (pods_made(pods), "Ray starts empty: work has to be submitted again.")


def tries_again(_owner: Owner) -> bool:
    """Whether pods that end are made anew: KubeRay deletes them and makes others (shouldDeletePod)."""
    return True


OWNER = OwnerKind(
    resource=Resource(
        group=GROUP,
        plural="rayclusters",
        kind=CLUSTER,
        versions=("v1",),
        wire=WireRayCluster,
        model=Owner,
        build=_build,
        needed=True,
        decoder_version=3,
        fields=key_fields(WireRayCluster),
    ),
    label=CLUSTER,
    notes=KindNotes(
        gang="the RayCluster with its pods, unless a RayJob or RayService has made it",
        units="the PodGroups that its pods name, else the head and each group of workers; with the "
        "autoscaler `minReplicas` as quorum",
        queues="Kueue",
        limits="a suspension that has begun runs to its end, and Ray keeps nothing. What its status "
        "says of being ready is not taken back: pods are counted. Workers that wait for the head "
        "(`wait-gcs-ready`) are a symptom. KubeRay 1.7 makes core groups with `v1alpha2` only, and none with "
        "the autoscaler",
        tested="KubeRay 1.6.2 on 1.37",
    ),
    own_managers=OWN_MANAGERS,
    makes=(),
    levers=("suspend",),
    suspended_condition="RayClusterSuspended",
    # It makes a PodGroup of this API once, and changes it no more when it is scaled.
    traits=KindTraits(ends_pods=True, leaves_groups=frozenset({"scheduling.x-k8s.io"})),
    tries_again=tries_again,
    # Of Jobs it makes one only, that clears a Redis once it is deleted.
    child_label=CLUSTER_LABEL,
    pod_label=CLUSTER_LABEL,
    role_of=_role_of,
    event_reasons={
        "InvalidRayClusterSpec": "The RayCluster spec is invalid NAMESPACE/NAME: ",
        "InvalidRayClusterMetadata": "The RayCluster metadata is invalid NAMESPACE/NAME: ",
    },
    rules=(*reasons.RULES, *unknown_reasons.RULES, gangs.NOT_GANGED),
    evidence=reasons.evidence,
    reactions=_reactions,
)
