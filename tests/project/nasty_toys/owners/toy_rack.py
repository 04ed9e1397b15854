"""Racks: what stands between a toy Job and its pods, which name it by a label."""

from __future__ import annotations

from gangboard.decode.wire import Wire, WireMeta, read_meta
from gangboard.domain.api_resource import Resource
from gangboard.domain.owner import Owner
from gangboard.plugins.owner_kind import OwnerKind


class Rack(Wire):
    """A rack as served."""

    metadata: WireMeta


def _build(wire: Rack, version: str) -> Owner:
    return Owner(read_meta(wire.metadata, "toys.example", "Rack", version))


OWNER = OwnerKind(
    resource=Resource("toys.example", "racks", "Rack", ("v1",), Rack, Owner, _build),
    label="Rack",
    stands_alone=False,
    makes=(),
    pod_label="toys.example/rack",
)
