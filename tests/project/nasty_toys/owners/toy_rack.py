"""Racks between a toy Job and its pods, which name their rack by a label."""

from __future__ import annotations

from gangboard.decode.wire import Wire, WireMeta
from gangboard.domain.owner import Owner
from gangboard.plugins.owner_kind import OwnerKind


class Rack(Wire):
    """A rack as served."""

    metadata: WireMeta


class RackKind(OwnerKind):
    """A rack."""

    group = "toys.example"
    kind = "Rack"
    versions = ("v1",)
    wire = Rack
    needed = False
    stands_alone = False
    makes = ()
    pod_label = "toys.example/rack"

    def build(self, wire: Rack, version: str) -> Owner:
        """Return the rack."""
        return Owner(self.read_meta(wire, version))
