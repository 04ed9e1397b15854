"""Queue entries of admission systems, such as a Workload of Kueue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gangboard.domain.eviction import EntryEviction
from gangboard.domain.objects import Condition, Meta, find_condition
from gangboard.domain.quota import FlavorAmount, QueueName
from gangboard.domain.suspension import FieldWriter


class QueueCode(StrEnum):
    """Reasons why a queue has not admitted an entry, by reason code. Permanent ones come first."""

    QUEUE_MISSING = "queue-missing"
    QUEUE_STOPPED = "queue-stopped"
    QUEUE_MISCONFIGURED = "queue-misconfigured"
    NO_MATCHING_FLAVOR = "no-matching-flavor"
    EXCEEDS_QUOTA = "exceeds-quota"
    NOT_REQUEUED = "not-requeued"
    REQUEUED = "requeued"
    PREEMPTED = "preempted"
    WAITING_FOR_QUOTA = "waiting-for-quota"
    TOPOLOGY = "topology-does-not-fit"
    ADMISSION_GATED = "admission-gated"
    ADMISSION_CHECK = "admission-check"
    QUEUE_EVALUATING = "queue-evaluating"

    def position(self) -> int:
        """Return the position in the order above. Pages show the lowest first."""
        return list(QueueCode).index(self)

    @property
    def is_final(self) -> bool:
        """Whether the entry stays unadmitted until a user changes an object."""
        return self.position() < QueueCode.REQUEUED.position()


@dataclass(frozen=True, slots=True)
class QueueMessage:
    """Message of an admission system about an entry that it has not admitted."""

    code: QueueCode
    cause: str = ""
    """Clause to follow a colon. Empty if it adds nothing to the code."""
    advice: str = ""
    command: tuple[str, ...] = ()
    """Arguments of a command that follows the advice."""
    label: str = ""
    """Source of the message, such as `QuotaReserved: Pending`."""
    text: str = ""
    """Text of the admission system."""
    since: datetime | None = None
    taker: str = ""
    """uid of the owner for which it was preempted."""
    about: QueueName | None = None
    """Stopped, inactive or missing queue that the message is about."""
    lacks: tuple[FlavorAmount, ...] = ()
    """Amounts that must become free, as far as the message has them."""
    is_out_of_line: bool = False
    """The system does not consider the entry until this state ends, whatever its position."""


@dataclass(frozen=True, slots=True)
class FinalRejection:
    """Final rejection of an entry. The admission system queues only a new entry in its place."""

    reason: str
    """Reason that the system reports."""
    cause: str
    """Clause to follow a colon."""
    advice: str
    """Sentence that says how to remove the cause and get a new entry."""
    command: tuple[str, ...] = ()
    """Arguments of the command for a new entry."""


@dataclass(frozen=True, slots=True)
class AssignedNodes:
    """Nodes that an admission system has assigned to some pods of an entry."""

    label: str
    value: str
    """Label value that identifies these pods."""
    nodes: Mapping[str, int]
    """Node → number of pods."""
    required: str = ""
    """Node label. All these pods must be on nodes with the same value of it. Empty without such a request."""
    is_sliced: bool = False
    """Parts of these pods must share a topology domain each."""


@dataclass(frozen=True, slots=True)
class NodeReplacement:
    """Pods for which an admission system would assign another node, if their node is cordoned and they end."""

    entry: Meta
    """The entry whose assignment changes."""
    pods: int
    topology: str = ""
    """Node label whose value must stay the same, or empty."""
    domain: str = ""
    """That value, of the other assigned nodes."""
    refusal: str = ""
    """Sentence about the effect if no other node suits."""


@dataclass(frozen=True, slots=True)
class LabelSources:
    """Sources of the node labels that some pods of an entry select."""

    label: str
    value: str
    """Label value that identifies these pods."""
    own: frozenset[str] = frozenset()
    """Node labels that the owner's own pod template selects."""
    flavors: tuple[str, ...] = ()
    """Names of the flavors of these pods. The system adds the node labels of a flavor to the pods."""
    checks: Mapping[str, str] = field(default_factory=dict)
    """Node label → name of the admission check that adds it."""


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """Queue entry of one owner, which its controller reference names."""

    meta: Meta
    queue: str = ""
    active: bool = True
    """Kueue's `spec.active`. False means deactivated, by a user or by Kueue."""
    deactivated_by: FieldWriter | None = None
    """Last writer of that field while the entry is deactivated."""
    admitted: bool = False
    conditions: tuple[Condition, ...] = ()
    owner_uid: str = ""
    """uid of the owner, by the controller reference, else by the label `kueue.x-k8s.io/job-uid`."""
    given_up: FinalRejection | None = None
    """None if the entry is queued, or will be queued once it is active."""
    message: QueueMessage | None = None
    """Message of its system while it is active and not admitted. None without a message."""
    priority: int = 0
    """Priority in the queue, highest first."""
    priority_class: str = ""
    """PriorityClass, if the entry has no value. `priority` has no meaning then."""
    priority_source: str = ""
    """Kind and name of the class that gave `priority`, such as `WorkloadPriorityClass research`, or empty."""
    in_line_since: datetime | None = None
    """Time that orders entries of the same priority, oldest first."""
    admitted_at: datetime | None = None
    """None if it is not admitted, or the time is unknown."""
    cluster: str = ""
    """Other cluster in which its system runs it, or empty."""
    offered_clusters: tuple[str, ...] = ()
    """Other clusters to which its system offers it, until a cluster of them admits it."""
    has_quota: bool = False
    """Its quota is reserved, whether it is admitted yet or not."""
    admitted_by: str = ""
    """Name of the queue whose quota it has. Empty without quota."""
    holds: tuple[FlavorAmount, ...] = ()
    """Amounts of that quota that it uses."""
    asks: tuple[FlavorAmount, ...] = ()
    """Amounts that it requests in any flavor while it waits, as far as known."""
    assigned: tuple[AssignedNodes, ...] = ()
    """Nodes that its queue assigned to its pods, if the queue assigns nodes."""
    label_sources: tuple[LabelSources, ...] = ()
    """Sources of node labels in the node selector of its pods, while it has quota."""
    asked_pods: int = 0
    """Requested pods that are not done, if it was admitted with fewer. Else 0."""
    admitted_pods: int = 0
    """Number of admitted pods in this case."""
    failed_nodes: tuple[str, ...] = ()
    """Failed assigned nodes that its system wants to replace."""
    replaces: str = ""
    """Name of the owner's entry that this one replaces once it is admitted."""
    is_variant: bool = False
    """One of several alternatives for another entry, which represents all of them."""
    evicted: EntryEviction | None = None
    """Its last eviction, until it is admitted again."""
    group_pods: int = 0
    """Number of pods that it admits together, if pods name the entry themselves. 0 if it has an owner."""

    @property
    def takers(self) -> frozenset[str]:
        """uids of the owners for which it was preempted."""
        told = (self.message, self.evicted)
        return frozenset(item.taker for item in told if item is not None and item.taker)

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for quota in its queue."""
        return self.is_in_use and self.active and not self.has_quota and not self.is_variant

    @property
    def stands_in_line(self) -> bool:
        """Whether its system considers it after the entries before it are admitted or cannot be."""
        return self.is_waiting and not (self.message is not None and self.message.is_out_of_line)

    @property
    def is_in_use(self) -> bool:
        """Whether it is neither finished nor being deleted. Old entries finish before they are deleted."""
        finished = find_condition(self.conditions, "Finished")
        is_finished = finished is not None and finished.is_true
        return self.meta.deleting_since is None and not is_finished
