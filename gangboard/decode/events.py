"""Decoder of events.k8s.io/v1 events with reasons that rules use."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import replace
from datetime import datetime
from functools import partial

from gangboard.decode.wire import Int32, Wire, WireMeta, api_group, read_meta, read_text, read_time
from gangboard.domain.api_resource import Resource
from gangboard.domain.event import Event
from gangboard.domain.objects import ObjectRef

EVENT_REASONS = frozenset(
    {
        # Controllers that failed to create pods or Workloads.
        "FailedCreate",
        "FailedWorkloadCompilation",
        "FailedWorkloadCreate",
        # The scheduler. Karpenter also sends FailedScheduling.
        "FailedScheduling",
        "Preempted",
        # cluster-autoscaler (eventing_scale_up_processor.go) and Karpenter (scheduling/events.go).
        "NotTriggerScaleUp",
        "TriggeredScaleUp",
        "Nominated",
        # Karpenter, about a NodeClaim that it gives up (nodeclaim/lifecycle/events.go).
        "InsufficientCapacityError",
        "NodeClassNotReady",
        # The kubelet and volumes, about a container that does not start.
        "BackOff",
        "Failed",
        "FailedAttachVolume",
        "FailedBinding",
        "FailedCreatePodSandBox",
        "FailedMapVolume",
        "FailedMount",
        "FailedPrepareDynamicResources",
        "InspectFailed",
        "ProvisioningFailed",
        # Lost members.
        "DeletingNode",
        "Evicted",
        "NodeNotReady",
        "TaintManagerEviction",
    }
)
"""Reasons that gangboard stores. `build` drops events with other reasons."""

# The scheduler of 1.37 names a preempting PodGroup in `related`, and a preempting pod only in the note (observed).
_PREEMPTED_BY = re.compile(r"Preempted by (pod ?group|pod) ([\w-]{1,64}) on ")


class _WireReference(Wire):
    api_version: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


class _WireSeries(Wire):
    count: Int32 | None = None
    last_observed_time: str | None = None


class _WireSource(Wire):
    component: str | None = None


class WireEvent(Wire):
    """An event. Events from core v1 have the `deprecated` fields."""

    metadata: WireMeta
    reason: str | None = None
    type: str | None = None
    note: str | None = None
    regarding: _WireReference | None = None
    related: _WireReference | None = None
    event_time: str | None = None
    series: _WireSeries | None = None
    reporting_controller: str | None = None
    deprecated_count: Int32 | None = None
    deprecated_first_timestamp: str | None = None
    deprecated_last_timestamp: str | None = None
    deprecated_source: _WireSource | None = None


def _build(wire: WireEvent, version: str, *, reasons: Set[str] = EVENT_REASONS) -> Event | None:
    """Return the event, or None if no rule uses its reason."""
    if wire.reason is None or wire.reason not in reasons:
        return None
    series = wire.series or _WireSeries()
    first_seen, last_seen = _times(wire, series)
    source = wire.deprecated_source and wire.deprecated_source.component
    return Event(
        meta=read_meta(wire.metadata, "events.k8s.io", "Event", version),
        regarding=_reference(wire.regarding or _WireReference()),
        related=_reference(wire.related) if wire.related else _preemptor(wire),
        reason=wire.reason,
        type=wire.type or "",
        note=read_text(wire.note),
        count=series.count or wire.deprecated_count or 1,
        first_seen=first_seen,
        last_seen=last_seen,
        reporter=wire.reporting_controller or source or "",
    )


def _preemptor(wire: WireEvent) -> ObjectRef | None:
    """Return the preemptor that the note names by its uid, or None."""
    match = _PREEMPTED_BY.match(wire.note or "") if wire.reason == "Preempted" else None
    if match is None:
        return None
    if match[1] == "pod":
        return ObjectRef("", "Pod", "", "", match[2])
    return ObjectRef("scheduling.k8s.io", "PodGroup", "", "", match[2])


def _times(wire: WireEvent, series: _WireSeries) -> tuple[datetime | None, datetime | None]:
    """Return the first and last time. Each recorder fills other fields, and the creation time is the fallback."""
    candidates = (
        series.last_observed_time,
        wire.event_time,
        wire.deprecated_first_timestamp,
        wire.deprecated_last_timestamp,
    )
    times = [time for time in map(read_time, candidates) if time is not None]
    created = read_time(wire.metadata.creation_timestamp)
    return min(times, default=created), max(times, default=created)


def _reference(wire: _WireReference) -> ObjectRef:
    return ObjectRef(
        group=api_group(wire.api_version or ""),
        kind=wire.kind or "",
        namespace=wire.namespace or "",
        name=wire.name or "",
        uid=wire.uid or "",
    )


EVENT = Resource(
    group="events.k8s.io",
    plural="events",
    kind="Event",
    versions=("v1",),
    wire=WireEvent,
    model=Event,
    build=_build,
)


def event_resource(reasons: Set[str]) -> Resource:
    """Return the resource whose decoder also accepts events with these reasons."""
    return replace(EVENT, build=partial(_build, reasons=EVENT_REASONS | reasons))
