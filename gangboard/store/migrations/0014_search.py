"""Search by label and submitter, and the names under which a person submits."""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def _name_sources(apps: Any, _: Any) -> None:
    """Record that all submitters stored so far are field managers."""
    gangs = apps.get_model("store", "Gang").objects.exclude(submitter="")
    gangs.update(submitter_source="field-manager")


def _index_labels(apps: Any, _: Any) -> None:
    """Fill the search index from the stored gangs, so that no cluster has to be listed for it."""
    search = apps.get_model("store", "GangSearch")
    rows = search.objects.select_related("gang").only("gang__labels", "gang__submitter", "gang__gone_at")
    last = ""
    while batch := list(rows.filter(pk__gt=last).order_by("pk")[:500]):
        for row in batch:
            lines = [f"{key}={value}" for key, value in row.gang.labels.items()]
            row.labels = "\n".join(["", *lines, ""]).lower() if lines else ""
            row.submitter = row.gang.submitter.lower()
            row.gone = row.gang.gone_at is not None
        search.objects.bulk_update(batch, ["labels", "submitter", "gone"])
        last = batch[-1].pk


class Migration(migrations.Migration):
    dependencies = [
        ("store", "0013_usage"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.AddField(
            "gang", "submitter_source", models.CharField(db_default="", default="", max_length=16)
        ),
        migrations.AddField("gangsearch", "labels", models.TextField(db_default="", default="")),
        migrations.AddField(
            "gangsearch",
            "submitter",
            models.CharField(db_default="", default="", max_length=128),
        ),
        migrations.AddField(
            "gangsearch", "gone", models.BooleanField(db_default=False, default=False)
        ),
        migrations.AddIndex("gang", models.Index(fields=["name"], name="gangs_by_name")),
        migrations.AddIndex(
            "gangsearch", models.Index(fields=["gone", "submitter"], name="search_by_submitter")
        ),
        migrations.CreateModel(
            "SubmitterNames",
            [
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="submitter_names",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("names", models.JSONField(default=list)),
            ],
        ),
        migrations.RunPython(_name_sources, migrations.RunPython.noop),
        migrations.RunPython(_index_labels, migrations.RunPython.noop),
    ]
