"""Last writers of fields and the creator of an object, by `metadata.managedFields`.

A write that changes a field makes the writer its owner, and sets the time of the writer's entry, cut to the second
(server-side apply of the API server). So the entries have the last writer only, and earlier versions of the object are
the only source of earlier writers. A manager has one entry for all its fields. Each later write of the manager moves the
time of that entry (observed on 1.37.2).
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from gangboard.decode.wire import Wire, read_text, read_time
from gangboard.domain.suspension import FieldWriter

NO_ENTRIES = msgspec.Raw(b"[]")
_OURS = "gangboard"
# Limit of the API server for the name of a field manager.
_MAX_NAME = 128


class _WireEntry(Wire):
    """Entry of `managedFields`. Its field tree stays bytes, and only the path to one field is decoded."""

    manager: str = ""
    subresource: str | None = None
    time: str | None = None
    fields_v1: msgspec.Raw = msgspec.Raw(b"{}")


_ENTRIES = msgspec.json.Decoder(list[_WireEntry] | None)
_LEVEL = msgspec.json.Decoder(dict[str, msgspec.Raw])


def last_writer(entries: msgspec.Raw | bytes, pointer: str) -> tuple[str, str]:
    """Return the last writer of a field and the time of the write (RFC 3339), or empty texts.

    `entries` is the JSON of `managedFields`, and malformed JSON counts as empty. `pointer` is a JSON pointer such as
    `/spec/suspend`. If several managers own the field, the last writer counts, and gangboard comes after all others.
    """
    path = [f"f:{key}" for key in pointer.strip("/").split("/")]
    try:
        owners = [
            (entry.manager != _OURS, entry.time or "", entry.manager)
            for entry in _ENTRIES.decode(entries) or ()
            if _has(entry.fields_v1, path)
        ]
    except (ValueError, RecursionError):
        return "", ""
    if not owners:
        return "", ""
    _, time, manager = max(owners)
    return read_text(manager)[:_MAX_NAME], time


def field_writer(entries: msgspec.Raw | bytes, pointer: str) -> FieldWriter | None:
    """Return the last writer of a field (see `last_writer`), or None."""
    manager, time = last_writer(entries, pointer)
    return FieldWriter(manager, read_time(time)) if manager else None


def creator(entries: msgspec.Raw | bytes, created_at: datetime | None) -> str:
    """Return the field manager that created an object, or an empty text if it is unknown.

    The creator is the only writer of the spec in the second of the creation. If it has written again, its entry has a
    later time, and it cannot be distinguished from other writers.
    """
    if created_at is None:
        return ""
    try:
        managers = {
            entry.manager
            for entry in _ENTRIES.decode(entries) or ()
            if not entry.subresource
            and read_time(entry.time) == created_at
            and _has(entry.fields_v1, ["f:spec"])
        }
    except (ValueError, RecursionError):
        return ""
    return read_text(managers.pop())[:_MAX_NAME] if len(managers) == 1 else ""


def _has(fields: msgspec.Raw, path: list[str]) -> bool:
    """Return whether a field tree has this path."""
    for key in path:
        inner = _LEVEL.decode(fields).get(key)
        if inner is None:
            return False
        fields = inner
    return True
