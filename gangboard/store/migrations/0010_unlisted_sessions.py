"""End sessions without a record: nobody could see them in a list or end them, and they have no absolute end."""

from typing import Any

from django.db import migrations


def end_unlisted_sessions(apps: Any, schema_editor: Any) -> None:
    """Delete the sessions of before `SessionRecord`. People in them sign in again."""
    alias = schema_editor.connection.alias
    listed = apps.get_model("store", "SessionRecord").objects.using(alias).values("session_key")
    sessions = apps.get_model("sessions", "Session").objects.using(alias)
    sessions.exclude(session_key__in=listed).delete()


class Migration(migrations.Migration):
    dependencies = [("store", "0009_clusters"), ("sessions", "0001_initial")]
    operations = [migrations.RunPython(end_unlisted_sessions, migrations.RunPython.noop)]
