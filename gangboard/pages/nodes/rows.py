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
"""The results for a waiting gang on a node, as in the API."""
_MARKS = {FITS: "✓", UNCORDON: "✓", OUT: "✕", UNCLEAR: "?"}
_TONES = {FITS: "running", UNCORDON: "degraded", OUT: "unknown", UNCLEAR: "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePodRow:
    """A pod on the node."""

    namespace: str = shown("Namespace")
    name: str = shown("Pod")
    uid: str = shown("UID")
    member: MemberRow | None
    """The pod as a member of its gang, or None for a pod without a gang."""

    @shown_property("State", "Null for a pod of no gang.", choices=Health, may_be_absent=True)
    def state(self) -> str | None:
        """Return the health of the member."""
        return self.member.health if self.member is not None else None

    @shown_property("Word", empty_is_null=True, may_be_absent=True)
    def label(self) -> str:
        """Return the Kubernetes word for the state of the member."""
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
    """Number of its pods on other nodes."""

    @property
    def printed_fields(self) -> tuple[object, ...]:
        """The fields that the page prints."""
        return self.gang.shown, self.pods, self.elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRow(GangOfNode):
    """A gang of which pods wait for a node, and what this one says to it."""

    json_name: ClassVar = "NodeWaiting"
    pods: int = shown("Waits with", "Its pods that wait for a node.", api_name="waiting")
    request_text: str
    """The request of one of these pods in words, of the largest of several shapes."""
    answer: str = shown(
        "Answer",
        "`fits-uncordoned`: only the cordon keeps it out. For this node only: a gang needs capacity for all its pods.",
        choices=ANSWERS,
    )
    fitting: int = shown("Fit", "Its pods that fit here now.")
    """On a cordoned node, the number after it is uncordoned."""
    sentence: str = shown("Here")
    unsupported: tuple[str, ...] = shown(
        "Not checked",
        "Constraints of its pods that gangboard does not check: they may still not fit.",
        default=(),
    )

    @property
    def printed_fields(self) -> tuple[object, ...]:
        """The fields that the page prints."""
        pods = (self.pods, self.request_text)
        return self.gang.shown, *pods, self.answer, self.sentence, self.unsupported

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
        """The tone of the sign, which selects its colours."""
        return _TONES[self.answer]


@dataclass(frozen=True, slots=True)
class ExcludedGangs:
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
    """Why its free capacity is unknown; then amounts, stranded and waiting are empty."""
    why: str = shown(
        "Why",
        "Why the capacity is unknown. Then `amounts`, `stranded` and `waiting` are empty.",
        empty_is_null=True,
        is_read_only=True,
    )
    """`blind` as one text. The page prints a live age instead."""
    sentence: str = shown("Summary", "The most important fact about it now.", empty_is_null=True)
    ready: bool | None = shown("Ready", "Null if it has not reported this.")
    ready_since: datetime | None = shown("Ready since")
    ready_reason: str = shown("Reason", "Why it is not ready.", empty_is_null=True)
    cordoned: bool = shown("Cordoned")
    created_at: datetime | None = shown("Created")
    pool: tuple[str, str]
    """Label and value of its node pool. Both are empty without a pool."""

    @shown_property(
        "Pool",
        "Null: none, or not for this caller.",
        api_name="pool",
        empty_is_null=True,
        is_read_only=True,
    )
    def pool_name(self) -> str:
        """Return the value of its node pool label."""
        return self.pool[1]

    topology: tuple[NodeLabelRow, ...] = shown(
        "Topology", "None for who may not see the whole cluster, as `taints`."
    )
    """From the largest domain to the smallest."""
    taints: tuple[str, ...] = shown("Taints")
    amounts: tuple[Amount, ...] = shown("Resources")
    stranded: tuple[StrandedRow, ...] = shown(
        "Stranded",
        "Free accelerators that no kind of pod of this cluster can use, because too little cpu or memory is left.",
    )
    occupants: tuple[OccupantRow, ...] = shown("Gangs")
    """Those with the most accelerators on the node first."""
    other_pods: tuple[NodePodRow, ...] = shown("Other pods", "Pods of no gang.")
    """Without those in `staying` and `hidden`."""
    staying: PodSum = shown("Staying", "Pods of DaemonSets and of the node itself.")
    hidden: PodSum = shown("Hidden", "Pods in namespaces that the caller may not see.")
    waiting: tuple[WaitingRow, ...] = shown("Waiting gangs", "Those that fit first.")
    more_waiting: int = shown(
        "More waiting", "Waiting gangs with fewer accelerators, which were not checked."
    )
    sees_cluster: bool
    """Whether the viewer may see the whole cluster."""
    commands: tuple[KubectlCommand, ...]

    @property
    def would_fit(self) -> tuple[WaitingRow, ...]:
        """The waiting gangs with pods that fit on the node."""
        return tuple(row for row in self.waiting if row.would_fit)

    @property
    def excluded(self) -> tuple[ExcludedGangs, ...]:
        """The other waiting gangs, grouped by the reason that excludes them."""
        return group_excluded(self.waiting)


def group_excluded(rows: Iterable[WaitingRow]) -> tuple[ExcludedGangs, ...]:
    """Return the rows that do not fit, grouped by reason, in the order of their first gangs."""
    groups: dict[tuple[str, str, str], list[WaitingRow]] = {}
    for row in rows:
        if not row.would_fit:
            groups.setdefault((row.mark, row.tone, row.sentence), []).append(row)
    return tuple(ExcludedGangs(*key, tuple(members)) for key, members in groups.items())
