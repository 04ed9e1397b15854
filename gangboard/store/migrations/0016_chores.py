"""What one worker at a time does for a cluster: proving its Holds, inspecting what was verified."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """A table of its own: older code does not know it."""

    dependencies = [("store", "0015_action_token")]
    operations = [
        migrations.CreateModel(
            name="Chore",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="chores",
                        to="store.cluster",
                    ),
                ),
                ("name", models.CharField(max_length=16)),
                ("holder", models.CharField(default="", max_length=64)),
                ("held_until", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("cluster", "name"), name="one_chore_row")
                ],
            },
        ),
    ]
