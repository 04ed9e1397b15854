"""Accelerator time of gangs by day, and their evictions."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

_AMOUNTS = ("used", "held", "eligible", "ineligible", "unobserved")


def _cluster() -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey(
        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="store.cluster"
    )


def _text(length: int = 253) -> "models.CharField[str, str]":
    return models.CharField(default="", max_length=length)


class Migration(migrations.Migration):
    dependencies = [("store", "0012_cluster_plan")]
    operations = [
        migrations.AddField("cluster", "usage_since", models.DateTimeField(null=True)),
        migrations.CreateModel(
            "UsageMeter",
            [
                (
                    "gang_id",
                    models.CharField(max_length=32, primary_key=True, serialize=False),
                ),
                ("uid", models.CharField(max_length=64)),
                ("namespace", models.CharField(max_length=253)),
                ("queue", _text()),
                ("submitter", _text()),
                ("stage", models.CharField(max_length=16)),
                ("code", models.CharField(max_length=64)),
                *((name, models.FloatField(default=0)) for name in _AMOUNTS),
                ("since", models.DateTimeField()),
                ("cluster", _cluster()),
            ],
            options={
                "indexes": [models.Index(fields=["cluster", "since"], name="meters_of_cluster")]
            },
        ),
        migrations.CreateModel(
            "UsageDay",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("namespace", models.CharField(max_length=253)),
                ("queue", _text()),
                ("submitter", _text()),
                ("stage", models.CharField(max_length=16)),
                ("code", models.CharField(max_length=64)),
                *((name, models.FloatField(default=0)) for name in _AMOUNTS),
                ("cluster", _cluster()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=(
                            *("cluster", "day", "namespace", "queue"),
                            *("submitter", "stage", "code"),
                        ),
                        name="one_usage_row_per_day",
                    )
                ],
                "indexes": [models.Index(fields=["day"], name="usage_by_day")],
            },
        ),
        migrations.CreateModel(
            "Eviction",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("gang_id", models.CharField(max_length=32)),
                ("api_group", models.CharField(max_length=253)),
                ("kind", models.CharField(max_length=63)),
                ("namespace", models.CharField(max_length=253)),
                ("name", models.CharField(max_length=253)),
                ("queue", _text()),
                ("accelerators", models.FloatField(default=0)),
                ("code", models.CharField(max_length=16)),
                ("reason", _text(200)),
                ("source", _text(64)),
                ("taker_group", _text()),
                ("taker_kind", _text(63)),
                ("taker_namespace", _text()),
                ("taker_name", _text()),
                ("taker_uid", _text(64)),
                ("at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                ("cluster", _cluster()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "gang_id", "source", "code", "at"),
                        name="one_row_per_eviction",
                    )
                ],
                "indexes": [
                    models.Index(fields=["gang_id", "at"], name="evictions_of_gang"),
                    models.Index(fields=["at"], name="evictions_by_time"),
                ],
            },
        ),
    ]
