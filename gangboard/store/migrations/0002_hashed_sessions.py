"""End all sessions: their rows have the cookies as keys, and are found by hashes of them from now on."""

from typing import Any

from django.db import migrations


def end_sessions(apps: Any, schema_editor: Any) -> None:
    """Delete all rows of sessions. People sign in again."""
    apps.get_model("sessions", "Session").objects.using(schema_editor.connection.alias).all().delete()


class Migration(migrations.Migration):
    dependencies = [("store", "0001_initial"), ("sessions", "0001_initial")]
    operations = [migrations.RunPython(end_sessions, end_sessions)]
