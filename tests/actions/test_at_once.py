"""Twenty clicks at the same moment, and two workers at one action: on real databases."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

# In a process of its own, because each thread needs a real connection to a real database.
SCRIPT = """
import django
django.setup()
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from gangboard.actions import service
from gangboard.actions.service import Ask, AskError
from gangboard.domain.action import Target, Verb
from gangboard.domain.objects import Meta, ObjectRef
from gangboard.domain.owner import Owner
from gangboard.store import actions, people
from gangboard.store.access import viewer_of
from gangboard.store.clusters import add_cluster
from gangboard.store.models import Action, AuditEntry, WatchedObject
from gangboard.store.objects import pack
call_command("migrate", verbosity=0)
service.wake = lambda action: None
user, _ = people.create_user(name="ada", role="operator")
cluster = add_cluster(name="east", document={"server": "https://x"}, server="https://x")
job = Owner(Meta("v1", ObjectRef("batch", "Job", "ns", "train", "u"), "1", 1, timezone.now()))
WatchedObject.objects.create(
    cluster=cluster, resource="jobs.batch", uid="u", namespace="ns", name="train",
    resource_version="1", data=pack(job),
)
ask = Ask(Verb.SUSPEND, Target("east", "batch", "Job", "ns", "train", "u", 1), "a reason",
          idempotency_key="k")

def closing(call):
    def run(number):
        try:
            return call(number)
        finally:
            connection.close()
    return run

def click(number):
    return service.request(viewer_of(user), ask, now=timezone.now())

def other_click(number):
    try:
        return service.request(
            viewer_of(user), replace(ask, idempotency_key=f"k{number}"), now=timezone.now()
        )
    except AskError as error:
        return error.fault.value

def take(number):
    return actions.claim(found[0].action_id, f"w{number}", actions.RealDatabaseClock())

with ThreadPoolExecutor(20) as pool:
    found = list(pool.map(closing(click), range(20)))
    busy = list(pool.map(closing(other_click), range(20)))
    claims = list(pool.map(closing(take), range(20)))
print(
    len({taken.action_id for taken in found}), sum(taken.created for taken in found),
    Action.objects.count(), AuditEntry.objects.count(), busy.count("busy"),
    sum(claim is not None for claim in claims),
)
"""


def outcome(database_url: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=settings.BASE_DIR,
        env={
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "gangboard.settings",
            "GANGBOARD_STATE": str(folder / "state"),
            "DATABASE_URL": database_url,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_on_sqlite(tmp_path: Path) -> None:
    assert outcome(f"sqlite:///{tmp_path}/db.sqlite3", tmp_path) == "1 1 1 1 20 1"


@pytest.mark.services
def test_on_postgresql(postgres_url: str, tmp_path: Path) -> None:
    assert outcome(postgres_url, tmp_path) == "1 1 1 1 20 1"
