"""Rows of queues, on pages and in the API."""

from __future__ import annotations

from dataclasses import dataclass

from gangboard.diagnosis.scheduler_queues import queue_system, queue_words
from gangboard.domain.advice import AdvisedStep
from gangboard.domain.shell import command_line
from gangboard.pages.queues.quotas import QuotaRow, TermRow
from gangboard.readmodels.declarations import shown, shown_property
from gangboard.readmodels.fair_shares import FairShareRow
from gangboard.readmodels.queue_places import PlaceRow
from gangboard.readmodels.state_labels import Face
from gangboard.readmodels.visible_queues import QUEUE_STATES, HasQueueState


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasRow(HasQueueState):
    """A name by which the owners of a namespace reach a queue, such as a LocalQueue."""

    kind: str = shown("Kind")
    namespace: str = shown("Namespace")
    name: str = shown("Name")
    face: Face

    @shown_property("State", choices=QUEUE_STATES)
    def state(self) -> str:
        """The state, as API and filters spell it."""
        return self.face.word

    cause: str = shown("Cause", empty_is_null=True)
    pending: int | None = shown("Waiting")


@dataclass(frozen=True, slots=True)
class NamespaceRow:
    """A namespace with gangs in a queue that needs no alias."""

    name: str = shown("Namespace")
    gangs: int = shown("Gangs", "Gangs that wait or have pods on nodes. 0 if all have ended.")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow(HasQueueState):
    """One queue that admits, such as a ClusterQueue."""

    id: str = shown("Id")
    cluster: str = shown("Cluster")
    system: str = shown("System", "The admission system whose queue it is.")
    api_group: str = shown("API group")
    api_version: str = shown("Version")
    kind: str = shown("Kind")
    name: str = shown("Queue")
    uid: str = shown("UID")
    shared: tuple[str, ...] = shown(
        "Shares quota in",
        "What it shares quota in, nearest first; empty also where the caller may not know.",
    )
    shared_kind: str = shown(
        "Kind of these", "Kind of these, such as `Cohort`.", empty_is_null=True
    )
    shares_with: int = shown("Shares with", "Other queues with which it shares quota.")
    face: Face

    @shown_property("State", choices=QUEUE_STATES)
    def state(self) -> str:
        """The state, as API and filters spell it."""
        return self.face.word

    cause: str = shown("Cause", "Why it is stopped or inactive.", empty_is_null=True)

    @shown_property("Advice", "With its command.", empty_is_null=True)
    def advice(self) -> str:
        """Return the advice as a sentence, followed by its command."""
        return AdvisedStep(self.advice_text, command=self.command).sentence

    command: tuple[str, ...] = shown(
        "Command",
        "Words of the command in `advice`, each safe in a shell; empty without one.",
    )
    advice_text: str
    """The advice without its command."""
    quotas: tuple[QuotaRow, ...] = shown("Quota")
    is_quota_overridden: bool = shown(
        "Overridden",
        "The effective quotas are computed and differ from its spec.",
        api_name="quota_overridden",
    )
    pending: int | None = shown("Pending", "Entries that wait, as the system counts them.")
    waiting: int | None = shown(
        "Waiting",
        "`pending`; in a queue of a scheduler the gangs that gangboard counts. Null: not known.",
    )
    unknown: int = shown(
        "Unknown", "Gangs in a queue of a scheduler for which it is unknown if they wait."
    )
    placed: int | None = shown(
        "Placed",
        "Gangs with pods on nodes, in a queue of a scheduler; null in other queues, and if unknown.",
    )
    reserving: int | None = shown("Reserving")
    admitted: int | None = shown("Admitted")
    in_line: int | None = shown(
        "In line", "Counted from the entries. Null if these cannot be read."
    )
    kept_out: int | None = shown(
        "Not eligible", "Entries that wait but are not in line. Null likewise."
    )
    line: tuple[PlaceRow, ...] | None = shown(
        "Line",
        "Waiting entries, the ones that are not in line last. Lists have the first 3, one queue up to 500. Null if entries cannot be read.",
    )
    tells_places: bool = shown(
        "Tells places",
        "False if no object shows the order. `line` is then the oldest first, without positions.",
    )
    order: tuple[str, ...] = shown(
        "Order", "How the line is ordered, and what is unknown about the order."
    )
    aliases: tuple[AliasRow, ...] = shown("Aliases", "Those that the caller may see.")
    aliases_hidden: int = shown("Hidden aliases")
    namespaces: tuple[NamespaceRow, ...] = shown(
        "Namespaces",
        "Of a queue without aliases: the namespaces with gangs in it that the caller may see.",
    )
    namespaces_hidden: int = shown("Hidden namespaces")
    reached_by: str = shown(
        "Reached by",
        "Which gangs may use the queue if it has no alias: a sentence.",
        empty_is_null=True,
    )
    terms: tuple[TermRow, ...] = shown("Terms", "What its system keeps for the queue as a whole.")
    fair_share: FairShareRow | None = shown(
        "Fair share", "Null: its system does not divide quota by shares, or has not reported one."
    )
    stale: bool = shown(
        "Stale",
        "Its cluster has not answered for 30 seconds, or queues cannot be read there.",
    )

    @property
    def command_text(self) -> str:
        """The command as one line. Empty without one."""
        return command_line(self.command)

    @property
    def line_text(self) -> str:
        """`2 waiting, 1 not eligible`; empty for none."""
        counts = ((self.in_line, "waiting"), (self.kept_out, "not eligible"))
        return ", ".join(f"{number:,} {label}" for number, label in counts if number)

    @property
    def lends(self) -> bool:
        """Whether queues of its system lend unused quota, and reserve before they admit."""
        system = queue_system(self.api_group)
        return system is not None and system.lends

    @property
    def borrowed_word(self) -> str:
        """The system's name for the amount beyond a quota."""
        return queue_words(self.api_group).borrowed

    @property
    def first(self) -> PlaceRow | None:
        """The first in line; None if the line is empty or not known."""
        return next((row for row in self.line or () if row.position == 1), None)

    @property
    def more(self) -> int:
        """How many wait beside those in `line`."""
        return (self.in_line or 0) + (self.kept_out or 0) - len(self.line or ())


@dataclass(frozen=True, slots=True)
class UnseenQueuesRow:
    """Kinds of an admission system that cannot be seen in a cluster: that is not the same as none."""

    cluster: str = shown("Cluster")
    state: str = shown(
        "State", "silent, never, forbidden, failing, unknown-version, listing or not-looked."
    )
    kinds: tuple[str, ...] = shown("Kinds")
    sentence: str = shown("Message", api_name="message")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDetailRow(QueueRow):
    """One queue with who has its quota."""

    holders: tuple[PlaceRow, ...] | None = shown(
        "Quota used by",
        "The ones with the most accelerators first, up to 500. Null if entries cannot be read.",
    )
    holders_more: int
    unseen: tuple[UnseenQueuesRow, ...] = shown("Unseen")


@dataclass(frozen=True, slots=True)
class LostAliasRow:
    """An alias that names a queue that does not exist."""

    cluster: str = shown("Cluster")
    kind: str = shown("Kind")
    namespace: str = shown("Namespace")
    name: str = shown("Name")
    target_kind: str = shown("Kind of its queue")
    target: str = shown("Its queue")


@dataclass(frozen=True, slots=True)
class QueuePage:
    """Some queues in order, and the cursor of the next page, None if there is none."""

    rows: tuple[QueueRow, ...]
    lost: tuple[LostAliasRow, ...]
    """Lost aliases in the clusters of the filter, the same on every page."""
    unseen: tuple[UnseenQueuesRow, ...]
    """Kinds that cannot be read. Their clusters may have more queues than `rows`."""
    serving: tuple[str, ...]
    """Names of the clusters that serve queues. Other clusters have none."""
    next_cursor: str | None
