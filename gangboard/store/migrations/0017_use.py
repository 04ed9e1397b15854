"""Use of accelerators, as a Prometheus measures it."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("store", "0016_relocate")]
    operations = [
        migrations.CreateModel(
            "UseSource",
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
                ("due_at", models.DateTimeField()),
                ("read_at", models.DateTimeField(null=True)),
                ("pods", models.BigIntegerField(default=0)),
                ("sentence", models.TextField(default="")),
            ],
        ),
        migrations.CreateModel(
            "GangUse",
            fields=[
                (
                    "gang",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="use",
                        serialize=False,
                        to="store.gang",
                    ),
                ),
                ("read_at", models.DateTimeField()),
                ("pods", models.BigIntegerField()),
                ("mean", models.FloatField()),
                ("least", models.FloatField()),
                ("least_pod", models.CharField(max_length=253)),
                ("most", models.FloatField()),
                ("most_pod", models.CharField(max_length=253)),
                ("idle_since", models.DateTimeField(null=True)),
                ("is_idle", models.BooleanField(default=False)),
                ("straggler", models.JSONField(null=True)),
                ("is_conspicuous", models.BooleanField(default=False)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="store.cluster"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_conspicuous", True)),
                        fields=["cluster"],
                        name="conspicuous_use",
                    ),
                    models.Index(
                        fields=["cluster", "read_at"], name="store_gangu_cluster_bb15a7_idx"
                    ),
                ],
            },
        ),
    ]
