"""Toy Jobs: a kind that is called as another one is, whose status alone says whether it runs."""

from __future__ import annotations

import msgspec

from gangboard.decode.wire import Wire, WireMeta
from gangboard.domain.owner import Owner
from gangboard.plugins.owner_kind import OwnerKind


class _Labels(Wire):
    line: str = msgspec.field(default="", name="toys.example/line")


class _Meta(WireMeta):
    labels: _Labels | None = None


class _Spec(Wire):
    pods: int = 1


class _Status(Wire):
    phase: str = ""


class ToyJob(Wire):
    """A toy Job as served."""

    metadata: _Meta
    spec: _Spec | None = None
    status: _Status | None = None


class Job(OwnerKind):
    """A toy Job."""

    group = "toys.example"
    kind = "Job"
    versions = ("v1",)
    wire = ToyJob
    needed = False
    label = "toy Job"
    levers = ("command",)
    makes = (("toys.example", "Rack"),)

    def build(self, wire: ToyJob, version: str) -> Owner:
        """Return the toy Job."""
        labels = wire.metadata.labels or _Labels()
        return Owner(
            self.read_meta(wire, version),
            suspended=(wire.status or _Status()).phase in ("Stopped", "Waiting"),
            desired=(wire.spec or _Spec()).pods,
            queue=labels.line,
        )
