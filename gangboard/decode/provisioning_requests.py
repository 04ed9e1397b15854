"""Decoder of cluster-autoscaler's ProvisioningRequests (`autoscaling.x-k8s.io`).

They are optional, because few clusters serve them. Fields:
cluster-autoscaler/apis/provisioningrequest/autoscaling.x-k8s.io/v1/types.go. The fields read are the same in v1beta1.
Pods name the request that they consume in one of two annotations.
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
from gangboard.domain.autoscaling import CLUSTER_AUTOSCALER, ProvisioningRequest


class WireConsumer(Wire):
    """Annotations in which a pod names the ProvisioningRequest that it consumes."""

    consumes: str | None = msgspec.field(
        default=None, name="autoscaling.x-k8s.io/consume-provisioning-request"
    )
    consumed: str | None = msgspec.field(
        default=None, name="cluster-autoscaler.kubernetes.io/consume-provisioning-request"
    )

    @property
    def request(self) -> str:
        """Name of the request, or empty. The newer annotation wins (pods_filter.go)."""
        return read_text(self.consumed if self.consumes is None else self.consumes)


class _WireSpec(Wire):
    provisioning_class_name: str | None = None


class _WireStatus(Wire):
    conditions: list[WireCondition] | None = None


class WireProvisioningRequest(Wire):
    """A ProvisioningRequest."""

    metadata: WireMeta
    spec: _WireSpec | None = None
    status: _WireStatus | None = None


def _build(wire: WireProvisioningRequest, version: str) -> ProvisioningRequest:
    conditions = (wire.status or _WireStatus()).conditions
    return ProvisioningRequest(
        meta=read_meta(wire.metadata, CLUSTER_AUTOSCALER, "ProvisioningRequest", version),
        class_name=read_text((wire.spec or _WireSpec()).provisioning_class_name),
        accepted=pick_condition(conditions, "Accepted"),
        provisioned=pick_condition(conditions, "Provisioned"),
        failed=pick_condition(conditions, "Failed"),
        revoked=pick_condition(conditions, "CapacityRevoked"),
    )


PROVISIONING_REQUEST = Resource(
    group=CLUSTER_AUTOSCALER,
    plural="provisioningrequests",
    kind="ProvisioningRequest",
    versions=("v1", "v1beta1"),
    wire=WireProvisioningRequest,
    model=ProvisioningRequest,
    build=_build,
)
