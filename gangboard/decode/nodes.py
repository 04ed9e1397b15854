"""Nodes: readiness and cordon. Never needed: without nodes only the nodes are not spoken of."""

from __future__ import annotations

from gangboard.decode.wire import Wire, WireCondition, WireMeta, pick_condition, read_meta
from gangboard.domain.node import Node
from gangboard.domain.registry import Resource


class _WireNodeSpec(Wire):
    unschedulable: bool | None = None


class _WireNodeStatus(Wire):
    conditions: list[WireCondition] | None = None


class WireNode(Wire):
    """A node as narrow as it is kept."""

    metadata: WireMeta
    spec: _WireNodeSpec | None = None
    status: _WireNodeStatus | None = None


def _build(wire: WireNode, version: str) -> Node:
    return Node(
        meta=read_meta(wire.metadata, "", "Node", version),
        ready=pick_condition(wire.status.conditions, "Ready") if wire.status else None,
        unschedulable=bool(wire.spec and wire.spec.unschedulable),
    )


NODE = Resource(
    group="",
    plural="nodes",
    kind="Node",
    versions=("v1",),
    wire=WireNode,
    model=Node,
    build=_build,
)
