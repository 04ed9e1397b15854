"""What an admission system keeps for an owner: a Workload of Kueue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gangboard.domain.objects import Condition, Meta, find_condition
from gangboard.domain.quota import FlavorAmount, QueueName
from gangboard.domain.suspension import FieldWriter


class QueueCode(StrEnum):
    """Why a queue has not admitted an entry, as the reason codes say it; what can never be comes first."""

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
        """0 for what has to be told first."""
        return list(QueueCode).index(self)

    @property
    def is_final(self) -> bool:
        """Whether it stays so until somebody changes something."""
        return self.position() < QueueCode.REQUEUED.position()


@dataclass(frozen=True, slots=True)
class QueueMessage:
    """What an admission system says of an entry that it has not admitted."""

    code: QueueCode
    cause: str = ""
    """Half a sentence, which follows a colon; empty where there is nothing to add to the code."""
    advice: str = ""
    command: tuple[str, ...] = ()
    """The words of a command that carries the advice out."""
    label: str = ""
    """Where it stands: `QuotaReserved: Pending`."""
    text: str = ""
    """The system's own words."""
    since: datetime | None = None
    taker: str = ""
    """uid of the owner for which it was preempted."""
    about: QueueName | None = None
    """The queue that is stopped, inactive or missing, where it is about one."""
    lacks: tuple[FlavorAmount, ...] = ()
    """What has to become free, as far as it is told."""
    is_out_of_line: bool = False
    """Nobody looks at it until that is over, whoever is before it."""


@dataclass(frozen=True, slots=True)
class FinalRejection:
    """An admission system gave an entry up: it queues only a new entry in its place."""

    reason: str
    """The system's own word."""
    cause: str
    """Half a sentence, which follows a colon."""
    advice: str
    """One sentence: how the cause is removed, and how a new entry comes."""
    command: tuple[str, ...] = ()
    """The words of the command for the last part of that."""


@dataclass(frozen=True, slots=True)
class AssignedNodes:
    """The nodes that an admission system has chosen for some pods of an entry."""

    label: str
    value: str
    """By this label the pods are known."""
    nodes: Mapping[str, int]
    """Node → how many of them."""


@dataclass(frozen=True, slots=True)
class LabelSources:
    """Where the node labels come from that some pods of an entry select."""

    label: str
    value: str
    """By this label the pods are known."""
    own: frozenset[str] = frozenset()
    """Node labels that the owner's own pod template selects."""
    flavors: tuple[str, ...] = ()
    """Names of the flavors of these pods. Their system adds the node labels of a flavor to the pods."""
    checks: Mapping[str, str] = field(default_factory=dict)
    """Node label → name of the admission check that adds it."""


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """The entry of one owner in a queue. Its controller reference names the owner."""

    meta: Meta
    queue: str = ""
    active: bool = True
    """Kueue's `spec.active`: false means deactivated, by hand or by Kueue itself."""
    deactivated_by: FieldWriter | None = None
    """While it is not active: the last writer of that field."""
    admitted: bool = False
    conditions: tuple[Condition, ...] = ()
    owner_uid: str = ""
    """uid of the owner: by controller reference, else by the label `kueue.x-k8s.io/job-uid`."""
    given_up: FinalRejection | None = None
    """None if the entry is queued, or would be queued once it is active."""
    message: QueueMessage | None = None
    """What its system says while it is active and not admitted; None where that is nothing."""
    priority: int = 0
    """By it those that wait stand in line, highest first."""
    priority_class: str = ""
    """Its PriorityClass, where only that is known: `priority` says nothing then."""
    in_line_since: datetime | None = None
    """By it those of one priority stand in line, oldest first."""
    admitted_at: datetime | None = None
    """None if it is not admitted, or the time is unknown."""
    cluster: str = ""
    """The cluster that runs it, where its system runs it in another one; empty while none does."""
    has_quota: bool = False
    """Its quota is its own, whether it is admitted yet or not."""
    admitted_by: str = ""
    """Name of the queue whose quota it has; empty while it has none."""
    holds: tuple[FlavorAmount, ...] = ()
    """What it has of that quota."""
    asks: tuple[FlavorAmount, ...] = ()
    """What it asks for in any flavor, as far as it is told while it waits."""
    assigned: tuple[AssignedNodes, ...] = ()
    """To which nodes its pods were assigned, where its queue does that."""
    label_sources: tuple[LabelSources, ...] = ()
    """Who adds node labels to the node selector of its pods, while it has its quota."""
    asked_pods: int = 0
    """Pods that it asked for and that are not done, where it was admitted with fewer; else 0."""
    admitted_pods: int = 0
    """Pods that it was admitted with then."""
    failed_nodes: tuple[str, ...] = ()
    """Assigned nodes that failed and that its system looks for others in place of."""
    replaces: str = ""
    """Name of the entry of the same owner in whose place it comes once it is admitted."""
    is_variant: bool = False
    """One of several ways to admit another entry, which stands for all of them."""
    group_pods: int = 0
    """How many pods it admits together, where it is about pods that name it themselves; 0 where it has an owner."""

    @property
    def is_waiting(self) -> bool:
        """Whether it stands in line: meant to be admitted, and without quota."""
        return self.is_in_use and self.active and not self.has_quota and not self.is_variant

    @property
    def stands_in_line(self) -> bool:
        """Whether its turn comes when those before it are admitted or cannot be."""
        return self.is_waiting and not (self.message is not None and self.message.is_out_of_line)

    @property
    def is_in_use(self) -> bool:
        """Not over: old entries end before they are deleted."""
        finished = find_condition(self.conditions, "Finished")
        is_finished = finished is not None and finished.is_true
        return self.meta.deleting_since is None and not is_finished
