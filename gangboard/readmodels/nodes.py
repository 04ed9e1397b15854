"""One node: what it offers, who is on it, which waiting gangs would fit, and what keeps the others out.

Who may see the whole cluster sees everything. Who has pods on it sees these, what the node offers and a sum of
all else that is on it; to anybody else it is not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import F

from gangboard.decode.nodes import NODE
from gangboard.domain.health import NOT_WHOLE
from gangboard.domain.node import Node
from gangboard.domain.pod import Pod
from gangboard.domain.resources import is_accelerator, unit_word
from gangboard.domain.text import listed
from gangboard.facts.suspensions import writers_words
from gangboard.placement.one_node import Stranded, stranded_on
from gangboard.placement.unavailable_nodes import maintenance_words
from gangboard.plugins import registry
from gangboard.readmodels.capacity import blind_of
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.gangs import GangRow, build_rows
from gangboard.readmodels.kubectl import KubectlCommand, KubectlPlace
from gangboard.readmodels.members import MemberRow, member_row
from gangboard.readmodels.node_amounts import Amount, NodeRow
from gangboard.readmodels.node_fit import KeptOut, WaitingRow, kept_out, waiting_rows
from gangboard.readmodels.pools import TOPOLOGY_LABELS, left_on, pool_of, sum_nodes
from gangboard.readmodels.printable import printable
from gangboard.store.access import Viewer
from gangboard.store.gangs import unpack_detail
from gangboard.store.models import ClusterCapacity, Gang, NodeCapacity, WatchedObject
from gangboard.store.objects import read_objects, unpack

MOST_WAITING = 50
"""Waiting gangs that are asked about: those that wait for the most accelerators."""


@dataclass(frozen=True, slots=True)
class PodRow:
    """A pod on the node."""

    namespace: str
    name: str
    uid: str
    member: MemberRow | None
    """How it is, as a member of its gang; None for a pod of none."""
    accelerators: float
    since: datetime | None
    """When its kubelet took it."""
    restarts: int


@dataclass(frozen=True, slots=True)
class OccupantRow:
    """A gang with pods on the node."""

    gang: GangRow
    pods: tuple[PodRow, ...]
    accelerators: float
    elsewhere: int
    """Its pods on other nodes."""

    @property
    def shown(self) -> tuple[object, ...]:
        """All that is printed of it."""
        return self.gang.shown, self.pods, self.elsewhere


@dataclass(frozen=True, slots=True)
class PodSum:
    """Pods that are told as a number."""

    pods: int = 0
    accelerators: float = 0.0


@dataclass(frozen=True, slots=True)
class NodeView:
    """Everything on the Node page but the frame around every page."""

    cluster: str
    name: str
    freshness: Freshness
    blind: tuple[str, datetime | None, str] | None
    """Why nothing can be said of its room, around an age; then amounts, stranded and waiting are empty."""
    sentence: str
    """What matters most of it now."""
    ready: bool | None
    """None: it has not said."""
    ready_since: datetime | None
    ready_reason: str
    cordoned: bool
    created_at: datetime | None
    pool: tuple[str, str]
    """Label and value by which it is in a pool; both empty for none."""
    topology: tuple[tuple[str, str], ...]
    """(label, value) from the largest domain to the smallest."""
    taints: tuple[str, ...]
    amounts: tuple[Amount, ...]
    stranded: tuple[Stranded, ...]
    occupants: tuple[OccupantRow, ...]
    """Gangs, those with the most accelerators here first."""
    others: tuple[PodRow, ...]
    """Pods of no gang that may be named and can leave."""
    stay: PodSum
    """Pods of DaemonSets and of the node itself."""
    hidden: PodSum
    """Pods in namespaces that the viewer may not see."""
    waiting: tuple[WaitingRow, ...]
    more_waiting: int
    """Waiting gangs that were not asked about."""
    whole: bool
    """The viewer may see the whole cluster."""
    commands: tuple[KubectlCommand, ...]

    @property
    def would_fit(self) -> tuple[WaitingRow, ...]:
        """The waiting gangs of which pods would fit here."""
        return tuple(row for row in self.waiting if row.would_fit)

    @property
    def kept_out(self) -> tuple[KeptOut, ...]:
        """The other waiting gangs, by what keeps them out."""
        return kept_out(self.waiting)


def read_node(
    *, viewer: Viewer, cluster: str, name: str, clusters: Mapping[int, Freshness], now: datetime
) -> NodeView | None:
    """Return the page (about 8 queries); None for a node that is not there or not for this viewer.

    `clusters` are all that the viewer sees.
    """
    id_ = next((key for key, known in clusters.items() if known.cluster == cluster), None)
    if id_ is None or "\x00" in name:
        return None
    row = NodeCapacity.objects.filter(cluster_id=id_, name=name).first()
    node = _node_object(id_, name)
    if row is None or node is None:
        return None
    roots: Mapping[str, str] = row.pods
    pods = read_objects(id_, roots, {registry.pods().key: Pod})
    # What has left since the row was written is not on it any more.
    there = [pod for pod in pods.values() if name in (pod.node, pod.nominated_node)]
    whole = viewer.names_nodes(id_)
    seen = [pod for pod in there if viewer.sees(id_, pod.meta.ref.namespace)]
    if not whole and not seen:
        return None
    told = ClusterCapacity.objects.filter(cluster_id=id_).first()
    found = _Found(viewer, clusters[id_], row, node, there, now)
    return found.view(blind_of(clusters[id_], told), told, clusters)


def _node_object(cluster_id: int, name: str) -> Node | None:
    rows = WatchedObject.objects.filter(
        cluster_id=cluster_id, resource=NODE.key, namespace="", name=name
    )
    data = rows.values_list("data", flat=True).first()
    return None if data is None else unpack(bytes(data), Node)


@dataclass(frozen=True, slots=True)
class _Found:
    """What was read of a node, for one viewer."""

    viewer: Viewer
    cluster: Freshness
    row: NodeCapacity
    node: Node
    there: Sequence[Pod]
    now: datetime

    def view(
        self,
        blind: tuple[str, datetime | None, str] | None,
        told: ClusterCapacity | None,
        clusters: Mapping[int, Freshness],
    ) -> NodeView:
        """Return the page."""
        node, row = self.node, _node_row(self.row)
        whole = self.viewer.names_nodes(self.cluster.cluster_id)
        sums = sum_nodes("", "", [row])
        stranded = () if blind or told is None else stranded_on(left_on(row), _shapes(told))
        waiting, more = ((), 0) if blind else self._waiting(clusters)
        occupants, others = self._occupants(clusters)
        named = {pod.uid for one in occupants for pod in one.pods} | {pod.uid for pod in others}
        rest = [pod for pod in self.there if pod.meta.ref.uid not in named]
        ready = node.ready
        return NodeView(
            cluster=self.cluster.cluster,
            name=printable(self.row.name),
            freshness=self.cluster,
            blind=blind,
            sentence="" if blind else _sentence(node, sums.amounts, stranded),
            ready=None if ready is None else ready.is_true,
            ready_since=None if ready is None else ready.since,
            ready_reason=""
            if ready is None or ready.is_true
            else _reason(ready.reason, ready.message),
            cordoned=node.unschedulable,
            created_at=node.meta.created_at,
            pool=tuple(map(printable, pool_of(row))) if whole else ("", ""),  # type: ignore[arg-type]  # two texts
            topology=_topology(row.labels) if whole else (),
            taints=tuple(printable(str(taint)) for taint in node.taints) if whole else (),
            amounts=() if blind else sums.amounts,
            stranded=stranded,
            occupants=occupants,
            others=others,
            stay=_sum(pod for pod in rest if pod.stays),
            hidden=_sum(pod for pod in rest if not pod.stays),
            waiting=waiting,
            more_waiting=more,
            whole=whole,
            commands=_commands(
                self.row.name, node, KubectlPlace(self.cluster.cluster, self.cluster.context)
            ),
        )

    def _occupants(
        self, clusters: Mapping[int, Freshness]
    ) -> tuple[tuple[OccupantRow, ...], tuple[PodRow, ...]]:
        """Return the gangs on the node, and pods of none (1 query)."""
        roots: Mapping[str, str] = self.row.pods
        id_ = self.cluster.cluster_id
        gangs = list(
            Gang.objects.filter(
                self.viewer.gang_filter(), cluster_id=id_, gone_at=None, uid__in=set(roots.values())
            )
        )
        rows = build_rows(gangs, viewer=self.viewer, clusters=clusters, now=self.now)
        found: list[OccupantRow] = []
        gathered: set[str] = set()
        for gang, row in zip(gangs, rows, strict=True):
            members = unpack_detail(bytes(gang.detail)).members
            states = {member.ref.uid: member_row(member) for member in members}
            pods = [
                pod
                for pod in self.there
                if roots.get(pod.meta.ref.uid) == gang.uid
                and self.viewer.sees(id_, pod.meta.ref.namespace)
            ]
            if not pods:
                continue
            gathered |= {pod.meta.ref.uid for pod in pods}
            away = [one for one in members if one.node and one.node != self.row.name]
            found.append(
                OccupantRow(
                    row,
                    tuple(_pod_row(pod, states.get(pod.meta.ref.uid)) for pod in _by_name(pods)),
                    sum(map(_accelerators, pods)),
                    len(away),
                )
            )
        others = [
            pod
            for pod in self.there
            if pod.meta.ref.uid not in gathered
            and not pod.stays
            and self.viewer.sees(id_, pod.meta.ref.namespace)
        ]
        found.sort(key=lambda one: (-one.accelerators, one.gang.namespace, one.gang.name))
        return tuple(found), tuple(_pod_row(pod, None) for pod in _by_name(others))

    def _waiting(self, clusters: Mapping[int, Freshness]) -> tuple[tuple[WaitingRow, ...], int]:
        """Return what the node says to the gangs of which pods wait, and how many were left out."""
        id_ = self.cluster.cluster_id
        waiting = Gang.objects.filter(
            self.viewer.gang_filter(), cluster_id=id_, gone_at=None, health__in=NOT_WHOLE
        ).filter(created__gt=F("scheduled"))
        gangs = list(waiting.order_by("-accelerators", "since", "id")[:MOST_WAITING])
        shown = build_rows(gangs, viewer=self.viewer, clusters=clusters, now=self.now)
        rows = list(zip(gangs, shown, strict=True))
        more = waiting.count() - len(gangs) if len(gangs) == MOST_WAITING else 0
        return waiting_rows(id_, rows, self.node, self.there), more


def _node_row(row: NodeCapacity) -> NodeRow:
    return NodeRow(
        row.labels,
        row.taints,
        row.ready,
        row.cordoned,
        row.allocatable,
        row.used,
        row.held,
        row.unreadable,
    )


def _shapes(told: ClusterCapacity) -> list[dict[str, Decimal]]:
    return [
        {name: Decimal(text) for name, text in shape["requests"].items()} for shape in told.shapes
    ]


def _sentence(node: Node, amounts: Iterable[Amount], stranded: Sequence[Stranded]) -> str:
    """Return what matters most, in numbers of its first kind of accelerator; without any, in pods."""
    if not node.is_ready:
        return "Not ready: nothing new starts here, and what was here may be lost."
    main = next(iter(amounts), None)
    if main is None:
        return "It has not said what it offers."
    name = printable(unit_word(main.resource, main.allocatable))
    if node.unschedulable:
        by = writers_words([node.cordoned_by])
        cordoned = f"Cordoned {printable(by)}" if by else "Cordoned"
        if why := maintenance_words(node.lifecycle, node.taints):
            cordoned += f", for {printable(listed(why))}"
        return f"{cordoned}: {main.away or '0'} of {main.allocatable} {name} stand free and take no new pods."
    if main.unreadable:
        return f"How much {name} is free could not be read."
    first = next((one for one in stranded if one.resource == main.resource), None)
    if first is not None:
        return f"{main.free} of {main.allocatable} {name} are stranded: too little {first.for_lack_of} is left for any pod."
    if main.free in ("", "0"):
        return f"All {main.allocatable} {name} are in use."
    return f"{main.free} of {main.allocatable} {name} are free."


def _reason(reason: str, message: str) -> str:
    return printable(f"{reason}: {message}" if reason and message else reason or message)


def _topology(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (printable(label.rpartition("/")[2]), printable(labels[label]))
        for label in TOPOLOGY_LABELS
        if label in labels
    )


def _by_name(pods: Iterable[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda pod: (pod.meta.ref.namespace, pod.meta.ref.name))


def _accelerators(pod: Pod) -> float:
    return float(sum(amount for name, amount in pod.requests.items() if is_accelerator(name)))


def _pod_row(pod: Pod, member: MemberRow | None) -> PodRow:
    ref = pod.meta.ref
    return PodRow(
        namespace=printable(ref.namespace),
        name=printable(ref.name),
        uid=ref.uid,
        member=member,
        accelerators=_accelerators(pod),
        since=pod.start_time,
        restarts=sum(container.restarts for container in pod.containers),
    )


def _sum(pods: Iterable[Pod]) -> PodSum:
    found = list(pods)
    return PodSum(len(found), sum(map(_accelerators, found)))


def _commands(name: str, node: Node, place: KubectlPlace) -> tuple[KubectlCommand, ...]:
    """Return the commands for a node; none when its name is not fit for a shell."""
    pods = "kubectl get pods -A --field-selector spec.nodeName={} -o wide"
    why = maintenance_words(node.lifecycle, node.taints)
    meaning = f"Let pods in again, once this is over: {listed(why)}" if why else "Let pods in again"
    found = (
        place.command(printable(meaning), "kubectl uncordon {}", name)
        if node.unschedulable
        else None,
        place.command("The node", "kubectl describe node {}", name),
        place.command("Its pods", pods, name),
    )
    return tuple(one for one in found if one is not None)
