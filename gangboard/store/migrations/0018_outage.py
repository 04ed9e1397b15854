"""Times in which nothing was seen of a cluster."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """A table of its own; verdicts of before stay as they were said."""

    dependencies = [("store", "0017_audit_chain")]
    operations = [
        migrations.CreateModel(
            name="Outage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("began_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField()),
                ("problem", models.CharField(default="", max_length=32)),
                ("sentence", models.TextField(default="")),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="store.cluster"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["cluster", "ended_at"], name="store_outag_cluster_d09125_idx")
                ],
            },
        ),
    ]
