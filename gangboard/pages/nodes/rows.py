"""The fields of one node, each declared once for its page and for `nodes/{cluster}/{name}/`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import ClassVar

from gangboard.domain.health import Health
from gangboard.readmodels.declarations import shown, shown_property
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.gangs import GangRow
from gangboard.readmodels.kubectl import KubectlCommand
from gangboard.readmodels.members import MemberRow
from gangboard.readmodels.node_amounts import Amount
from gangboard.readmodels.node_pools import AgedSentence

FITS, UNCORDON, OUT, UNCLEAR = "fits", "fits-uncordoned", "kept-out", "cannot-tell"
ANSWERS = (FITS, UNCORDON, OUT, UNCLEAR)
"""Answers of a node to a waiting gang, as the API spells them."""
_MARKS = {FITS: "✓", UNCORDON: "✓", OUT: "✕", UNCLEAR: "?"}
_TONES = {FITS: "running", UNCORDON: "degraded", OUT: "unknown", UNCLEAR: "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePodRow:
    """A pod on the node."""

    namespace: str = shown("Namespace")
    name: str = shown("Pod")
    uid: str = shown("UID")
    member: MemberRow | None
    """The pod as a member of its gang; None for a pod of no gang."""

    @shown_property("State", "Null for a pod of no gang.", choices=Health, may_be_absent=True)
    def state(self) -> str | None:
        """Return the health of the member."""
        return self.member.health if self.member is not None else None

    @shown_property("Word", empty_is_null=True, may_be_absent=True)
    def label(self) -> str:
        """Return the state of the member in a word of Kubernetes."""
        return self.member.label if self.member is not None else ""

    @shown_property("Reason", empty_is_null=True, may_be_absent=True)
    def reason(self) -> str:
        """Return the reason of that state."""
        return self.member.reason if self.member is not None else ""

    accelerators: float = shown("Accelerators", is_quantity=True)
    since: datetime | None = shown("Since", "When its kubelet took it.")
    restarts: int = shown("Restarts")


@dataclass(frozen=True, slots=True, kw_only=True)
class GangOfNode:
    """A gang on the page of a node."""

    gang: GangRow

    @shown_property("Id")
    def id(self) -> str:
        """Return the id of the gang."""
        return self.gang.id

    @shown_property("Kind")
    def kind(self) -> str:
        """Return the kind of its owner."""
        return self.gang.kind

    @shown_property("Namespace")
    def namespace(self) -> str:
        """Return its namespace."""
        return self.gang.namespace

    @shown_property("Gang")
    def name(self) -> str:
        """Return its name."""
        return self.gang.name

    @shown_property("Health", choices=Health)
    def health(self) -> str:
        """Return its health."""
        return self.gang.health


@dataclass(frozen=True, slots=True, kw_only=True)
class OccupantRow(GangOfNode):
    """A gang with pods on the node."""

    accelerators: float = shown(
        "Accelerators", "That its pods on this node ask for.", is_quantity=True
    )
    pods: tuple[NodePodRow, ...] = shown("Pods")
    elsewhere: int = shown("Elsewhere", api_name="pods_elsewhere")
    """Its pods on other nodes."""

    @property
    def shown(self) -> tuple[object, ...]:
        """The fields that the page prints."""
        return self.gang.shown, self.pods, self.elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRow(GangOfNode):
    """A gang of which pods wait for a node, and what this one says to it."""

    json_name: ClassVar = "NodeWaiting"
    pods: int = shown("Waits with", "Its pods that wait for a node.", api_name="waiting")
    asks: str
    """The request of one of these pods in words. Of several shapes the one that asks for the most."""
    answer: str = shown(
        "Answer",
        "`fits-uncordoned`: nothing but the cordon keeps it out. For this node only: a gang needs room for "
        "all its pods.",
        choices=ANSWERS,
    )
    fitting: int = shown("Fit", "Pods of it for which there is room here.")
    """With a cordon: once the node is uncordoned."""
    sentence: str = shown("Here")
    at_most: tuple[str, ...] = shown(
        "Not worked out",
        "What else its pods ask for and was not worked out: they may still not fit.",
        api_name="unsupported",
        default=(),
    )

    @property
    def shown(self) -> tuple[object, ...]:
        """The fields that the page prints."""
        return self.gang.shown, self.pods, self.asks, self.answer, self.sentence, self.at_most

    @property
    def would_fit(self) -> bool:
        """Whether some of its pods fit, now or once the node is uncordoned."""
        return self.answer in (FITS, UNCORDON)

    @property
    def mark(self) -> str:
        """The sign beside the sentence."""
        return _MARKS[self.answer]

    @property
    def tone(self) -> str:
        """The pair of colours of the sign."""
        return _TONES[self.answer]


@dataclass(frozen=True, slots=True)
class KeptOut:
    """Waiting gangs that do not fit for the same reason."""

    mark: str
    tone: str
    sentence: str
    rows: tuple[WaitingRow, ...]


@dataclass(frozen=True, slots=True)
class PodSum:
    """Pods that are told as a number."""

    pods: int = shown("Pods", default=0)
    accelerators: float = shown("Accelerators", is_quantity=True, default=0.0)


@dataclass(frozen=True, slots=True)
class StrandedRow:
    """Accelerators that are free and that no pod can use."""

    resource: str = shown("Resource")
    amount: Decimal = shown("Amount", is_quantity=True)
    for_lack_of: str = shown("For lack of", "`cpu` or `memory`.")


@dataclass(frozen=True, slots=True)
class NodeLabelRow:
    """A topology domain that the node is in."""

    label: str = shown("Label")
    value: str = shown("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDetail:
    """One node."""

    json_name: ClassVar = "Node"
    cluster: str = shown("Cluster")
    name: str = shown("Node")
    freshness: Freshness

    @shown_property("Freshness", "live, stale, silent or never.", api_name="freshness")
    def level(self) -> str:
        """Return how fresh its cluster is."""
        return self.freshness.level

    @shown_property("Stale")
    def stale(self) -> bool:
        """Return whether its data may be out of date."""
        return self.freshness.is_stale

    blind: AgedSentence | None
    """Why its room is not known; then amounts, stranded and waiting are empty."""
    why: str = shown(
        "Why",
        "Why nothing can be said of room: then `amounts`, `stranded` and `waiting` are empty.",
        empty_is_null=True,
        is_read_only=True,
    )
    """`blind` as one text. The page prints an age that goes on instead."""
    sentence: str = shown("Summary", "What matters most of it now.", empty_is_null=True)
    ready: bool | None = shown("Ready", "Null: it has not said.")
    ready_since: datetime | None = shown("Ready since")
    ready_reason: str = shown("Reason", "Why it is not ready.", empty_is_null=True)
    cordoned: bool = shown("Cordoned")
    created_at: datetime | None = shown("Created")
    pool: tuple[str, str]
    """Label and value by which it is in a pool; both empty for none."""

    @shown_property(
        "Pool",
        "Null: none, or not for this caller.",
        api_name="pool",
        empty_is_null=True,
        is_read_only=True,
    )
    def pool_name(self) -> str:
        """Return the value of the label by which it is in a pool."""
        return self.pool[1]

    topology: tuple[NodeLabelRow, ...] = shown(
        "Topology", "None for who may not see the whole cluster, as `taints`."
    )
    """From the largest domain to the smallest."""
    taints: tuple[str, ...] = shown("Taints")
    amounts: tuple[Amount, ...] = shown("Resources")
    stranded: tuple[StrandedRow, ...] = shown(
        "Stranded",
        "Free accelerators of which each kind of pod in this cluster that asks for as many needs more cpu "
        "or memory than is left.",
    )
    occupants: tuple[OccupantRow, ...] = shown("Gangs")
    """Those with the most accelerators on the node first."""
    others: tuple[NodePodRow, ...] = shown("Other pods", "Pods of no gang.", api_name="other_pods")
    """Without those in `stay` and `hidden`."""
    stay: PodSum = shown(
        "Staying", "Pods of DaemonSets and of the node itself.", api_name="staying"
    )
    hidden: PodSum = shown("Hidden", "Pods in namespaces that the caller may not see.")
    waiting: tuple[WaitingRow, ...] = shown("Waiting gangs", "Those that fit first.")
    more_waiting: int = shown(
        "More waiting", "Gangs that wait for fewer accelerators and were not asked about."
    )
    whole: bool
    """Whether the viewer may see the whole cluster."""
    commands: tuple[KubectlCommand, ...]

    @property
    def would_fit(self) -> tuple[WaitingRow, ...]:
        """The waiting gangs that have pods that fit here."""
        return tuple(row for row in self.waiting if row.would_fit)

    @property
    def kept_out(self) -> tuple[KeptOut, ...]:
        """The other waiting gangs, by what keeps them out."""
        return kept_out(self.waiting)


def kept_out(rows: Iterable[WaitingRow]) -> tuple[KeptOut, ...]:
    """Return the rows that do not fit by what keeps them out, in the order of their first gangs."""
    alike: dict[tuple[str, str, str], list[WaitingRow]] = {}
    for row in rows:
        if not row.would_fit:
            alike.setdefault((row.mark, row.tone, row.sentence), []).append(row)
    return tuple(KeptOut(*key, tuple(members)) for key, members in alike.items())
