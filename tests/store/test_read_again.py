"""Migration 0003: what is stored stays, and counts as not read yet."""

from importlib import import_module

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from gangboard.store.clusters import add_cluster
from gangboard.store.models import ResourceState, WatchedObject

MIGRATION = ("store", "0003_read_again")


def read_again() -> None:
    """Do what the migration does to the rows that are there."""
    historical = MigrationLoader(connection).project_state(MIGRATION).apps
    module = import_module(f"gangboard.store.migrations.{MIGRATION[1]}")
    module.read_again(historical, None)


@pytest.mark.django_db
def test_rows_stay_and_their_versions_are_forgotten() -> None:
    cluster = add_cluster(name="east", document={"server": "https://x"}, server="https://x")
    for number in range(3):
        WatchedObject.objects.create(
            cluster=cluster,
            resource="jobs.batch",
            uid=f"u{number}",
            namespace="ns",
            name=f"job-{number}",
            resource_version=str(number + 1),
            data=b"as it was stored",
        )
    ResourceState.objects.create(
        cluster=cluster, resource="jobs.batch", state="ok", version="v1", resource_version="7"
    )
    read_again()
    rows = WatchedObject.objects.order_by("uid")
    assert [(row.uid, row.resource_version) for row in rows] == [("u0", ""), ("u1", ""), ("u2", "")]
    assert {bytes(row.data) for row in rows} == {b"as it was stored"}
    state = ResourceState.objects.get()
    assert (state.state, state.version, state.resource_version) == ("ok", "v1", "")
