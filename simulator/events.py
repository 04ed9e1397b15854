"""Events: stored in the form of events.k8s.io/v1, served in the core form as well."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]

_TO_CORE = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}
_FROM_CORE = {core: new for new, core in _TO_CORE.items()}


def core_form(body: bytes) -> bytes:
    """Return a stored event as wire bytes in the form of core/v1."""
    event: Json = json.loads(body)
    core_event = {_TO_CORE.get(key, key): value for key, value in event.items()}
    core_event.setdefault("firstTimestamp", None)
    core_event.setdefault("lastTimestamp", None)
    core_event.setdefault("source", {})
    return json.dumps(core_event, separators=(",", ":")).encode()


def stored_form(event: Json) -> Json:
    """Return a core/v1 event in the stored form."""
    return {_FROM_CORE.get(key, key): value for key, value in event.items()}
