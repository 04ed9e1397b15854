"""Contents of each cluster: gangs by health, nodes, accelerators."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gangboard.domain.health import Health
from gangboard.pages.clusters.contents import ClusterContents, read_contents
from gangboard.readmodels.freshness import read_freshness
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster
from tests.factories import NOW, make_cluster, make_gang
from tests.readmodels.room import make_capacity, make_node

pytestmark = pytest.mark.django_db
OWNER = Viewer(1, "olga", (Scope(None, "", "admin"),))
GPU = "nvidia.com/gpu"


def read(viewer: Viewer = OWNER) -> dict[str, ClusterContents]:
    return read_contents(viewer=viewer, clusters=read_freshness(viewer=viewer, now=NOW))


def counted(contents: ClusterContents) -> dict[str, int]:
    return {health.face.word: health.gangs for health in contents.healths}


@pytest.fixture
def east() -> Cluster:
    cluster = make_cluster("east")
    for health in (Health.RUNNING, Health.SUCCEEDED, Health.BLOCKED, Health.RUNNING):
        make_gang(cluster, health=health)
    make_gang(cluster, namespace="other", health=Health.FAILED)
    make_gang(cluster, health=Health.FAILED, gone_at=NOW)
    return cluster


def test_existing_gangs_are_counted_by_severity(east: Cluster) -> None:
    counts = counted(read()["east"])
    assert list(counts.items()) == [
        *(("failed", 1), ("blocked", 1), ("running", 2), ("succeeded", 1))
    ]


def test_gangs_of_a_silent_cluster_are_unknown(east: Cluster) -> None:
    Cluster.objects.update(contact_at=NOW - timedelta(minutes=5))
    assert counted(read()["east"]) == {"unknown": 5}


def test_a_viewer_of_one_namespace_counts_its_gangs(east: Cluster) -> None:
    viewer = Viewer(2, "rene", (Scope(east.pk, "other", "viewer"),))
    assert counted(read(viewer)["east"]) == {"failed": 1}


def test_known_nodes_are_added_up(east: Cluster) -> None:
    make_capacity(east)
    make_node(east, "a", allocatable={GPU: "8"}, used={GPU: "3"})
    make_node(east, "b", allocatable={GPU: "8"}, used={GPU: "8"}, cordoned=True)
    west = make_cluster("west")
    make_capacity(west, why="nodes: forbidden")
    make_cluster("empty")
    result = read()
    full_totals = result["east"].totals
    assert full_totals is not None
    (gpus,) = full_totals.accelerators
    assert (full_totals.nodes, full_totals.cordoned) == (2, 1)
    assert (gpus.allocatable, gpus.used, gpus.free) == ("16", "11", "5")
    # The number of nodes of these clusters is unknown.
    assert [result[name].nodes_known for name in ("east", "west", "empty")] == [True, False, False]


def test_the_number_of_queries_does_not_grow_with_clusters(east: Cluster) -> None:
    make_capacity(east)
    make_node(east, "a")
    clusters = read_freshness(viewer=OWNER, now=NOW)
    with CaptureQueriesContext(connection) as queries:
        read_contents(viewer=OWNER, clusters=clusters)
    assert len(queries) == 4
