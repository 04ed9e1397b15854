"""Pods and their containers, the members of gangs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from gangboard.domain.group import read_entry
from gangboard.domain.objects import Condition, Meta
from gangboard.domain.pod_claims import PodClaim
from gangboard.domain.pod_constraints import PodConstraints

NO_POD_CONSTRAINTS = PodConstraints()
STOCK_SCHEDULER = "default-scheduler"
"""`spec.schedulerName` of a pod that names no scheduler."""
_LONGEST_GRACE = 100 * 365 * 86_400
"""Limit in seconds. The API allows 64 bits, which exceeds the range of datetime."""
GROUP_WAIT_TEXTS = (
    "pod is schedulable but gang scheduling failed",
    "pod was not evaluated: gang scheduling aborted",
)
"""Texts of the scheduler for a pod that only waits for another pod of its group."""


@dataclass(frozen=True, slots=True)
class Container:
    """State of a container. `state` is waiting, running, terminated, or empty if not reported."""

    name: str
    init: bool
    ready: bool
    restarts: int
    state: str = ""
    reason: str = ""
    message: str = ""
    exit_code: int | None = None
    last_reason: str = ""
    """Reason of the last termination, such as `Error` or `OOMKilled`."""
    last_exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Pod:
    """Pod with the fields that rules and pages read (no env, args or annotations)."""

    meta: Meta
    phase: str
    """Phase as served, even if unknown. Empty if the pod has no status yet."""
    node: str = ""
    nominated_node: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    priority_class: str = ""
    gates: tuple[str, ...] = ()
    group_name: str = ""
    """Core PodGroup in its namespace (`spec.schedulingGroup.podGroupName`), or empty.

    On 1.35 it is the `WorkloadEntry.name` of `spec.workloadRef`, such as `run/workers/0`.
    """
    scheduled: Condition | None = None
    """Condition `PodScheduled`."""
    ready: Condition | None = None
    disruption: Condition | None = None
    """Condition `DisruptionTarget`."""
    set_up: Condition | None = None
    """Condition `PodReadyToStartContainers`, true once volumes, sandbox and network exist."""
    containers: tuple[Container, ...] = ()
    requests: dict[str, Decimal] = field(default_factory=dict)
    """Resource requests in base units (cores, bytes, devices), as the scheduler counts them."""
    grace_seconds: int | None = None
    """`metadata.deletionGracePeriodSeconds` of a pod that is being deleted."""
    labels: dict[str, str] = field(default_factory=dict)
    """All labels, because the anti-affinity of other pods can select any."""
    reason: str = ""
    message: str = ""
    start_time: datetime | None = None
    needs: PodConstraints = NO_POD_CONSTRAINTS
    """Requirements on a node besides `requests`."""
    unread_requests: tuple[str, ...] = ()
    """Resources with a malformed request, which `requests` does not have."""
    stays: bool = False
    """Pinned to its node, because a DaemonSet or the kubelet created it. It never leaves for other pods."""
    preempts: bool = True
    """False with `preemptionPolicy: Never`."""
    deadline_seconds: int | None = None
    """`spec.activeDeadlineSeconds`, counted from `start_time`."""
    stop_seconds: int = 30
    """`spec.terminationGracePeriodSeconds`, the time it may take to stop."""
    provisioning_request: str = ""
    """ProvisioningRequest in its namespace that it consumes, or empty."""
    group_kind: str = ""
    """Kind and API group of a group named by a label or annotation, such as `PodGroup.toys.example`.

    Empty for a core group."""
    ignores_group: bool = False
    """Its scheduler does not read groups of that API, so the name has no effect."""
    other_scheduler: bool = False
    """Its scheduler is not kube-scheduler, and the arithmetic does not know the scheduler's rules."""
    is_placeholder: bool = False
    """Its scheduler created it to reserve the place of a member (`GroupingAPI.placeholders`)."""
    queue: str = ""
    """Queue of its scheduler that the pod itself names (`GroupingAPI.queue_marks`), or empty."""
    claims: tuple[PodClaim, ...] = ()
    """PersistentVolumeClaims and ResourceClaims that must exist before it gets a node."""

    @property
    def is_finished(self) -> bool:
        """Whether it succeeded or failed. The scheduler no longer counts it as a member."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def is_live(self) -> bool:
        """Whether it is not finished. The scheduler counts it for the quorum, even while it terminates."""
        return self.phase not in ("Succeeded", "Failed")

    @property
    def is_terminating(self) -> bool:
        """Whether it is being deleted."""
        return self.meta.deleting_since is not None

    @property
    def deletion_requested_at(self) -> datetime | None:
        """Time of the deletion request. `deletionTimestamp` is later, by the grace period."""
        if self.meta.deleting_since is None:
            return None
        grace = min(self.grace_seconds or 0, _LONGEST_GRACE)
        return self.meta.deleting_since - timedelta(seconds=grace)

    @property
    def is_placed(self) -> bool:
        """Whether it is bound to a node. A nominated node does not count."""
        return bool(self.node)

    @property
    def is_untried(self) -> bool:
        """Whether no scheduler has reported about it.

        The API server writes `SchedulingGated` when the pod is created, and never clears it when the gates
        are removed (pkg/registry/core/pod/strategy.go).
        """
        if self.scheduled is None:
            return True
        return self.scheduled.reason == "SchedulingGated" and not self.gates

    @property
    def unscheduled_reason(self) -> str:
        """Reason of its condition `PodScheduled` if that is False, as its scheduler wrote it. Else empty."""
        condition = self.scheduled
        return condition.reason if condition is not None and condition.is_false else ""

    @property
    def is_waiting_for_group(self) -> bool:
        """Whether the scheduler reports that another pod of its group finds no node.

        The condition of this pod is False as well. The texts are planned for later releases (kubernetes#141025).
        """
        condition = self.scheduled
        return (
            condition is not None
            and condition.is_false
            and any(text in condition.message for text in GROUP_WAIT_TEXTS)
        )

    @property
    def is_waiting_on_permit(self) -> bool:
        """Whether the scheduler of 1.35 reserves a node for it until the rest of its group fits.

        The reservation ends after five minutes, and the scheduler tries again. Meanwhile the pod has a
        nominated node, and no condition or that of an earlier attempt. A preempting pod also has a nominated
        node, but the message of its condition does not mention preemption (both observed on 1.35.4).
        """
        if self.is_placed or not self.nominated_node or read_entry(self.group_name) is None:
            return False
        message = self.scheduled.message if self.scheduled is not None else ""
        return (
            self.is_untried
            or not message
            or "preemption:" in message
            or "at plugin GangScheduling" in message
        )

    @property
    def is_ready(self) -> bool:
        """Whether it runs and is ready. A terminating or finished pod is not ready."""
        return (
            self.phase == "Running"
            and self.ready is not None
            and self.ready.status == "True"
            and self.meta.deleting_since is None
        )
