"""Whose an object is: the Holds, queue entries and Jobs of one gang are found without reading a namespace.

The rows that are there get it from what is stored of them, so that no Hold is missed until the next
list. Groups get theirs too, until they are stored anew: nobody asks for it.
"""

from __future__ import annotations

from typing import Any

import msgspec
from django.db import migrations, models

_BATCH = 2000
_LONGEST = 64


class _Controller(msgspec.Struct):
    uid: str = ""


class _Meta(msgspec.Struct):
    controller: _Controller | None = None


class _Owned(msgspec.Struct):
    """As much of a stored object as says whose it is, whatever else it is."""

    meta: _Meta | None = None
    owner_uid: str = ""


def fill(apps: Any, schema_editor: Any) -> None:
    """Write the column of the rows that are there."""
    table = apps.get_model("store", "WatchedObject").objects
    decoder = msgspec.msgpack.Decoder(_Owned)
    last = 0
    rows = table.exclude(resource__in=("pods", "nodes", "events.events.k8s.io")).order_by("pk")
    while portion := list(rows.filter(pk__gt=last).only("pk", "data")[:_BATCH]):
        last = portion[-1].pk
        for row in portion:
            row.owner_uid = _owner_uid(decoder, bytes(row.data))
        table.bulk_update([row for row in portion if row.owner_uid], ["owner_uid"], batch_size=200)


def _owner_uid(decoder: Any, data: bytes) -> str | None:
    try:
        owned = decoder.decode(data)
    except msgspec.MsgspecError:
        return None  # of another shape: nobody's
    controller = owned.meta.controller if owned.meta is not None else None
    uid: str = owned.owner_uid or (controller.uid if controller is not None else "")
    return uid if 0 < len(uid) <= _LONGEST and uid.isprintable() else None


class Migration(migrations.Migration):
    """A column that may be null: older code that still runs can go on writing rows."""

    dependencies = [("store", "0012_heartbeat_began_at")]
    operations = [
        migrations.AddField(
            model_name="watchedobject",
            name="owner_uid",
            field=models.CharField(max_length=64, null=True),
        ),
        migrations.AddIndex(
            model_name="watchedobject",
            index=models.Index(
                condition=models.Q(("owner_uid__isnull", False)),
                fields=["cluster", "owner_uid"],
                name="objects_of_owner",
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
