"""Who wrote a field last, by `metadata.managedFields`.

A write that changes a field takes it from its former owners and stamps the writer's entry with the
time, cut to the second (API server, server-side apply). So the entries name the last writer only:
who wrote before can be known from earlier versions of the object and from nothing else. One manager has
one entry for all fields that it owns. Each of its later writes moves the time of that entry (observed on 1.37.2).
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from gangboard.decode.wire import Wire, read_text, read_time
from gangboard.domain.suspension import FieldWriter

NO_ENTRIES = msgspec.Raw(b"[]")
_OURS = "gangboard"
# The API server takes no longer name of a field manager.
_MAX_NAME = 128


class _WireEntry(Wire):
    """One entry. Its tree of fields stays bytes, of which only the way to one field is read."""

    manager: str = ""
    subresource: str | None = None
    time: str | None = None
    fields_v1: msgspec.Raw = msgspec.Raw(b"{}")


_ENTRIES = msgspec.json.Decoder(list[_WireEntry] | None)
_LEVEL = msgspec.json.Decoder(dict[str, msgspec.Raw])


def last_writer(entries: msgspec.Raw | bytes, pointer: str) -> tuple[str, str]:
    """Return who owns a field, and when it was set (RFC 3339); empty texts when nobody says.

    `entries` is the JSON of `managedFields`; what cannot be read of it says nothing. `pointer` is a
    JSON pointer such as `/spec/suspend`. The owner is the one that
    wrote last where several applied the same value, and gangboard only when nobody else owns the field.
    """
    path = [f"f:{key}" for key in pointer.strip("/").split("/")]
    try:
        found = [
            (entry.manager != _OURS, entry.time or "", entry.manager)
            for entry in _ENTRIES.decode(entries) or ()
            if _has(entry.fields_v1, path)
        ]
    except (ValueError, RecursionError):
        return "", ""
    if not found:
        return "", ""
    _, time, manager = max(found)
    return read_text(manager)[:_MAX_NAME], time


def field_writer(entries: msgspec.Raw | bytes, pointer: str) -> FieldWriter | None:
    """Return the last writer of a field as `last_writer` does, or None if no entry has the field."""
    manager, time = last_writer(entries, pointer)
    return FieldWriter(manager, read_time(time)) if manager else None


def creator(entries: msgspec.Raw | bytes, created_at: datetime | None) -> str:
    """Return the field manager that made an object; empty if the entries do not tell.

    It is the only writer of the spec in the second of the creation. Its entry has a later time if it has
    written again, and then nobody can tell it from other writers.
    """
    if created_at is None:
        return ""
    try:
        found = {
            entry.manager
            for entry in _ENTRIES.decode(entries) or ()
            if not entry.subresource
            and read_time(entry.time) == created_at
            and _has(entry.fields_v1, ["f:spec"])
        }
    except (ValueError, RecursionError):
        return ""
    return read_text(found.pop())[:_MAX_NAME] if len(found) == 1 else ""


def _has(fields: msgspec.Raw, path: list[str]) -> bool:
    """Whether a tree of fields has this one."""
    for key in path:
        inner = _LEVEL.decode(fields).get(key)
        if inner is None:
            return False
        fields = inner
    return True
