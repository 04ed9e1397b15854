"""A gang that runs in another cluster leads to the gang there, if that cluster is watched and may be seen."""

from __future__ import annotations

import re

import pytest
from django.template.loader import render_to_string
from django.urls import reverse

from gangboard.domain.verdict import Evidence
from gangboard.pages.gang.next_steps import TextSegment
from gangboard.pages.gang.queries import gang_detail
from gangboard.store.access import Scope, Viewer
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster, Gang
from tests.factories import NOW, make_cluster, make_finding, make_gang

pytestmark = pytest.mark.django_db

MESSAGE = "Runs in cluster worker1: 1 of 1 Job is ready."


@pytest.fixture
def mirror() -> Gang:
    evidence = (Evidence("status.clusterName", "worker1"),)
    finding = make_finding(message=MESSAGE, evidence=evidence)
    return make_gang(
        make_cluster("manager"), "remote", kind="JobSet", detail=Detail((finding,)), message=MESSAGE
    )


@pytest.fixture
def worker() -> Cluster:
    return make_cluster("worker1")


def links(viewer: Viewer, gang: Gang, message: str = MESSAGE) -> list[TextSegment]:
    """Return the segments of the sentence that lead somewhere; each is a link on the page."""
    detail = gang_detail(viewer=viewer, gang_id=gang.pk, now=NOW)
    assert detail is not None
    segments = detail.named.segments(message)
    assert "".join(segment.text for segment in segments) == message
    results = [segment for segment in segments if segment.gang_id or segment.board_of]
    page = render_to_string(
        "gang/pieces.html", {"segments": segments, "cluster": gang.cluster.name}
    )
    addresses = [
        reverse("gang", args=[item.gang_id]) if item.gang_id else f"/?cluster={item.board_of}"
        for item in results
    ]
    assert re.findall(r'href="([^"]*)"', page) == addresses
    return results


def test_a_multi_cluster_gang_links_to_its_mirror(
    owner: Viewer, mirror: Gang, worker: Cluster
) -> None:
    remote_gang = make_gang(worker, "remote", kind="JobSet")
    make_gang(worker, "remote", kind="Job")
    make_gang(worker, "other", kind="JobSet")
    assert links(owner, mirror) == [TextSegment("cluster worker1", gang_id=remote_gang.pk)]


def test_an_unknown_mirror_has_no_link(owner: Viewer, mirror: Gang, worker: Cluster) -> None:
    make_gang(worker, "remote", kind="JobSet", namespace="another")
    make_gang(worker, "remote", kind="JobSet", gone_at=NOW)
    assert links(owner, mirror) == [TextSegment("cluster worker1", board_of="worker1")]


def test_an_unwatched_cluster_has_no_link(owner: Viewer, mirror: Gang) -> None:
    make_cluster("worker10")
    assert links(owner, mirror) == []


def test_a_hidden_cluster_has_no_link(mirror: Gang, worker: Cluster) -> None:
    make_gang(worker, "remote", kind="JobSet")
    viewer = Viewer(3, "ada", (Scope(mirror.cluster_id, "", "viewer"),))
    assert links(viewer, mirror) == []


def test_clusters_to_which_a_gang_is_offered_are_links(owner: Viewer, worker: Cluster) -> None:
    message = "It waits; offered to cluster worker1 and cluster worker2."
    evidence = tuple(
        Evidence("status.nominatedClusterNames", name) for name in ("worker1", "worker2")
    )
    finding = make_finding(message=message, evidence=evidence)
    offered = make_gang(make_cluster("manager"), "remote", kind="JobSet", detail=Detail((finding,)))
    assert links(owner, offered, message) == [TextSegment("cluster worker1", board_of="worker1")]
