"""A database of the release before is migrated with its rows, on both databases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.separate_process import run_python

SET_UP = """
import django
django.setup()
from django.core.management import call_command
from django.db import connection
"""
WRITE_AS_BEFORE = """
from django.db.migrations.executor import MigrationExecutor
apps = MigrationExecutor(connection).loader.project_state([("store", "0002_hashed_sessions")]).apps
Cluster = apps.get_model("store", "Cluster")
names = [field.name for field in Cluster._meta.get_fields()]
assert not {"system_uid", "context"} & set(names), names
for name in NAMES:
    cluster = Cluster.objects.create(name=name, server="https://" + name, credentials=b"sealed")
    apps.get_model("store", "ResourceState").objects.create(cluster=cluster, resource="pods", state="ok")
"""
READ_NOW = """
import json
from django.db import IntegrityError, transaction
from gangboard.store.models import Cluster, ResourceState
columns = ("name", "server", "system_uid", "context")
found = {"clusters": list(Cluster.objects.values_list(*columns)), "states": ResourceState.objects.count()}
found["credentials"] = sorted({bytes(one.credentials).decode() for one in Cluster.objects.all()})
Cluster.objects.filter(name="east").update(system_uid="uid-1")
try:
    with transaction.atomic():
        Cluster.objects.filter(name="west").update(system_uid="uid-1")
    found["second_name"] = "stored"
except IntegrityError:
    found["second_name"] = "refused"
print(json.dumps(found))
"""


def check(database_url: str, folder: Path) -> None:
    """One process plays all of them, because a start of Python takes as long as a migration."""
    script = (
        SET_UP
        + 'call_command("migrate", "store", "0002", verbosity=0)\n'
        + WRITE_AS_BEFORE.replace("NAMES", "('east', 'west')")
        + 'call_command("migrate", verbosity=0)\n'
        # A process of the release before still runs during an upgrade, and may add a cluster.
        + WRITE_AS_BEFORE.replace("NAMES", "('south',)")
        + READ_NOW
    )
    state_now = json.loads(run_python("-c", script, folder=folder, database_url=database_url))
    assert sorted(state_now["clusters"]) == [
        [name, f"https://{name}", "", ""] for name in ("east", "south", "west")
    ]
    assert (state_now["states"], state_now["credentials"]) == (3, ["sealed"])
    assert state_now["second_name"] == "refused"


def test_rows_of_the_previous_release_are_kept_on_sqlite(tmp_path: Path) -> None:
    check(f"sqlite:///{tmp_path / 'old.sqlite3'}", tmp_path)


@pytest.mark.services
def test_rows_of_the_previous_release_are_kept_on_postgresql(
    empty_postgres_database: str, tmp_path: Path
) -> None:
    check(empty_postgres_database, tmp_path)
