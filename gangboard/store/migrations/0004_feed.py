"""The feed: events in one order, with the number of the newest."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("store", "0003_cluster_identity")]
    operations = [
        migrations.CreateModel(
            name="FeedHead",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="FeedEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.BigIntegerField(null=True, unique=True)),
                ("at", models.DateTimeField()),
                ("type", models.CharField(max_length=16)),
                ("namespace", models.CharField(max_length=253)),
                (
                    "action",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="store.action",
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="store.cluster",
                    ),
                ),
                (
                    "span",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="store.verdictspan",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("number", None)),
                        fields=["id"],
                        name="feed_without_number",
                    ),
                    models.Index(fields=["at"], name="feed_by_time"),
                ],
            },
        ),
    ]
