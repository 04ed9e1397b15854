"""Everything is read again once: this release keeps more of pods, nodes, Jobs and JobSets.

Indexes that are not retried, restarts that count, features that nodes declare, all labels of a node;
spread constraints are read otherwise. Rows stay, so nothing counts as gone meanwhile; see 0007.
"""

from __future__ import annotations

from typing import Any

from django.db import migrations


def read_again(apps: Any, schema_editor: Any) -> None:
    """Forget from where watches go on and which version of each object is stored."""
    apps.get_model("store", "ResourceState").objects.update(resource_version="")
    apps.get_model("store", "WatchedObject").objects.update(resource_version="")


class Migration(migrations.Migration):
    """After the column that new verdicts fill."""

    dependencies = [("store", "0009_gang_priority_value")]
    operations = [migrations.RunPython(read_again, migrations.RunPython.noop)]
