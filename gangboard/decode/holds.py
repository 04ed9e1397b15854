"""Decoder of Holds (holds.gangboard.dev). They are optional, and other findings do not need them."""

from __future__ import annotations

import msgspec

from gangboard.decode.annotations import WireActionAnnotations
from gangboard.decode.problems import raise_for_faults
from gangboard.decode.wire import Name, Wire, WireMeta, read_meta, read_text, read_unbounded_time
from gangboard.domain.api_resource import DecodeError, Resource
from gangboard.domain.hold import (
    HOLD_GROUP,
    HOLD_VERSION,
    LONGEST_BY,
    LONGEST_REASON,
    Hold,
)


class _WireHoldMeta(WireMeta):
    annotations: WireActionAnnotations | None = None


class _WireHoldSpec(Wire):
    job_name: Name
    owner_uid: str = msgspec.field(name="ownerUID")
    by: str | None = None
    reason: str | None = None
    until: str | None = None


class WireHold(Wire):
    """A Hold."""

    metadata: _WireHoldMeta
    spec: _WireHoldSpec | None = None


def _build(wire: WireHold, version: str) -> Hold:
    spec = wire.spec
    if spec is None:
        raise DecodeError("it has no spec, so it names no Job")
    until = read_unbounded_time(spec.until)
    hold = Hold(
        meta=read_meta(wire.metadata, HOLD_GROUP, "Hold", version),
        job_name=read_text(spec.job_name),
        owner_uid=read_text(spec.owner_uid),
        # A modified CRD may allow longer texts.
        by=read_text(spec.by)[:LONGEST_BY],
        reason=read_text(spec.reason)[:LONGEST_REASON],
        until=until,
        action=(wire.metadata.annotations or WireActionAnnotations()).last_action,
    )
    fault = f"its end {spec.until[:40]!r} is no time" if spec.until and until is None else ""
    return raise_for_faults(hold, [fault] if fault else [])


HOLD = Resource(
    group=HOLD_GROUP,
    plural="holds",
    kind="Hold",
    versions=(HOLD_VERSION,),
    wire=WireHold,
    model=Hold,
    build=_build,
)
