"""A database of the release before is migrated with its rows, on both databases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WRITE_AS_BEFORE = """
import django
django.setup()
from django.db import connection
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
import django
django.setup()
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


def run(url: str, state: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={
            **os.environ,
            "DATABASE_URL": url,
            "GANGBOARD_STATE": str(state),
            "DJANGO_SETTINGS_MODULE": "gangboard.settings",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def migrate(url: str, state: Path, *arguments: str) -> None:
    run(url, state, "manage.py", "migrate", *arguments, "--verbosity", "0", "--skip-checks")


def check(url: str, state: Path) -> None:
    migrate(url, state, "store", "0002")
    run(url, state, "-c", WRITE_AS_BEFORE.replace("NAMES", "('east', 'west')"))
    migrate(url, state)
    # A process of the release before still runs during an upgrade, and may add a cluster.
    run(url, state, "-c", WRITE_AS_BEFORE.replace("NAMES", "('south',)"))
    state_now = json.loads(run(url, state, "-c", READ_NOW))
    assert sorted(state_now["clusters"]) == [
        [name, f"https://{name}", "", ""] for name in ("east", "south", "west")
    ]
    assert (state_now["states"], state_now["credentials"]) == (3, ["sealed"])
    assert state_now["second_name"] == "refused"


def test_rows_of_the_previous_release_are_kept_on_sqlite(tmp_path: Path) -> None:
    check(f"sqlite:///{tmp_path / 'old.sqlite3'}", tmp_path)


@pytest.mark.services
def test_rows_of_the_previous_release_are_kept_on_postgresql(
    postgres_url: str, tmp_path: Path
) -> None:
    check(postgres_url, tmp_path)
