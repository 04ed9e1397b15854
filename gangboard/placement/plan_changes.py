"""Changes that a plan tries, one by one: nodes to open, gangs to suspend, and pods to move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from gangboard.domain.capacity import NodeInfo, Requested, RunningGang
from gangboard.domain.cluster_plan import MovablePod, PlanStepKind
from gangboard.domain.objects import ObjectRef, node_ref
from gangboard.domain.pod_constraints import Effect, Taint
from gangboard.domain.suspension import FieldWriter
from gangboard.placement.gang_nodes import without_requested
from gangboard.placement.plan_ground import Ground
from gangboard.placement.plan_room import Room
from gangboard.placement.unavailable_nodes import is_set_by_controller, uncordoned

MAX_GANGS = 3
"""Most gangs that one step suspends."""


NODE_KINDS = (PlanStepKind.UNCORDON, PlanStepKind.REMOVE_TAINT)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of some nodes."""

    kind: PlanStepKind
    ref: ObjectRef
    """The node, the gang or the pod."""
    nodes: tuple[str, ...]
    """Names of the nodes that change."""
    loads: Mapping[str, Requested] = field(default_factory=dict)
    """Node → usage that ends."""
    taint: Taint | None = None
    priority: int = 0
    """Priority of the gang."""
    pod: MovablePod | None = None
    writer: FieldWriter | None = None
    """Who cordoned or tainted the node."""

    def applied_to(self, node: NodeInfo) -> NodeInfo:
        """Return one of its nodes after the change."""
        if self.kind is PlanStepKind.UNCORDON:
            return uncordoned(node)
        if self.kind is PlanStepKind.REMOVE_TAINT:
            return replace(node, taints=tuple(item for item in node.taints if item != self.taint))
        return without_requested(node, self.loads[node.name])


def after(room: Room, changes: Iterable[Change]) -> Room:
    """Return a copy of the room with these changes."""
    changed = room.copy()
    apply_to([changed], changes)
    return changed


def apply_to(rooms: Iterable[Room], changes: Iterable[Change]) -> None:
    """Apply changes to the nodes of rooms. Rooms on the same ground also have the same one afterwards."""
    changes = tuple(changes)
    grounds: dict[int, tuple[Ground, Ground]] = {}
    names = {name for change in changes for name in change.nodes}
    for room in rooms:
        before = room.ground
        if id(before) not in grounds:
            grounds[id(before)] = before, changed_ground(before, changes)
        room.nodes.stand_on(grounds[id(before)][1], names)


def changed_ground(ground: Ground, changes: Iterable[Change]) -> Ground:
    """Return the ground after changes."""
    nodes: dict[str, NodeInfo] = {}
    for change in changes:
        for name in change.nodes:
            node = nodes.get(name) or ground.node(name)
            if node is not None:
                nodes[name] = change.applied_to(node)
    return ground.changed(nodes)


# The changes of a cluster


def uncordons(nodes: Iterable[NodeInfo]) -> Iterator[Change]:
    """Yield the uncordons. Nodes in maintenance or not ready stay cordoned."""
    for node in nodes:
        if node.unschedulable and node.ready and not node.lifecycle:
            yield Change(
                PlanStepKind.UNCORDON,
                node_ref(node.name),
                (node.name,),
                writer=node.cordoned_by,
            )


def taint_removals(nodes: Iterable[NodeInfo]) -> dict[Taint, list[Change]]:
    """Return taint → the removals of it. Taints of controllers, and of nodes that are cordoned or not ready, stay."""
    removals: dict[Taint, list[Change]] = {}
    for node in nodes:
        if node.unschedulable or node.lifecycle or not node.ready:
            continue
        strict = [
            taint
            for taint in node.taints
            if taint.effect in (Effect.NO_SCHEDULE, Effect.NO_EXECUTE)
        ]
        if any(map(is_set_by_controller, strict)):
            continue
        for taint in strict:
            change = Change(
                PlanStepKind.REMOVE_TAINT,
                node_ref(node.name),
                (node.name,),
                taint=taint,
                writer=node.tainted_by,
            )
            removals.setdefault(taint, []).append(change)
    return removals


def suspends(gangs: Iterable[RunningGang], kind: PlanStepKind) -> Iterator[Change]:
    """Yield the suspends of gangs whose suspend stays."""
    for gang in gangs:
        if gang.suspendable and gang.active_loads:
            yield Change(
                kind,
                gang.ref,
                tuple(gang.active_loads),
                gang.active_loads,
                priority=gang.priority,
            )
