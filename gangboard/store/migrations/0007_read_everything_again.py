"""Everything that is stored is read again once: this release keeps more, of pods all labels.

Rows stay, so nothing counts as gone meanwhile; without resource versions every resource is listed, and
every object of the list counts as changed.
"""

from __future__ import annotations

from typing import Any

from django.db import migrations


def read_again(apps: Any, schema_editor: Any) -> None:
    """Forget from where watches go on and which version of each object is stored."""
    apps.get_model("store", "ResourceState").objects.update(resource_version="")
    apps.get_model("store", "WatchedObject").objects.update(resource_version="")


class Migration(migrations.Migration):
    """After the history of waits."""

    dependencies = [("store", "0006_span_created_at")]
    operations = [migrations.RunPython(read_again, migrations.RunPython.noop)]
