"""What the priority of a gang is worth, to sort by.

Nothing is read again for it: a worker judges every gang of a cluster when it takes the cluster for the
first time, and a row whose value was null differs then and is written. Until then such gangs stand last.
"""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """A column that may be null: older code that still runs can go on writing rows."""

    dependencies = [("store", "0008_read_once_more")]
    operations = [
        migrations.AddField(
            model_name="gang",
            name="priority_value",
            field=models.IntegerField(null=True),
        ),
    ]
