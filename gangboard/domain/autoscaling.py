"""Nodes that are on their way: what autoscalers say of them in objects of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gangboard.domain.objects import Condition, Meta

KARPENTER = "karpenter.sh"
"""API group of NodeClaims."""
CLUSTER_AUTOSCALER = "autoscaling.x-k8s.io"
"""API group of ProvisioningRequests."""
CHECK_CAPACITY = "check-capacity.autoscaling.x-k8s.io"
"""The class of ProvisioningRequests for which no nodes are brought."""


@dataclass(frozen=True, slots=True)
class NodeClaim:
    """A machine that Karpenter asks its cloud for, and what has become of it (`karpenter.sh/v1`).

    One machine each: launched, then its node registers, then the node is initialized, which is when
    its devices are there and its startup taints are gone. Karpenter deletes a claim that gets no
    machine (insufficient capacity at once, else after 5 minutes) or whose node does not register in
    15 minutes (pkg/controllers/nodeclaim/lifecycle: launch.go, liveness.go, initialization.go).
    """

    meta: Meta
    pool: str = ""
    """The NodePool that it was made from."""
    node: str = ""
    """`status.nodeName`: set when its node registers."""
    launched: Condition | None = None
    """Never `False` in Karpenter 1.x: `Unknown` with a reason while launching fails."""
    registered: Condition | None = None
    initialized: Condition | None = None


@dataclass(frozen=True, slots=True)
class ProvisioningRequest:
    """Room that somebody asks cluster-autoscaler for before there are pods, or while they wait."""

    meta: Meta
    class_name: str = ""
    """How it is to be provided, such as `best-effort-atomic-scale-up.autoscaling.x-k8s.io`."""
    accepted: Condition | None = None
    provisioned: Condition | None = None
    failed: Condition | None = None
    revoked: Condition | None = None
    """The condition `CapacityRevoked`."""


@dataclass(frozen=True, slots=True)
class Autoscaling:
    """What could be seen of the objects of autoscalers in a cluster."""

    claims: Mapping[str, NodeClaim] | None = None
    """All NodeClaims by name; None where they are not served, or cannot be looked at."""
    why: str = ""
    """Why they cannot be looked at, such as `forbidden`; empty where none are served."""
    requests: Mapping[tuple[str, str], ProvisioningRequest] | None = None
    """All ProvisioningRequests by namespace and name; None as for claims."""
    why_no_requests: str = ""


NO_AUTOSCALING = Autoscaling()
