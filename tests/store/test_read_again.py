"""Migrations after which more is kept: what is stored stays, and counts as not read yet."""

from importlib import import_module

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from gangboard.store.clusters import add_cluster
from gangboard.store.models import ResourceState, WatchedObject

MIGRATIONS = (
    "0003_read_again",
    "0005_read_nodes_and_pods_again",
    "0007_read_everything_again",
    "0008_read_once_more",
    "0010_read_for_more_of_pods_and_jobs",
)


def read_again(migration: str = MIGRATIONS[-1]) -> None:
    """Do what a migration does to the rows that are there."""
    historical = MigrationLoader(connection).project_state(("store", migration)).apps
    module = import_module(f"gangboard.store.migrations.{migration}")
    module.read_again(historical, None)


@pytest.mark.django_db
@pytest.mark.parametrize("migration", MIGRATIONS)
def test_rows_stay_and_their_versions_are_forgotten(migration: str) -> None:
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
    read_again(migration)
    rows = WatchedObject.objects.order_by("uid")
    assert [(row.uid, row.resource_version) for row in rows] == [("u0", ""), ("u1", ""), ("u2", "")]
    assert {bytes(row.data) for row in rows} == {b"as it was stored"}
    state = ResourceState.objects.get()
    assert (state.state, state.version, state.resource_version) == ("ok", "v1", "")


@pytest.mark.django_db
def test_only_events_are_read_again_for_what_they_are_about() -> None:
    cluster = add_cluster(name="east", document={"server": "https://x"}, server="https://x")
    for resource in ("jobs.batch", "events.events.k8s.io"):
        WatchedObject.objects.create(
            cluster=cluster,
            resource=resource,
            uid=resource,
            namespace="ns",
            name="x",
            resource_version="3",
            data=b"",
        )
        ResourceState.objects.create(
            cluster=cluster, resource=resource, state="ok", version="v1", resource_version="7"
        )
    read_again("0011_event_about")
    for table, version in ((WatchedObject, "3"), (ResourceState, "7")):
        found = dict(table.objects.values_list("resource", "resource_version"))
        assert found == {"jobs.batch": version, "events.events.k8s.io": ""}
