"""The database refuses to move the head of the audit anywhere but to the next row."""

from typing import Any

from django.db import migrations

from gangboard.store.audit_guard import guard_head


def guard_the_head(apps: Any, schema_editor: Any) -> None:  # noqa: ARG001  # Django's signature
    guard_head(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [("store", "0019_since_first_seen")]

    operations = [migrations.RunPython(guard_the_head)]
