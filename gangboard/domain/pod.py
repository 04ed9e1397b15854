"""A member of a gang, as narrow as the rules need it."""

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
"""`spec.schedulerName` of a pod that asks for none."""
_LONGEST_GRACE = 100 * 365 * 86_400
"""Seconds. The API bounds the field by 64 bits, a calendar has room for fewer."""
GROUP_WAIT_TEXTS = (
    "pod is schedulable but gang scheduling failed",
    "pod was not evaluated: gang scheduling aborted",
)
"""Scheduler texts for pods that are not the reason why their group waits."""


@dataclass(frozen=True, slots=True)
class Container:
    """State of one container. `state` is waiting, running, terminated, or empty when not reported."""

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
    """One pod: only the fields that rules and pages read (no env, args, annotations)."""

    meta: Meta
    phase: str
    """As served; an unknown word is kept. Empty when the pod has no status yet."""
    node: str = ""
    nominated_node: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    priority_class: str = ""
    gates: tuple[str, ...] = ()
    group_name: str = ""
    """`spec.schedulingGroup.podGroupName`: the core PodGroup in the same namespace, or empty.

    On 1.35 `WorkloadEntry.name` of `spec.workloadRef`, such as `run/workers/0`.
    """
    scheduled: Condition | None = None
    """The condition `PodScheduled`."""
    ready: Condition | None = None
    disruption: Condition | None = None
    """The condition `DisruptionTarget`."""
    set_up: Condition | None = None
    """The condition `PodReadyToStartContainers`: its volumes, sandbox and network are there."""
    containers: tuple[Container, ...] = ()
    requests: dict[str, Decimal] = field(default_factory=dict)
    """What the scheduler counts, in base units (cores, bytes, devices)."""
    grace_seconds: int | None = None
    """`metadata.deletionGracePeriodSeconds` of a pod that is being deleted."""
    labels: dict[str, str] = field(default_factory=dict)
    """All of them: the anti-affinity of other pods can be about any."""
    reason: str = ""
    message: str = ""
    start_time: datetime | None = None
    needs: PodConstraints = NO_POD_CONSTRAINTS
    """What it asks of a node besides `requests`."""
    unread_requests: tuple[str, ...] = ()
    """Resources whose request was malformed; they are not in `requests`."""
    stays: bool = False
    """Made by a DaemonSet or by its node: it never leaves to make room."""
    preempts: bool = True
    """False with `preemptionPolicy: Never`."""
    deadline_seconds: int | None = None
    """`spec.activeDeadlineSeconds`: it is stopped that long after `start_time` at the latest."""
    stop_seconds: int = 30
    """`spec.terminationGracePeriodSeconds`: how long it may go on once it is stopped."""
    provisioning_request: str = ""
    """The ProvisioningRequest in its namespace that it consumes, or empty."""
    group_kind: str = ""
    """Kind and API group of the group that it names by a label or an annotation, `PodGroup.toys.example`; empty
    for a core one."""
    ignores_group: bool = False
    """Its scheduler does not read groups of that API: the name is decoration."""
    other_scheduler: bool = False
    """Its scheduler is another one than that of Kubernetes, with rules that arithmetic does not know."""
    is_placeholder: bool = False
    """Its scheduler made it to hold the place of a member (`GroupingAPI.placeholders`)."""
    queue: str = ""
    """The queue of its scheduler that it names itself (`GroupingAPI.queue_marks`), or empty."""
    claims: tuple[PodClaim, ...] = ()
    """The PersistentVolumeClaims and ResourceClaims that must be there before it gets a node."""

    @property
    def is_finished(self) -> bool:
        """Succeeded or Failed: the scheduler no longer counts it as a member."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def is_live(self) -> bool:
        """Not finished: the scheduler counts it for the quorum, also while it terminates."""
        return self.phase not in ("Succeeded", "Failed")

    @property
    def is_terminating(self) -> bool:
        """Deletion was asked for."""
        return self.meta.deleting_since is not None

    @property
    def deletion_requested_at(self) -> datetime | None:
        """When deletion was asked for: its `deletionTimestamp` is when its grace is over."""
        if self.meta.deleting_since is None:
            return None
        grace = min(self.grace_seconds or 0, _LONGEST_GRACE)
        return self.meta.deleting_since - timedelta(seconds=grace)

    @property
    def is_placed(self) -> bool:
        """Bound to a node. A nominated node is not a placement."""
        return bool(self.node)

    @property
    def is_untried(self) -> bool:
        """No scheduler has said a word about it.

        `SchedulingGated` is the API server's: written when the pod is made, and not taken back when
        its gates go (pkg/registry/core/pod/strategy.go).
        """
        if self.scheduled is None:
            return True
        return self.scheduled.reason == "SchedulingGated" and not self.gates

    @property
    def unscheduled_reason(self) -> str:
        """The reason of its condition `PodScheduled` while that is False, in its scheduler's words; else empty."""
        said = self.scheduled
        return said.reason if said is not None and said.is_false else ""

    @property
    def is_waiting_for_group(self) -> bool:
        """True if the scheduler says that not this pod, but another of its group, finds no node.

        Texts as planned for later releases (kubernetes#141025). Its condition is False all the same.
        """
        said = self.scheduled
        return (
            said is not None
            and said.is_false
            and any(one in said.message for one in GROUP_WAIT_TEXTS)
        )

    @property
    def is_waiting_on_permit(self) -> bool:
        """1.35: the scheduler keeps a node for it until the rest of its group fits, too.

        It lets go after five minutes, and tries again. Meanwhile there is a nominated node and no
        condition, or that of an earlier try. A pod that preempts has a nominated node as well; its
        condition has no word of preemption (both observed on 1.35.4).
        """
        if self.is_placed or not self.nominated_node or read_entry(self.group_name) is None:
            return False
        said = self.scheduled.message if self.scheduled is not None else ""
        return (
            self.is_untried
            or not said
            or "preemption:" in said
            or "at plugin GangScheduling" in said
        )

    @property
    def is_ready(self) -> bool:
        """Runs and passes its readiness; a terminating or finished pod is not ready."""
        return (
            self.phase == "Running"
            and self.ready is not None
            and self.ready.status == "True"
            and self.meta.deleting_since is None
        )
