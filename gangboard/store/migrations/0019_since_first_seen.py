"""Whether `since` of a verdict is known, or only when it was seen first.

Until now that was not kept. A verdict that a gang had at its very first sight may be older than that; a
worker judges every gang when it takes a cluster, and puts right what objects tell.
"""

from __future__ import annotations

from typing import Any

from django.db import migrations, models

_FLAGS = ("since_first_seen", "last_since_first_seen")


def mark_first_sights(apps: Any, schema_editor: Any) -> None:
    """Mark the verdicts that have not changed since their gang was seen first."""
    gangs = apps.get_model("store", "Gang").objects.using(schema_editor.connection.alias)
    seen = models.F("first_seen_at")
    gangs.filter(since=seen).exclude(health="unknown").update(since_first_seen=True)
    gangs.filter(last_since=seen).update(last_since_first_seen=True)


class Migration(migrations.Migration):
    """Columns with a default in the database: older code that still runs can go on writing rows."""

    dependencies = [("store", "0018_outage")]
    operations = [
        *(
            migrations.AddField(
                model_name="gang",
                name=name,
                field=models.BooleanField(default=False, db_default=False),
            )
            for name in _FLAGS
        ),
        migrations.RunPython(mark_first_sights, migrations.RunPython.noop),
    ]
