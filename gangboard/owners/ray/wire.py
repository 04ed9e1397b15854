"""Fields of Ray's objects, as KubeRay 1.5 to 1.7 serve them (ray-operator/apis/ray/v1)."""

from __future__ import annotations

import msgspec

from gangboard.decode.annotations import WireActionAnnotations
from gangboard.decode.jobs import WirePodTemplate, WireTemplateSpec, template_spec
from gangboard.decode.key_fields import KeyField
from gangboard.decode.podspec import pod_requests
from gangboard.decode.wire import Int32, Wire, WireCondition
from gangboard.domain.owner import Owner, ReportedCounts, Role

GROUP = "ray.io"
CLUSTER, JOB, SERVICE = "RayCluster", "RayJob", "RayService"
CLUSTER_KIND = GROUP, CLUSTER
CLUSTER_LABEL, GROUP_LABEL = "ray.io/cluster", "ray.io/group"
ORIGIN_LABEL = "ray.io/originated-from-cr-name"
"""Label with the name of the RayJob or RayService that an object was created for (constant.go)."""
HEAD = "headgroup"
"""Name of the head group in `GROUP_LABEL` (constant.go)."""

GANG_LABEL = "ray.io/gang-scheduling-enabled"
AUTOSCALED = "autoscaled"
"""Key in `Owner.detail` if Ray's autoscaler is on."""
_NOUN = "Ray group"


class WireRayLabels(Wire):
    """Labels of a RayJob, RayCluster or RayService."""

    gang: str | None = msgspec.field(default=None, name=GANG_LABEL)


class WireRayAnnotations(WireActionAnnotations):
    """Annotations of a RayJob, RayCluster or RayService."""

    kuberay: str | None = msgspec.field(default=None, name="ray.io/kuberay-version")
    """Version of KubeRay, on the RayClusters of a RayService (rayservice_controller.go)."""


class _WireHead(Wire):
    template: WirePodTemplate | None = None


class _WireWorkers(Wire):
    group_name: str = ""
    replicas: Int32 | None = None
    min_replicas: Int32 | None = None
    max_replicas: Int32 | None = None
    num_of_hosts: Int32 | None = None
    suspend: bool | None = None
    template: WirePodTemplate | None = None


class WireManagedSpec(Wire):
    """Common fields of `spec` of the three kinds."""

    suspend: bool | None = None
    managed_by: str | None = None


class WireClusterSpec(WireManagedSpec):
    """`spec` of a RayCluster, also inside a RayJob or RayService."""

    head_group_spec: KeyField[_WireHead | None] = None
    worker_group_specs: list[_WireWorkers] | None = None
    enable_in_tree_autoscaling: bool | None = None


class WireRayStatus(Wire):
    """Common fields of `status` of RayClusters and RayServices."""

    conditions: list[WireCondition] | None = None


class WireClusterStatus(WireRayStatus):
    """`status` of a RayCluster, also inside the status of a RayJob."""

    desired_worker_replicas: Int32 | None = None
    ready_worker_replicas: Int32 | None = None

    @property
    def reported(self) -> ReportedCounts | None:
        """The ready workers. None: no worker is desired. The head has no count."""
        desired = self.desired_worker_replicas or 0
        return (
            ReportedCounts(self.ready_worker_replicas or 0, desired, "worker")
            if desired > 0
            else None
        )


def roles_of(spec: WireClusterSpec, faults: list[str]) -> tuple[Role, ...]:
    """Return the head and the worker groups as roles, and append malformed requests to `faults`."""
    roles = [_role(HEAD, 1, 1, _pod(spec.head_group_spec), faults)]
    for workers in spec.worker_group_specs or ():
        hosts, lowest = max(1, workers.num_of_hosts or 1), max(0, workers.min_replicas or 0)
        replicas = _replicas(workers, lowest)
        # Without an autoscaler the work starts once all workers exist (`state: ready`, calculateStatus).
        enough = max(1, lowest) * hosts if spec.enable_in_tree_autoscaling else replicas * hosts
        quorum = enough if enough < replicas * hosts else None
        roles.append(
            _role(workers.group_name, replicas, hosts, _pod(workers), faults, quorum=quorum)
        )
    return tuple(roles)


def _replicas(workers: _WireWorkers, lowest: int) -> int:
    """Return the replicas for which KubeRay creates pods (GetWorkerGroupDesiredReplicas in util.go)."""
    if workers.suspend:
        return 0
    desired = max(workers.replicas or 0, lowest)
    return desired if workers.max_replicas is None else min(desired, max(0, workers.max_replicas))


def _pod(group: _WireHead | _WireWorkers | None) -> WireTemplateSpec:
    return template_spec(group.template if group is not None else None)


def _role(
    name: str,
    replicas: int,
    hosts: int,
    pod: WireTemplateSpec,
    faults: list[str],
    *,
    quorum: int | None = None,
) -> Role:
    requests, malformed = pod_requests(pod)
    faults += [f"in group {name} {fault}" for fault in malformed]
    return Role(
        name, replicas, hosts, requests, group_name=pod.group_name, noun=_NOUN, quorum=quorum
    )


def grace_of(spec: WireClusterSpec) -> int:
    """Return the longest grace period of the pod templates, in seconds."""
    groups = (spec.head_group_spec, *(spec.worker_group_specs or ()))
    return max(_pod(group).grace_seconds for group in groups)


def is_cluster(owner: Owner) -> bool:
    """Return whether an owner is a RayCluster."""
    return (owner.meta.ref.group, owner.meta.ref.kind) == CLUSTER_KIND
