"""Rows of the audit are chained by hash, and the database refuses to change or remove one.

The rows that are there are taken into the chain in the order in which they were written. What they are about may be
removed later; their keys stay as they are then, because nothing may write to them any more.
"""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

from gangboard.store.audit_guard import guard
from gangboard.store.audit_chain import FIELDS, digest_of

AT_ONCE = 1000


def chain_rows(apps: Any, schema_editor: Any) -> None:
    entries = apps.get_model("store", "AuditEntry").objects.using(schema_editor.connection.alias)
    number, digest, key = 0, "", 0
    while rows := list(entries.filter(pk__gt=key).order_by("pk")[:AT_ONCE]):
        for row in rows:
            number += 1
            row.number = number
            row.digest = digest = digest_of(digest, {name: getattr(row, name) for name in FIELDS})
        entries.bulk_update(rows, ["number", "digest"], batch_size=100)
        key = rows[-1].pk
    heads = apps.get_model("store", "AuditHead").objects.using(schema_editor.connection.alias)
    heads.create(number=number, digest=digest)


def guard_rows(apps: Any, schema_editor: Any) -> None:  # noqa: ARG001  # Django's signature
    guard(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [("store", "0016_chores")]

    operations = [
        migrations.CreateModel(
            name="AuditHead",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.BigIntegerField(default=0)),
                ("digest", models.CharField(default="", max_length=64)),
            ],
        ),
        migrations.AlterField(
            model_name="auditentry",
            name="action",
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name="audit_entries", to="store.action"),
        ),
        migrations.AlterField(
            model_name="auditentry",
            name="cluster",
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to="store.cluster"),
        ),
        migrations.AddField("auditentry", "source", models.CharField(default="", max_length=64)),
        migrations.AddField("auditentry", "number", models.BigIntegerField(null=True)),
        migrations.AddField("auditentry", "digest", models.CharField(default="", max_length=64)),
        migrations.RunPython(chain_rows),
        migrations.AlterField("auditentry", "number", models.BigIntegerField(unique=True)),
        migrations.AlterField("auditentry", "digest", models.CharField(max_length=64)),
        migrations.RunPython(guard_rows),
    ]
