"""Fit of pods on one node: what keeps a pod out, and which accelerators no pod can use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from gangboard.domain.capacity import NodeInfo, Shape
from gangboard.domain.node import Node
from gangboard.domain.placement_result import Filter, When
from gangboard.domain.pod import Pod
from gangboard.domain.resources import is_accelerator
from gangboard.placement.amounts import free_amount, requested_amounts
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.matching import undecidable
from gangboard.placement.members import shape_of, unreadable_request_text
from gangboard.placement.node_filters import NodeFilters
from gangboard.placement.node_snapshot import NodeSnapshot, snapshot_of
from gangboard.placement.term_matching import term_matcher
from gangboard.placement.unavailable_nodes import uncordoned
from gangboard.placement.usage import Usage

COMPANIONS = ("cpu", "memory")
"""Resources that pods need besides accelerators."""


@dataclass(frozen=True, slots=True)
class NodeFit:
    """Whether one node takes pods of one shape, and what keeps them out."""

    pods: int = 0
    """Number of pods that fit now. With `cordoned`, it is the number after an uncordon."""
    cordoned: bool = False
    """True if the cordon is the only obstacle."""
    filter: Filter | None = None
    """The first filter that excludes the shape even without the pods that can leave."""
    detail: str = ""
    """The taint or resource of `filter`."""
    limit: str = ""
    """The exhausted resource, or a value of `Constraint`, if the node could host the shape but cannot now."""
    requested: int = 0
    """Request of one pod for the resource of `detail` or `limit`, in scheduler units."""
    available: int = 0
    """Free amount of that resource now. With `filter`, it is the amount without the pods that can leave."""
    unclear: tuple[str, ...] = ()
    """Requirements that make any answer unsafe. If set, the other fields have no meaning."""


class NodeFitCheck:
    """Checks pods against one node and its pods. Pods of other nodes are unknown."""

    def __init__(self, node: Node, placed: Iterable[Pod], waiting: Iterable[Pod]) -> None:
        """Collect the usage of the pods on the node, and the terms of all pods to check."""
        usage = Usage()
        usage.put_node(node)
        # Waiting pods use nothing, but the matches of their terms count.
        for pod in (*placed, *waiting):
            usage.put_pod(pod)
        self._capacity = usage.capacity()
        self._uncordoned = NodeSnapshot([uncordoned(self.node)])

    @property
    def node(self) -> NodeInfo:
        """The node as placement sees it."""
        return self._capacity.nodes[0]

    def shapes_of(self, waiting: Iterable[Pod]) -> tuple[Shape, ...]:
        """Return the distinct shapes of these pods."""
        pods = tuple(waiting)
        matched = term_matcher(self._capacity, pods)
        shapes: dict[object, Shape] = {}
        for pod in pods:
            terms = matched(pod)
            unsupported = (
                *pod.needs.unsupported,
                *map(unreadable_request_text, pod.unread_requests),
            )
            key = (tuple(sorted(pod.requests.items())), pod.needs, unsupported, terms)
            if key not in shapes:
                shapes[key] = shape_of("", pod.requests, pod.needs, unsupported, terms)
        return tuple(shapes.values())

    def check(self, shape: Shape) -> NodeFit:
        """Return whether a pod of the shape fits now, and what keeps it out."""
        unclear = undecidable(shape)
        if unclear:
            return NodeFit(unclear=tuple(unclear))
        node, requested = self.node, requested_amounts(shape)
        filters = NodeFilters(snapshot_of(self._capacity), shape).filters(())
        reasons = [(node_filter, detail) for node_filter, detail, mask in filters if mask[0]]
        lasting = [reason for reason in reasons if reason[0] is not Filter.CORDON]
        if lasting:
            node_filter, detail = lasting[0]
            amount = free_amount(node, detail, When.DRAINED) if detail in requested else 0
            return NodeFit(
                filter=node_filter,
                detail=detail,
                requested=requested.get(detail, 0),
                available=amount,
            )
        pods, _, _, saturated = feasible_nodes_of(self._uncordoned, shape).summary()
        if not pods:
            ((limit, _, _),) = saturated
            amount = free_amount(node, limit, When.CURRENT) if limit in requested else 0
            return NodeFit(limit=limit, requested=requested.get(limit, 0), available=amount)
        return NodeFit(pods=pods, cordoned=bool(reasons))


@dataclass(frozen=True, slots=True)
class StrandedAccelerators:
    """Free accelerators of a node that no pod can use."""

    resource: str
    amount: Decimal
    for_lack_of: str
    """The exhausted resource, `cpu` or `memory`."""


def find_stranded_accelerators(
    remaining: Mapping[str, Decimal], shapes: Iterable[Mapping[str, Decimal]]
) -> tuple[StrandedAccelerators, ...]:
    """Return the free accelerators of one node for which its cpu or memory leaves no pod.

    `remaining` are free amounts. `shapes` are the requests of one pod of each kind in the cluster. Both are in base
    units. Accelerators are not stranded if every kind requests more than is free, or if no kind requests them.
    """
    kinds = list(shapes)
    stranded = []
    for resource, amount in sorted(remaining.items()):
        if not is_accelerator(resource) or amount <= 0:
            continue
        able = [kind for kind in kinds if 0 < kind.get(resource, Decimal()) <= amount]
        lacking = [
            [name for name in COMPANIONS if kind.get(name, 0) > remaining.get(name, 0)]
            for kind in able
        ]
        if able and all(lacking):
            most = Counter(name for names in lacking for name in names).most_common(1)
            stranded.append(StrandedAccelerators(resource, amount, most[0][0]))
    return tuple(stranded)
