"""RayServices: applications on a RayCluster, and on a second one during an upgrade.

RayServices can be suspended since KubeRay 1.7. The CustomResourceDefinition of older releases drops the field. The
operator writes its version on the RayClusters that it creates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gangboard.decode.owner_meta import WireOwnerMeta
from gangboard.decode.wire import Wire, WireCondition, read_conditions, read_text
from gangboard.domain.action import Verb
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.objects import Condition, find_condition
from gangboard.domain.owner import Blueprint, Finish, Outcome, Owner
from gangboard.domain.pod import Pod
from gangboard.domain.text import count, label
from gangboard.domain.traits import KindTraits
from gangboard.owners.ray import applications, creation
from gangboard.owners.ray.applications import APPLICATION, WireServingCluster
from gangboard.owners.ray.raycluster import VERSION, RayKind
from gangboard.owners.ray.wire import (
    CLUSTER_KIND,
    CLUSTER_LABEL,
    GROUP_LABEL,
    SERVICE,
    WireClusterSpec,
    WireManagedSpec,
    is_cluster,
)
from gangboard.plugins.owner_kind import KindNotes
from gangboard.policy.phrases import pods_made

# In `detail`.
_ACTIVE, _PENDING = "active", "pending"

_SUSPENDS_SINCE = (1, 7)
_RELEASE = re.compile(r"v?(\d{1,4})\.(\d{1,4})\.")
_TIMED_OUT = "InitializingTimeout"


class _WireRayServiceSpec(WireManagedSpec):
    ray_cluster_config: WireClusterSpec | None = None


class _WireRayServiceStatus(Wire):
    conditions: list[WireCondition] | None = None
    active_service_status: WireServingCluster | None = None
    pending_service_status: WireServingCluster | None = None


class WireRayService(Wire):
    """The fields of a RayService that gangboard reads."""

    metadata: WireOwnerMeta
    spec: _WireRayServiceSpec | None = None
    status: _WireRayServiceStatus | None = None


class RayService(RayKind):
    """A RayService."""

    kind = SERVICE
    wire = WireRayService
    notes = KindNotes(
        gang="the RayService with its RayClusters (two during an upgrade) and their pods",
        units="those of each RayCluster",
        queues="Kueue",
        limits=(
            "It can be suspended since KubeRay 1.7, which then deletes its RayClusters and "
            "Services. Ready pods do not prove that its applications answer, so gangboard "
            "shows what Ray reports about them"
        ),
        tested="KubeRay 1.6.2 on 1.37; its suspension by the objects that 1.7.0 writes",
    )
    traits = KindTraits(ends_pods=True)
    makes = (CLUSTER_KIND,)
    child_label = CLUSTER_LABEL
    suspended_condition = "Suspended"
    rules = (*RayKind.rules, *applications.RULES)

    def build(self, wire: WireRayService, version: str) -> Owner:
        """Return the RayService with the roles of the RayCluster in its spec."""
        spec, status = wire.spec or _WireRayServiceSpec(), wire.status or _WireRayServiceStatus()
        conditions = read_conditions(status.conditions)
        return self.build_owner(
            wire,
            version,
            spec,
            spec.ray_cluster_config,
            finish=_finish(conditions),
            conditions=conditions,
            detail=_detail(status),
        )

    def complete(
        self, owner: Owner, children: Sequence[Owner], blueprints: Sequence[Blueprint]
    ) -> Owner:
        """Return the RayService with the Ray groups of its one or two RayClusters.

        The names of the groups begin with the name of their RayCluster.
        """
        clusters = [cluster for cluster in children if is_cluster(cluster)]
        if not clusters:
            return owner
        versions = [cluster.detail[VERSION] for cluster in clusters if VERSION in cluster.detail]
        return replace(
            owner,
            desired=sum(cluster.desired for cluster in clusters),
            roles=tuple(
                replace(role, name=f"{cluster.meta.ref.name}-{role.name}")
                for cluster in clusters
                for role in cluster.roles
            ),
            pod_requests=tuple(request for cluster in clusters for request in cluster.pod_requests),
            grace_seconds=max(cluster.grace_seconds for cluster in clusters),
            detail={**owner.detail, **({VERSION: min(versions)} if versions else {})},
        )

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterable[Manifest]:
        """Return its RayCluster."""
        return creation.service_objects(manifest)

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterable[ManifestFault]:
        """Return what KubeRay refuses."""
        return creation.service_faults(manifest)

    def is_current(self, owner: Owner, child: Owner) -> bool:
        """Return whether a RayCluster is active or pending. KubeRay deletes a replaced one after a minute."""
        names = _names(owner)
        return not is_cluster(child) or not names or child.meta.ref.name in names

    def makers(self, owner: Owner) -> Iterator[tuple[str, str, str]]:
        """Yield the active and the pending RayCluster."""
        for name in _names(owner):
            yield (*CLUSTER_KIND, name)

    def role_of(self, pod: Pod) -> str:
        """Return the Ray group of a pod, after the name of its RayCluster."""
        cluster, group = pod.labels.get(CLUSTER_LABEL), pod.labels.get(GROUP_LABEL)
        return f"{cluster}-{group}" if cluster and group else ""

    def refuses(self, owner: Owner, verb: Verb) -> str:
        """Return the refusal of a KubeRay release that cannot suspend RayServices, or an empty text."""
        version = owner.detail.get(VERSION, "")
        release = _RELEASE.match(version)
        if release is None or (int(release[1]), int(release[2])) >= _SUSPENDS_SINCE:
            return ""
        return (
            f"KubeRay {version} looks after {label(owner.meta.ref)}: RayServices can be suspended "
            "since v1.7."
        )

    def reactions(self, owner: Owner, target: Owner, verb: Verb) -> tuple[str, ...]:
        """Return the reactions of KubeRay."""
        if verb is Verb.RESUME:
            return (
                f"KubeRay makes another RayCluster. {pods_made(owner.desired)}",
                "Nothing answers before its applications are deployed on that.",
            )
        clusters = max(1, len(_names(owner)))
        return (
            f"KubeRay deletes its {count(clusters, 'RayCluster')} with {count(owner.desired, 'pod')}, and "
            "its Services: nothing answers until it is resumed.",
            "Once begun that runs to its end, whatever is asked for meanwhile.",
        )

    def facts(self, owner: Owner) -> dict[str, str]:
        """Return the RayClusters and the first application that is not running."""
        labels = {_ACTIVE: "RayCluster", _PENDING: "RayCluster in preparation"}
        rows = {text: owner.detail[key] for key, text in labels.items() if key in owner.detail}
        if APPLICATION in owner.detail:
            rows["Application"] = owner.detail[APPLICATION]
        return rows


def _finish(conditions: tuple[Condition, ...]) -> Finish | None:
    """Return the failure of a RayService that did not start in time.

    It stays that way until the RayService is re-created (isInitializingTimeout).
    """
    ready = find_condition(conditions, "Ready")
    if ready is None or ready.is_true or ready.reason != _TIMED_OUT:
        return None
    return Finish(Outcome.FAILED, ready.reason, ready.message, ready.since)


def _detail(status: _WireRayServiceStatus) -> dict[str, str]:
    active = status.active_service_status or WireServingCluster()
    pending = status.pending_service_status or WireServingCluster()
    detail = {
        _ACTIVE: read_text(active.ray_cluster_name),
        _PENDING: read_text(pending.ray_cluster_name),
        APPLICATION: applications.first_not_serving(active)
        or applications.first_not_serving(pending),
    }
    return {name: text for name, text in detail.items() if text}


def _names(service: Owner) -> list[str]:
    return [service.detail[key] for key in (_ACTIVE, _PENDING) if key in service.detail]
