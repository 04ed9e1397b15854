"""One node: what it offers, the gangs on it, and its answers to waiting gangs.

A viewer of the whole cluster sees everything. A viewer with pods on the node sees these pods, what the node
offers, and a sum of the other pods. For other viewers the node does not exist.
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
from gangboard.facts.suspensions import writers_text
from gangboard.pages.nodes.fit import waiting_rows
from gangboard.pages.nodes.rows import (
    NodeDetail,
    NodeLabelRow,
    NodePodRow,
    OccupantRow,
    PodSum,
    StrandedRow,
    WaitingRow,
)
from gangboard.placement.one_node import stranded_on
from gangboard.placement.unavailable_nodes import maintenance_words
from gangboard.plugins import registry
from gangboard.readmodels.cluster_nodes import blind_of
from gangboard.readmodels.freshness import Freshness, joined
from gangboard.readmodels.gangs import GangRow, build_rows
from gangboard.readmodels.kubectl import KubectlCommand, KubectlPlace
from gangboard.readmodels.members import MemberRow, member_row
from gangboard.readmodels.node_amounts import Amount, NodeRow, node_amounts, read_decimal
from gangboard.readmodels.pools import TOPOLOGY_LABELS, pool_of
from gangboard.readmodels.printable import printable
from gangboard.store.access import Viewer
from gangboard.store.gangs import unpack_detail
from gangboard.store.models import ClusterCapacity, Gang, NodeCapacity, WatchedObject
from gangboard.store.objects import read_objects, unpack

MOST_WAITING = 50
"""Waiting gangs that the node answers: those that wait for the most accelerators."""


def read_node(
    *, viewer: Viewer, cluster: str, name: str, clusters: Mapping[int, Freshness], now: datetime
) -> NodeDetail | None:
    """Return the node (about 8 queries); None if it does not exist or the viewer may not see it.

    `clusters` are all that the viewer sees.
    """
    id_ = next((key for key, row in clusters.items() if row.cluster == cluster), None)
    if id_ is None or "\x00" in name:
        return None
    row = NodeCapacity.objects.filter(cluster_id=id_, name=name).first()
    node = _node_object(id_, name)
    if row is None or node is None:
        return None
    roots: Mapping[str, str] = row.pods
    pods = read_objects(id_, roots, {registry.pods().key: Pod})
    # A pod that has left since the row was written is not on the node any more.
    present = [pod for pod in pods.values() if name in (pod.node, pod.nominated_node)]
    is_visible = viewer.names_nodes(id_) or any(
        viewer.sees(id_, pod.meta.ref.namespace) for pod in present
    )
    if not is_visible:
        return None
    stored = ClusterCapacity.objects.filter(cluster_id=id_).first()
    return _Reader(viewer, clusters, clusters[id_], row, node, present, now).read(stored)


def _node_object(cluster_id: int, name: str) -> Node | None:
    rows = WatchedObject.objects.filter(
        cluster_id=cluster_id, resource=NODE.key, namespace="", name=name
    )
    data = rows.values_list("data", flat=True).first()
    return None if data is None else unpack(bytes(data), Node)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Makes the rows of a node for one viewer."""

    viewer: Viewer
    clusters: Mapping[int, Freshness]
    cluster: Freshness
    row: NodeCapacity
    node: Node
    pods: Sequence[Pod]
    """The pods on it."""
    now: datetime

    def read(self, stored: ClusterCapacity | None) -> NodeDetail:
        """Return the node. `stored` is what is stored of all nodes of its cluster."""
        node, row = self.node, _node_row(self.row)
        whole = self.viewer.names_nodes(self.cluster.cluster_id)
        blind = blind_of(self.cluster, stored)
        amounts = node_amounts([row])
        stranded = () if blind or stored is None else _stranded(row, stored)
        waiting, more = ((), 0) if blind else self._waiting()
        occupants, others = self._occupants()
        named = {pod.uid for gang in occupants for pod in gang.pods} | {pod.uid for pod in others}
        rest = [pod for pod in self.pods if pod.meta.ref.uid not in named]
        ready = node.ready
        label, value = pool_of(row) if whole else ("", "")
        return NodeDetail(
            cluster=self.cluster.cluster,
            name=printable(self.row.name),
            freshness=self.cluster,
            blind=blind,
            why=joined(blind, self.now) if blind is not None else "",
            sentence="" if blind else _sentence(node, amounts, stranded),
            ready=None if ready is None else ready.is_true,
            ready_since=None if ready is None else ready.since,
            ready_reason=""
            if ready is None or ready.is_true
            else _reason(ready.reason, ready.message),
            cordoned=node.unschedulable,
            created_at=node.meta.created_at,
            pool=(printable(label), printable(value)),
            topology=_topology(row.labels) if whole else (),
            taints=tuple(printable(str(taint)) for taint in node.taints) if whole else (),
            amounts=() if blind else amounts,
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

    def _occupants(self) -> tuple[tuple[OccupantRow, ...], tuple[NodePodRow, ...]]:
        """Return the gangs on the node, and pods of no gang (1 query)."""
        roots: Mapping[str, str] = self.row.pods
        id_ = self.cluster.cluster_id
        visible = [pod for pod in self.pods if self.viewer.sees(id_, pod.meta.ref.namespace)]
        gangs = list(
            Gang.objects.filter(
                self.viewer.gang_filter(), cluster_id=id_, gone_at=None, uid__in=set(roots.values())
            )
        )
        rows = build_rows(gangs, viewer=self.viewer, clusters=self.clusters, now=self.now)
        occupants: list[OccupantRow] = []
        of_gangs: set[str] = set()
        for gang, row in zip(gangs, rows, strict=True):
            pods = [pod for pod in visible if roots.get(pod.meta.ref.uid) == gang.uid]
            if pods:
                of_gangs |= {pod.meta.ref.uid for pod in pods}
                occupants.append(self._occupant(gang, row, pods))
        others = [pod for pod in visible if pod.meta.ref.uid not in of_gangs and not pod.stays]
        occupants.sort(key=lambda row: (-row.accelerators, row.gang.namespace, row.gang.name))
        return tuple(occupants), tuple(_pod_row(pod, None) for pod in _by_name(others))

    def _occupant(self, gang: Gang, row: GangRow, pods: Sequence[Pod]) -> OccupantRow:
        members = unpack_detail(bytes(gang.detail)).members
        by_uid = {member.ref.uid: member_row(member) for member in members}
        return OccupantRow(
            gang=row,
            pods=tuple(_pod_row(pod, by_uid.get(pod.meta.ref.uid)) for pod in _by_name(pods)),
            accelerators=sum(map(_accelerators, pods)),
            elsewhere=sum(member.node not in ("", self.row.name) for member in members),
        )

    def _waiting(self) -> tuple[tuple[WaitingRow, ...], int]:
        """Return the answers of the node to waiting gangs, and how many gangs were left out."""
        id_ = self.cluster.cluster_id
        waiting = Gang.objects.filter(
            self.viewer.gang_filter(), cluster_id=id_, gone_at=None, health__in=NOT_WHOLE
        ).filter(created__gt=F("scheduled"))
        gangs = list(waiting.order_by("-accelerators", "since", "id")[:MOST_WAITING])
        rows = build_rows(gangs, viewer=self.viewer, clusters=self.clusters, now=self.now)
        more = waiting.count() - len(gangs) if len(gangs) == MOST_WAITING else 0
        pairs = list(zip(gangs, rows, strict=True))
        return waiting_rows(id_, pairs, self.node, self.pods), more


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


def _stranded(row: NodeRow, stored: ClusterCapacity) -> tuple[StrandedRow, ...]:
    shapes = [
        {name: Decimal(text) for name, text in shape["requests"].items()} for shape in stored.shapes
    ]
    return tuple(
        StrandedRow(stranded.resource, stranded.amount, stranded.for_lack_of)
        for stranded in stranded_on(_left_on(row), shapes)
    )


def _left_on(node: NodeRow) -> dict[str, Decimal]:
    """Return the free amount of each resource whose amounts could be read; nothing if it takes no pods."""
    if not node.takes_pods:
        return {}
    amounts: dict[str, Decimal] = {}
    for resource, text in node.allocatable.items():
        offered, used = read_decimal(text), read_decimal(node.used.get(resource, "0"))
        if resource not in node.unreadable and offered is not None and used is not None:
            amounts[resource] = max(Decimal(), offered - used)
    return amounts


def _sentence(node: Node, amounts: Iterable[Amount], stranded: Sequence[StrandedRow]) -> str:
    """Return the main fact in numbers of its first kind of accelerator; without any, in pods."""
    if not node.is_ready:
        return "Not ready: nothing new starts here, and what was here may be lost."
    main = next(iter(amounts), None)
    if main is None:
        return "It has not said what it offers."
    name = printable(unit_word(main.resource, main.allocatable))
    if node.unschedulable:
        by = writers_text([node.cordoned_by])
        cordoned = f"Cordoned {printable(by)}" if by else "Cordoned"
        if why := maintenance_words(node.lifecycle, node.taints):
            cordoned += f", for {printable(listed(why))}"
        return f"{cordoned}: {main.away or '0'} of {main.allocatable} {name} stand free and take no new pods."
    if main.unreadable:
        return f"How much {name} is free could not be read."
    first = next((row for row in stranded if row.resource == main.resource), None)
    if first is not None:
        return f"{main.free} of {main.allocatable} {name} are stranded: too little {first.for_lack_of} is left for any pod."
    if main.free in ("", "0"):
        return f"All {main.allocatable} {name} are in use."
    return f"{main.free} of {main.allocatable} {name} are free."


def _reason(reason: str, message: str) -> str:
    return printable(f"{reason}: {message}" if reason and message else reason or message)


def _topology(labels: Mapping[str, str]) -> tuple[NodeLabelRow, ...]:
    return tuple(
        NodeLabelRow(printable(label.rpartition("/")[2]), printable(labels[label]))
        for label in TOPOLOGY_LABELS
        if label in labels
    )


def _by_name(pods: Iterable[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda pod: (pod.meta.ref.namespace, pod.meta.ref.name))


def _accelerators(pod: Pod) -> float:
    return float(sum(amount for name, amount in pod.requests.items() if is_accelerator(name)))


def _pod_row(pod: Pod, member: MemberRow | None) -> NodePodRow:
    ref = pod.meta.ref
    return NodePodRow(
        namespace=printable(ref.namespace),
        name=printable(ref.name),
        uid=ref.uid,
        member=member,
        accelerators=_accelerators(pod),
        since=pod.start_time,
        restarts=sum(container.restarts for container in pod.containers),
    )


def _sum(pods: Iterable[Pod]) -> PodSum:
    amounts = [_accelerators(pod) for pod in pods]
    return PodSum(len(amounts), sum(amounts))


def _commands(name: str, node: Node, place: KubectlPlace) -> tuple[KubectlCommand, ...]:
    """Return the commands for a node; none when its name is not fit for a shell."""
    pods = "kubectl get pods -A --field-selector spec.nodeName={} -o wide"
    why = maintenance_words(node.lifecycle, node.taints)
    meaning = f"Let pods in again, once this is over: {listed(why)}" if why else "Let pods in again"
    commands = (
        place.command(printable(meaning), "kubectl uncordon {}", name)
        if node.unschedulable
        else None,
        place.command("The node", "kubectl describe node {}", name),
        place.command("Its pods", pods, name),
    )
    return tuple(command for command in commands if command is not None)
