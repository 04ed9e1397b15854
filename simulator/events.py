"""Events: written as the scheduler, the kubelet and the controllers do, and served in both forms.

They are stored in the form of events.k8s.io/v1. The core form is derived from it.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from simulator.resources import EVENTS
from simulator.writes import Writer, microtime, timestamp

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


_NEW_STYLE = {"default-scheduler": "Binding", "jobset": "Reconciling"}
"""Components that write the newer form, and the action that they name. FailedScheduling names its own."""
_LONGEST = 1024
_KEPT = 4000


class Recorder:
    """Writes events. The oldest are removed if there are too many, as in a real cluster after an hour."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._names: list[tuple[str, str]] = []

    def record(
        self,
        about: Json,
        reason: str,
        note: str,
        *,
        source: str,
        warning: bool = False,
        at: datetime | None = None,
        count: int = 1,
    ) -> None:
        """Write an event about an object that carries its apiVersion, kind and uid."""
        moment = at or self._writer.now()
        meta = about["metadata"]
        namespace = meta.get("namespace", "default")
        name = f"{meta['name']}.18ea{self._writer.suffix(12)}"
        if len(note) > _LONGEST:
            note = note[: _LONGEST - 4] + " ..."
        regarding = {
            "apiVersion": about["apiVersion"],
            "kind": about["kind"],
            "name": meta["name"],
            "namespace": namespace,
            "uid": meta["uid"],
        }
        event: Json = {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "creationTimestamp": timestamp(moment),
            },
            "reason": reason,
            "note": note,
            "type": "Warning" if warning else "Normal",
            "regarding": regarding,
            "reportingController": source,
            **_times(source, reason, moment, count),
        }
        self._writer.create(EVENTS, event)
        self._names.append((namespace, name))
        if len(self._names) > _KEPT:
            self._writer.remove(EVENTS, self._names.pop(0))


def _times(source: str, reason: str, moment: datetime, count: int) -> Json:
    if source in _NEW_STYLE:
        fields: Json = {
            "action": "Scheduling" if reason == "FailedScheduling" else _NEW_STYLE[source],
            "eventTime": microtime(moment),
            "reportingInstance": f"{source}-host",
            "deprecatedSource": {},
        }
        if count > 1:
            fields["series"] = {"count": count, "lastObservedTime": microtime(moment)}
        return fields
    return {
        "eventTime": None,
        "reportingInstance": "",
        "deprecatedCount": count,
        "deprecatedFirstTimestamp": timestamp(moment),
        "deprecatedLastTimestamp": timestamp(moment),
        "deprecatedSource": {"component": source},
    }
