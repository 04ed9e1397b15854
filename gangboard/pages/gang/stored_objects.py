"""The stored owner of a gang, its Jobs, groups, Holds and queue entries, as YAML."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import yaml

from gangboard.readmodels.formatting import printable
from gangboard.store.access import Viewer
from gangboard.store.gangs import unpack_detail
from gangboard.store.models import Gang, WatchedObject

MOST_OBJECTS = 50
"""Maximum number of objects. A gang can have thousands of Jobs that differ only in their names."""
LONGEST_TEXT = 2_000
_HEADING = """\
# What gangboard stores of these objects: a few fields of each, under its own names.
# No environment, arguments, secrets or annotations are kept. The whole object: kubectl get -o yaml.
"""


def stored_yaml(*, viewer: Viewer, gang_id: str) -> str | None:
    """Return the YAML, or None if the gang does not exist or the viewer may not see it (3 queries)."""
    if "\x00" in gang_id:  # the one character that PostgreSQL refuses
        return None
    gang = Gang.objects.filter(viewer.gang_filter(), pk=gang_id).first()
    if gang is None:
        return None
    detail = unpack_detail(bytes(gang.detail))
    # Children include Holds and queue entries. Jobs are in both lists and are printed once.
    children = WatchedObject.objects.filter(
        cluster_id=gang.cluster_id, owner_uid=gang.uid, namespace=gang.namespace
    ).order_by("name")
    uids = [gang.uid, *(job.ref.uid for job in detail.jobs), *(ref.uid for ref in detail.groups)]
    position = {uid: number for number, uid in enumerate(dict.fromkeys(uids))}
    named = WatchedObject.objects.filter(
        cluster_id=gang.cluster_id,
        namespace=gang.namespace,
        uid__in=list(position)[:MOST_OBJECTS],
    )
    rows = {row.uid: row for row in (*named, *children[:MOST_OBJECTS])}
    objects = sorted(
        rows.values(), key=lambda row: (position.get(row.uid, len(position)), row.name)
    )
    omitted = max(0, len(position) - MOST_OBJECTS)
    note = f"# {omitted} more are not shown.\n" if omitted else ""
    return f"{_HEADING}{note}{''.join(map(_document, objects[:MOST_OBJECTS]))}"


def _document(row: WatchedObject) -> str:
    fields = _plain(msgspec.msgpack.decode(bytes(row.data)))
    text: str = yaml.safe_dump(
        {"resource": printable(row.resource), **fields}, sort_keys=False, allow_unicode=True
    )
    return f"---\n{text}"


def _plain(value: Any) -> Any:  # any stored value
    """Return the stored values without empty ones and with sanitized texts."""
    if isinstance(value, dict):
        pairs = ((printable(str(key)), _plain(item)) for key, item in value.items())
        return {key: item for key, item in pairs if item not in (None, "", [], {})}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return printable(value, LONGEST_TEXT) if isinstance(value, str) else value
