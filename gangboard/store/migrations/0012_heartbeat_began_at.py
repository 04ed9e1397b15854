"""Since when a process gives signs of life."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """A column that may be null: older code that still runs can go on writing rows."""

    dependencies = [("store", "0011_event_about")]
    operations = [
        migrations.AddField("heartbeat", "began_at", models.DateTimeField(null=True)),
    ]
