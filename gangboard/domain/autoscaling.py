"""Objects of autoscalers, which show the nodes that they provision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gangboard.domain.objects import Condition, Meta

KARPENTER = "karpenter.sh"
"""API group of NodeClaims."""
CLUSTER_AUTOSCALER = "autoscaling.x-k8s.io"
"""API group of ProvisioningRequests."""
CHECK_CAPACITY = "check-capacity.autoscaling.x-k8s.io"
"""Class of ProvisioningRequests for which cluster-autoscaler adds no nodes."""


@dataclass(frozen=True, slots=True)
class NodeClaim:
    """NodeClaim of Karpenter, a request for one machine (`karpenter.sh/v1`).

    Karpenter launches the machine, its node registers, and then the node is initialized. An initialized
    node has its devices and no startup taints. Karpenter deletes a claim without a machine at once if
    capacity is insufficient, else after 5 minutes. It also deletes a claim whose node does not register
    within 15 minutes (pkg/controllers/nodeclaim/lifecycle: launch.go, liveness.go, initialization.go).
    """

    meta: Meta
    pool: str = ""
    """Name of its NodePool."""
    node: str = ""
    """`status.nodeName`, set when its node registers."""
    launched: Condition | None = None
    """Never `False` in Karpenter 1.x. It is `Unknown` with a reason while launching fails."""
    registered: Condition | None = None
    initialized: Condition | None = None


@dataclass(frozen=True, slots=True)
class ProvisioningRequest:
    """Request for capacity from cluster-autoscaler, before its pods exist or while they wait."""

    meta: Meta
    class_name: str = ""
    """Provisioning class, such as `best-effort-atomic-scale-up.autoscaling.x-k8s.io`."""
    accepted: Condition | None = None
    provisioned: Condition | None = None
    failed: Condition | None = None
    revoked: Condition | None = None
    """The condition `CapacityRevoked`."""


@dataclass(frozen=True, slots=True)
class Autoscaling:
    """Objects of autoscalers in a cluster, as far as gangboard can read them."""

    claims: Mapping[str, NodeClaim] | None = None
    """All NodeClaims by name, or None if they are not served or not readable."""
    why: str = ""
    """Why NodeClaims are not readable, such as `forbidden`. Empty if they are not served."""
    requests: Mapping[tuple[str, str], ProvisioningRequest] | None = None
    """All ProvisioningRequests by namespace and name, or None as for claims."""
    why_no_requests: str = ""
    """The same as `why`, for ProvisioningRequests."""


NO_AUTOSCALING = Autoscaling()
