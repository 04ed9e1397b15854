"""Plushies: a kind with a number of pods."""

from __future__ import annotations

from gangboard.decode.key_fields import KeyField
from gangboard.decode.owner_meta import WireOwnerMeta
from gangboard.decode.wire import Int32, Wire, or_one
from gangboard.domain.owner import Owner
from gangboard.plugins.owner_kind import KindNotes, OwnerKind


class PlushieSpec(Wire):
    """`spec` of a plushie."""

    pods: KeyField[Int32 | None] = None


class WirePlushie(Wire):
    """A plushie as narrow as it is kept."""

    metadata: WireOwnerMeta
    spec: PlushieSpec | None = None


class Plushie(OwnerKind):
    """A plushie."""

    group = "plushies.example"
    kind = "Plushie"
    versions = ("v1",)
    wire = WirePlushie
    notes = KindNotes(
        gang="the plushie with its pods", units="itself", limits="nothing", tested="no controller"
    )
    makes = ()
    pod_label = "plushies.example/name"

    def build(self, wire: WirePlushie, version: str) -> Owner:
        """Return the plushie with its pods."""
        spec = wire.spec or PlushieSpec()
        return Owner(self.read_meta(wire, version), desired=or_one(spec.pods))
