"""The plan of each cluster."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("store", "0011_cluster_meters")]
    operations = [
        migrations.CreateModel(
            "ClusterPlan",
            fields=[
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        serialize=False,
                        to="store.cluster",
                    ),
                ),
                ("observed_at", models.DateTimeField()),
                ("plan", models.JSONField()),
            ],
        ),
    ]
