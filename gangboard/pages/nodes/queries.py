"""One node: its allocatable resources, the gangs on it, and whether waiting gangs fit.

A viewer of the whole cluster sees everything. A viewer with pods on the node sees these pods, the
resources, and a sum of the other pods. For other viewers the node does not exist.
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
from gangboard.placement.node_fit import find_stranded_accelerators
from gangboard.placement.unavailable_nodes import maintenance_markers
from gangboard.plugins import registry
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness, joined
from gangboard.readmodels.gangs import GangRow, build_rows
from gangboard.readmodels.kubectl import KubectlCommand, KubectlPlace
from gangboard.readmodels.members import MemberRow, member_row
from gangboard.readmodels.node_amounts import Amount, NodeRow, node_amounts, read_decimal
from gangboard.readmodels.node_pools import TOPOLOGY_LABELS, pool_of, unknown_nodes_sentence
from gangboard.store.access import Viewer
from gangboard.store.gangs import unpack_detail
from gangboard.store.models import ClusterCapacity, Gang, NodeCapacity, WatchedObject
from gangboard.store.objects import read_objects, unpack

MOST_WAITING = 50
"""Maximum number of waiting gangs to check, those with the most accelerators first."""


def read_node(
    *, viewer: Viewer, cluster: str, name: str, clusters: Mapping[int, Freshness], now: datetime
) -> NodeDetail | None:
    """Return the node, or None if it does not exist or the viewer may not see it (about 8 queries).

    `clusters` are all clusters that the viewer may see.
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
    # A pod may have left the node since the row was written.
    present = [pod for pod in pods.values() if name in (pod.node, pod.nominated_node)]
    is_visible = viewer.names_nodes(id_) or any(
        viewer.sees(id_, pod.meta.ref.namespace) for pod in present
    )
    if not is_visible:
        return None
    stored = ClusterCapacity.objects.filter(cluster_id=id_).first()
    return _NodeBuilder(viewer, clusters, clusters[id_], row, node, present, now).build(stored)


def _node_object(cluster_id: int, name: str) -> Node | None:
    rows = WatchedObject.objects.filter(
        cluster_id=cluster_id, resource=NODE.key, namespace="", name=name
    )
    data = rows.values_list("data", flat=True).first()
    return None if data is None else unpack(bytes(data), Node)


@dataclass(frozen=True, slots=True)
class _NodeBuilder:
    """Builds the rows of a node for one viewer."""

    viewer: Viewer
    clusters: Mapping[int, Freshness]
    cluster: Freshness
    row: NodeCapacity
    node: Node
    pods: Sequence[Pod]
    """The pods on the node."""
    now: datetime

    def build(self, stored: ClusterCapacity | None) -> NodeDetail:
        """Return the node. `stored` is the stored capacity of its cluster."""
        node, row = self.node, _node_row(self.row)
        sees_cluster = self.viewer.names_nodes(self.cluster.cluster_id)
        blind = unknown_nodes_sentence(self.cluster, stored)
        amounts = node_amounts([row])
        stranded = () if blind or stored is None else _stranded(row, stored)
        waiting, more_waiting = ((), 0) if blind else self._waiting()
        occupants, other_pods = self._occupants()
        named = {pod.uid for gang in occupants for pod in gang.pods}
        named |= {pod.uid for pod in other_pods}
        unnamed = [pod for pod in self.pods if pod.meta.ref.uid not in named]
        ready = node.ready
        label, value = pool_of(row) if sees_cluster else ("", "")
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
            topology=_topology(row.labels) if sees_cluster else (),
            taints=tuple(printable(str(taint)) for taint in node.taints) if sees_cluster else (),
            amounts=() if blind else amounts,
            stranded=stranded,
            occupants=occupants,
            other_pods=other_pods,
            staying=_sum(pod for pod in unnamed if pod.stays),
            hidden=_sum(pod for pod in unnamed if not pod.stays),
            waiting=waiting,
            more_waiting=more_waiting,
            sees_cluster=sees_cluster,
            commands=_commands(
                self.row.name, node, KubectlPlace(self.cluster.cluster, self.cluster.context)
            ),
        )

    def _occupants(self) -> tuple[tuple[OccupantRow, ...], tuple[NodePodRow, ...]]:
        """Return the gangs on the node, and pods without a gang (1 query)."""
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
        gang_pods: set[str] = set()
        for gang, row in zip(gangs, rows, strict=True):
            pods = [pod for pod in visible if roots.get(pod.meta.ref.uid) == gang.uid]
            if pods:
                gang_pods |= {pod.meta.ref.uid for pod in pods}
                occupants.append(self._occupant(gang, row, pods))
        other_pods = [pod for pod in visible if pod.meta.ref.uid not in gang_pods and not pod.stays]
        occupants.sort(key=lambda row: (-row.accelerators, row.gang.namespace, row.gang.name))
        return tuple(occupants), tuple(_pod_row(pod, None) for pod in _by_name(other_pods))

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
        """Return whether each waiting gang fits, and the number of gangs that were not checked."""
        id_ = self.cluster.cluster_id
        waiting = Gang.objects.filter(
            self.viewer.gang_filter(), cluster_id=id_, gone_at=None, health__in=NOT_WHOLE
        ).filter(created__gt=F("scheduled"))
        gangs = list(waiting.order_by("-accelerators", "since", "id")[:MOST_WAITING])
        rows = build_rows(gangs, viewer=self.viewer, clusters=self.clusters, now=self.now)
        unchecked = waiting.count() - len(gangs) if len(gangs) == MOST_WAITING else 0
        pairs = list(zip(gangs, rows, strict=True))
        return waiting_rows(id_, pairs, self.node, self.pods), unchecked


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
        for stranded in find_stranded_accelerators(_free_amounts(row), shapes)
    )


def _free_amounts(node: NodeRow) -> dict[str, Decimal]:
    """Return the free amount of each readable resource. Empty if the node takes no pods."""
    if not node.takes_pods:
        return {}
    amounts: dict[str, Decimal] = {}
    for resource, text in node.allocatable.items():
        offered, used = read_decimal(text), read_decimal(node.used.get(resource, "0"))
        if resource not in node.unreadable and offered is not None and used is not None:
            amounts[resource] = max(Decimal(), offered - used)
    return amounts


def _sentence(node: Node, amounts: Iterable[Amount], stranded: Sequence[StrandedRow]) -> str:
    """Return the main fact about the node, counted in its first accelerator resource, else in pods."""
    if not node.is_ready:
        return "Not ready: nothing new starts here, and what was here may be lost."
    main = next(iter(amounts), None)
    if main is None:
        return "It has not reported its resources."
    name = printable(unit_word(main.resource, main.allocatable))
    if node.unschedulable:
        by = writers_text([node.cordoned_by])
        cordoned = f"Cordoned {printable(by)}" if by else "Cordoned"
        if reasons := maintenance_markers(node.lifecycle, node.taints):
            cordoned += f", for {printable(listed(reasons))}"
        return f"{cordoned}: {main.away or '0'} of {main.allocatable} {name} are free but take no new pods."
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
    """Return the commands for a node. Empty if its name is unsafe in a shell."""
    pods = "kubectl get pods -A --field-selector spec.nodeName={} -o wide"
    meaning = "Allow new pods again"
    if reasons := maintenance_markers(node.lifecycle, node.taints):
        meaning = f"{meaning}, once this is over: {listed(reasons)}"
    commands = (
        place.command(printable(meaning), "kubectl uncordon {}", name)
        if node.unschedulable
        else None,
        place.command("The node", "kubectl describe node {}", name),
        place.command("Its pods", pods, name),
    )
    return tuple(command for command in commands if command is not None)
