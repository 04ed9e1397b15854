"""Everything is read again once: this release keeps more of pods (set up, claims) and Jobs (deadlines).

Rows stay, so nothing counts as gone meanwhile; see 0007.
"""

from __future__ import annotations

from typing import Any

from django.db import migrations


def read_again(apps: Any, schema_editor: Any) -> None:
    """Forget from where watches go on and which version of each object is stored."""
    apps.get_model("store", "ResourceState").objects.update(resource_version="")
    apps.get_model("store", "WatchedObject").objects.update(resource_version="")


class Migration(migrations.Migration):
    """After the same for what came before."""

    dependencies = [("store", "0007_read_everything_again")]
    operations = [migrations.RunPython(read_again, migrations.RunPython.noop)]
