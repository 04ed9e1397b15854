"""Wire structs of Workloads of Kueue, for v1beta1 and v1beta2.

Only the fields for the priority class differ.
"""

from __future__ import annotations

import msgspec

from gangboard.decode.managed_fields import NO_ENTRIES
from gangboard.decode.quantities import Quantities
from gangboard.decode.wire import Int32, Wire, WireCondition, WireMeta
from gangboard.queues.kueue.pod_sets import (
    WireCheckUpdates,
    WireFlavorNames,
    WirePodSet,
    WireTopologyAssignment,
)


class WireWorkloadLabels(Wire):
    """Labels of a Workload."""

    job_uid: str | None = msgspec.field(default=None, name="kueue.x-k8s.io/job-uid")


class WireWorkloadAnnotations(Wire):
    """Annotations of a Workload."""

    replaces: str | None = msgspec.field(
        default=None, name="kueue.x-k8s.io/workload-slice-replacement-for"
    )
    is_group: str | None = msgspec.field(default=None, name="kueue.x-k8s.io/is-group-workload")


class WireWorkloadMeta(WireMeta):
    """`metadata` of a Workload."""

    labels: WireWorkloadLabels | None = None
    annotations: WireWorkloadAnnotations | None = None
    managed_fields: msgspec.Raw = NO_ENTRIES


class WirePodCount(Wire):
    """One of `status.reclaimablePods`."""

    name: str = ""
    count: Int32 | None = None


class WireFailedNode(Wire):
    """One of `status.unhealthyNodes`."""

    name: str | None = None


class WirePriorityClass(Wire):
    """`spec.priorityClassRef`."""

    kind: str | None = None
    name: str | None = None


class WireWorkloadSpec(Wire):
    """`spec` of a Workload."""

    queue_name: str | None = None
    active: bool | None = None
    priority: Int32 | None = None
    priority_class_ref: WirePriorityClass | None = None
    priority_class_name: str | None = None
    """In v1beta1."""
    priority_class_source: str | None = None
    """In v1beta1."""
    pod_sets: list[WirePodSet] | None = None


class WireAdmissionCheck(WireCheckUpdates):
    """One of `status.admissionChecks`."""

    state: str | None = None
    message: str | None = None


class WireRequeueState(Wire):
    """`status.requeueState`."""

    count: int | None = None
    requeue_at: str | None = None


class WireEviction(Wire):
    """One of `status.schedulingStats.evictions`."""

    reason: str | None = None
    underlying_cause: str | None = None
    count: int | None = None


class WireSchedulingStats(Wire):
    """`status.schedulingStats`."""

    evictions: list[WireEviction] | None = None


class WirePodSetAssignment(WireFlavorNames):
    """One of `status.admission.podSetAssignments`."""

    topology_assignment: WireTopologyAssignment | None = None
    resource_usage: Quantities | None = None
    count: Int32 | None = None


class WireAdmission(Wire):
    """`status.admission`."""

    cluster_queue: str | None = None
    pod_set_assignments: list[WirePodSetAssignment] | None = None


class WirePodSetRequest(Wire):
    """One of `status.resourceRequests`."""

    resources: Quantities | None = None


class WireWorkloadStatus(Wire):
    """`status` of a Workload."""

    conditions: list[WireCondition] | None = None
    admission: WireAdmission | None = None
    resource_requests: list[WirePodSetRequest] | None = None
    admission_checks: list[WireAdmissionCheck] | None = None
    requeue_state: WireRequeueState | None = None
    reclaimable_pods: list[WirePodCount] | None = None
    unhealthy_nodes: list[WireFailedNode] | None = None
    cluster_name: str | None = None
    nominated_cluster_names: list[str] | None = None
    scheduling_stats: WireSchedulingStats | None = None


class WireWorkload(Wire):
    """The fields of a Workload of Kueue that gangboard reads."""

    metadata: WireWorkloadMeta
    spec: WireWorkloadSpec | None = None
    status: WireWorkloadStatus | None = None
