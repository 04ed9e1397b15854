"""What an event is about: a page asks for the events of its own objects, whatever else is in the namespace.

Events are read again once, to fill the column; rows stay meanwhile, see 0007.
"""

from __future__ import annotations

from typing import Any

from django.db import migrations, models

_EVENTS = "events.events.k8s.io"


def read_again(apps: Any, schema_editor: Any) -> None:
    """Forget from where the watch of events goes on and which version of each is stored."""
    for name in ("ResourceState", "WatchedObject"):
        found = apps.get_model("store", name).objects.filter(resource=_EVENTS)
        found.update(resource_version="")


class Migration(migrations.Migration):
    """A column that may be null: older code that still runs can go on writing rows."""

    dependencies = [("store", "0010_read_for_more_of_pods_and_jobs")]
    operations = [
        migrations.AddField(
            model_name="watchedobject",
            name="about",
            field=models.CharField(max_length=64, null=True),
        ),
        migrations.AddIndex(
            model_name="watchedobject",
            index=models.Index(
                condition=models.Q(("about__isnull", False)),
                fields=["cluster", "about"],
                name="events_about",
            ),
        ),
        migrations.RunPython(read_again, migrations.RunPython.noop),
    ]
