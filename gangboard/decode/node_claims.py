"""Decoder of Karpenter's NodeClaims (`karpenter.sh/v1`, cluster-scoped).

They are optional, because Karpenter's events show the provisioning as well. `spec` is not read, because its
requirements follow Karpenter's rules instead of the scheduler's. Fields: pkg/apis/v1/nodeclaim.go,
nodeclaim_status.go and labels.go of kubernetes-sigs/karpenter.
"""

from __future__ import annotations

import msgspec

from gangboard.decode.wire import (
    Wire,
    WireCondition,
    WireMeta,
    pick_condition,
    read_meta,
    read_text,
)
from gangboard.domain.api_resource import Resource
from gangboard.domain.autoscaling import KARPENTER, NodeClaim


class _WireLabels(Wire):
    pool: str | None = msgspec.field(default=None, name="karpenter.sh/nodepool")


class WireNodeClaimMeta(WireMeta):
    """`metadata` of a NodeClaim."""

    labels: _WireLabels | None = None


class _WireStatus(Wire):
    node_name: str | None = None
    conditions: list[WireCondition] | None = None


class WireNodeClaim(Wire):
    """A NodeClaim."""

    metadata: WireNodeClaimMeta
    status: _WireStatus | None = None


def _build(wire: WireNodeClaim, version: str) -> NodeClaim:
    status = wire.status or _WireStatus()
    return NodeClaim(
        meta=read_meta(wire.metadata, KARPENTER, "NodeClaim", version),
        pool=read_text((wire.metadata.labels or _WireLabels()).pool),
        node=read_text(status.node_name),
        launched=pick_condition(status.conditions, "Launched"),
        registered=pick_condition(status.conditions, "Registered"),
        initialized=pick_condition(status.conditions, "Initialized"),
    )


NODE_CLAIM = Resource(
    group=KARPENTER,
    plural="nodeclaims",
    kind="NodeClaim",
    versions=("v1",),
    wire=WireNodeClaim,
    model=NodeClaim,
    build=_build,
)
