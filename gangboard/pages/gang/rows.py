"""Rows of one gang, with each field declared once for its page and for `gangs/{id}/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime

from gangboard.domain.action import ActionTarget
from gangboard.domain.queue_status import QueueStanding
from gangboard.domain.verdict import GangMode, Members
from gangboard.pages.core.serializers import serializer_of
from gangboard.pages.gang.events import EventRow
from gangboard.pages.gang.findings import FindingRow
from gangboard.pages.gang.groups import GroupMatrix
from gangboard.pages.gang.history import GangHistory, Waits
from gangboard.pages.gang.next_steps import NamedObjects
from gangboard.pages.gang.queue_waits import QueueWait
from gangboard.pages.gang.stages import StageStep
from gangboard.pages.gang.timeline import TimelineRow, make_timeline
from gangboard.readmodels.action_rows import ActionRow, OfferRow, TargetRow
from gangboard.readmodels.declarations import shown, shown_property
from gangboard.readmodels.evictions import GangEvictions
from gangboard.readmodels.fit import FitShape
from gangboard.readmodels.gangs import GangRow
from gangboard.readmodels.group_visibility import UnseenGroups
from gangboard.readmodels.groups import GroupOfGangRow
from gangboard.readmodels.kubectl import KubectlCommand
from gangboard.readmodels.members import MemberRow
from gangboard.readmodels.state_labels import Face

SHOWN_NODES = 4
"""Nodes of a Job that the page names before it counts the rest."""
_QUEUE_RELATIONS: Mapping[str, str] = {
    QueueStanding.WAITS: "waits in",
    QueueStanding.ADMITTED: "admitted by",
    QueueStanding.DEACTIVATED: "deactivated in",
}
_WITHOUT_GROUP = frozenset({"not-eligible", "owned", "pod-by-pod"})
"""Scheduling modes of Jobs without a group. In all other modes the group is missing or not created yet."""
_NULL_IF_DELETED = "null when only the history of a gang that is gone is left"


@dataclass(frozen=True, slots=True)
class SchedulingRow:
    """How the pods of a Job are scheduled, and why."""

    mode: str = shown("Mode")
    label: str = shown("Scheduled")
    reason: str = shown("Why")


@dataclass(frozen=True, slots=True)
class HeldRow:
    """The Hold on a Job."""

    name: str = shown("Hold")
    since: datetime | None = shown("Since")
    by: str = shown("By", empty_is_null=True)
    reason: str = shown("Reason", empty_is_null=True)
    until: datetime | None = shown("Until")


@dataclass(frozen=True, slots=True)
class JobQueueRow:
    """How a queue stands to a Job that has an entry of its own in it."""

    name: str = shown("Queue", empty_is_null=True)
    standing: str = shown("Standing", "`waits`, `admitted` or `deactivated`.")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A child Job."""

    name: str = shown("Job")
    uid: str = shown("UID")
    generation: int = shown("Generation")
    suspended: bool = shown("Suspended")
    held: bool = shown("Held")
    finished: str = shown("Finished", choices=("succeeded", "failed"), empty_is_null=True)
    nodes: tuple[str, ...] = shown("Nodes")
    desired: int = shown("Desired")
    created: int = shown("Created")
    ready: int = shown("Ready")
    restarts: int = shown("Restarts")

    scheduling: SchedulingRow = shown("Scheduling")
    hold: HeldRow | None = shown("Hold", "The Hold on it, suspended or not.")
    queue: JobQueueRow | None = shown(
        "Queue", "Its entry in a queue. Null if it has none of its own."
    )
    actions: tuple[OfferRow, ...] = shown(
        "Actions", "What the caller may do to it now.", default=()
    )
    target: ActionTarget = shown(
        "Target", "The Job as `POST actions/` takes it.", serializer=serializer_of(TargetRow)
    )
    role: str
    state: Face
    """The state, in which `Held` differs from `Suspended`."""
    message: str
    """The problem of this Job, or empty."""
    is_past: bool = shown(
        "Past",
        "True for its last state: its gang was deleted, or its cluster does not answer.",
        api_name="past",
        default=False,
    )
    past_state_sentence: str = ""
    """`It was running.` in a cluster that does not answer. Empty if that is unknown."""
    open_action: ActionRow | None = None
    """The action on it that is not over."""

    @property
    def queue_text(self) -> str:
        """The relation to its queue, such as `admitted by queue gpu`, or empty."""
        if self.queue is None or not self.queue.name:
            return ""
        relation = _QUEUE_RELATIONS.get(self.queue.standing, "")
        return f"{relation} queue {self.queue.name}" if relation else ""

    @property
    def shown_nodes(self) -> tuple[str, ...]:
        """The nodes that the page names. `more_nodes` counts the others."""
        return self.nodes if len(self.nodes) <= SHOWN_NODES else self.nodes[: SHOWN_NODES - 1]

    @property
    def more_nodes(self) -> int:
        """The number of nodes that the page does not name."""
        return len(self.nodes) - len(self.shown_nodes)


@dataclass(frozen=True, slots=True)
class KindFact:
    """One thing that only the owner's kind knows of a gang."""

    label: str = shown("Label")
    text: str = shown("Text")


@dataclass(frozen=True, slots=True)
class MakerRow:
    """What makes gangs such as this one: the CronJob that started a run."""

    api_group: str = shown("API group", empty_is_null=True)
    kind: str = shown("Kind", empty_is_null=True)
    name: str = shown("Name", empty_is_null=True)
    uid: str = shown("UID")
    generation: int = shown("Generation")
    suspended: bool = shown("Suspended", "It makes no further one.")
    sentence: str = shown("Next", empty_is_null=True)
    """The time at which it creates the next gang, or that it creates none."""
    actions: tuple[OfferRow, ...] = shown(
        "Actions", "What the caller may do to it now.", default=()
    )
    open_action: ActionRow | None = None
    """The action on it that is not over."""


@dataclass(frozen=True, slots=True)
class MembersWithPods(Members):
    """The counts of a gang, and the pods that were counted."""

    pods: tuple[MemberRow, ...] = shown("Pods", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class GangDetail:
    """A gang with everything that explains its verdict.

    Of one that was deleted: how it was last, for an hour; then, as long as history is kept, what
    was said of it, and null for what nobody knows any more.
    """

    # These five fields of the row are declared again, because they can be null here.
    @shown_property(
        "API version",
        f"Version without the group, such as `v1`; {_NULL_IF_DELETED}.",
        may_be_null=True,
    )
    def api_version(self) -> str:
        """Return the API version of the owner."""
        return self.row.api_version

    @shown_property("Generation", f"It is {_NULL_IF_DELETED}.", may_be_null=True)
    def generation(self) -> int:
        """Return the generation of the owner."""
        return self.row.generation

    @shown_property(
        "Labels", f"Labels of the owner: the first 64 by key; {_NULL_IF_DELETED}.", may_be_null=True
    )
    def labels(self) -> Mapping[str, str]:
        """Return the labels of the owner."""
        return self.row.labels

    @shown_property(
        "Requests",
        f"Sum over all desired pods: decimal strings in base units; {_NULL_IF_DELETED}.",
        may_be_null=True,
    )
    def requests(self) -> Mapping[str, str]:
        """Return the requests of all pods."""
        return self.row.requests

    @shown_property(
        "Members",
        f"Pods of the current attempt; {_NULL_IF_DELETED}.",
        api_name="members",
        may_be_null=True,
    )
    def members_with_pods(self) -> MembersWithPods:
        """Return the counts of the gang and its pods."""
        return MembersWithPods(**asdict(self.row.members), pods=self.members)

    findings: tuple[FindingRow, ...] = shown("Findings", "Ranked, the one of the verdict first.")
    groups: tuple[GroupOfGangRow, ...] = shown(
        "Groups", f"They are {_NULL_IF_DELETED}.", may_be_null=True
    )
    groups_unseen: tuple[UnseenGroups, ...] = shown(
        "Groups not seen",
        "Kinds of groups that cannot be read in its cluster: there may be more than in `groups`.",
        default=(),
    )
    gang_mode: GangMode | None = shown(
        "Gangs",
        "Which pods of its Jobs are in one gang; null: it makes no Jobs, or its cluster does not "
        "answer.",
        default=None,
    )
    matrix: GroupMatrix | None = shown(
        "Jobs by group",
        "Which Jobs are in which groups; null: each group is for the Jobs of one role.",
        api_name="group_matrix",
        default=None,
    )
    maker: MakerRow | None = shown(
        "Created by",
        "The object that creates such gangs. Null if none is known.",
        default=None,
    )
    facts: tuple[KindFact, ...] = shown(
        "Facts",
        f"Facts that only its kind has, such as a runtime or progress; {_NULL_IF_DELETED}.",
        may_be_null=True,
        default=(),
    )
    jobs: tuple[JobRow, ...] = shown("Jobs", f"They are {_NULL_IF_DELETED}.", may_be_null=True)
    actions: tuple[OfferRow, ...] = shown(
        "Actions",
        "What the caller may do to the owner now.",
        default=(),
    )
    fit: tuple[FitShape, ...] = shown("Fit", "One entry per shape with waiting pods.", default=())

    @shown_property("History", "Newest first.")
    def timeline(self) -> tuple[TimelineRow, ...]:
        """Return its verdicts and actions with the nodes of its pods, the newest first."""
        places = {("Job", job.name): job.nodes for job in self.jobs}
        everywhere = {node for job in self.jobs for node in job.nodes}
        places.setdefault((self.row.kind, self.row.name), tuple(sorted(everywhere)))
        return make_timeline(
            self.history, places, self.gang_history.spans, self.gang_history.outages
        )

    @shown_property("Wait", "Null: it was not seen waiting.")
    def waits(self) -> Waits | None:
        """Return the wait of the gang."""
        return self.gang_history.waits

    @shown_property("Evictions", "How often it lost its place.")
    def evictions(self) -> GangEvictions:
        """Return the preemptions, evictions and requeues of the gang."""
        return self.gang_history.evictions

    queue_waits: tuple[QueueWait, ...] = shown(
        "Queue",
        "Its places in queues, the entries ahead of it, and the holders of the quota it waits for.",
        default=(),
    )
    queue_page: str = shown(
        "Queue page",
        "The queue in `queues/` that it is in: where `queue` is an alias, what that leads to.",
        empty_is_null=True,
        default="",
    )

    @shown_property(
        "Deleted",
        "When gangboard saw that its object was deleted. Null if it exists. Lists have no deleted gangs.",
    )
    def gone_at(self) -> datetime | None:
        """Return when its owner was seen to be deleted."""
        return self.row.gone_at

    row: GangRow
    members: tuple[MemberRow, ...]
    steps: tuple[StageStep, ...]
    commands: tuple[KubectlCommand, ...]
    events: tuple[EventRow, ...]
    cluster_sentence: str
    """Why its cluster cannot be read, or empty."""
    history: tuple[ActionRow, ...] = ()
    """The last actions on the owner and its Jobs, the newest first."""
    shows_logs: bool = False
    """Whether the page links logs, because the viewer may read them."""
    gang_history: GangHistory = field(default_factory=GangHistory)
    """Its earlier verdicts and its wait."""
    named: NamedObjects = field(default_factory=NamedObjects)
    """Objects in its sentences that may become links."""

    @property
    def open_action(self) -> ActionRow | None:
        """The action on the owner that is not over."""
        return open_action(self.history, self.row.uid)

    @property
    def verdict(self) -> FindingRow | None:
        """The finding of the verdict, or None if the last findings may be outdated."""
        if self.findings and self.findings[0].code == self.row.code:
            return self.findings[0]
        return None

    @property
    def no_groups(self) -> str:
        """A sentence about the missing groups. Empty if the gang has a group."""
        if self.groups:
            return ""
        if self.groups_unseen:
            return "No group of it is known."
        if self.gone_at is not None:
            return "None of its groups is left."
        if self._is_pod_by_pod:
            return "No PodGroup: pods are scheduled one by one."
        return "It has no group now."

    @property
    def _is_pod_by_pod(self) -> bool:
        """Whether its Jobs, or else its pods, are meant to have no group."""
        if self.jobs:
            return all(job.scheduling.mode in _WITHOUT_GROUP for job in self.jobs)
        return bool(self.members) and not any(member.group for member in self.members)

    @property
    def other_findings(self) -> tuple[FindingRow, ...]:
        """All other findings, ranked."""
        return self.findings[1:] if self.verdict is not None else self.findings


def open_action(history: tuple[ActionRow, ...], uid: str) -> ActionRow | None:
    """Return the action on an object that is not over, or None."""
    return next((row for row in history if row.uid == uid and not row.is_final), None)
