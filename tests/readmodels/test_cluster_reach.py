"""Unreadable numbers are not zero, and the next step names the cause."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gangboard.domain.cluster_reach import second_name_sentence
from gangboard.kube.errors import KubeErrorCode
from gangboard.pages.clusters.queries import cluster_detail
from gangboard.pages.clusters.rows import ClusterRow
from gangboard.readmodels.freshness import STEPS, reach_step, read_freshness
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster
from tests.factories import NOW, make_cluster, make_gang, make_outage, make_resource

pytestmark = pytest.mark.django_db


def cluster_row(cluster: Cluster, viewer: Viewer) -> ClusterRow:
    state = cluster_detail(cluster.name, viewer=viewer, now=NOW)
    assert state is not None
    return state


def test_an_unread_cluster_has_no_numbers_and_a_step_for_the_cause(owner: Viewer) -> None:
    dead = make_cluster("dead", contact_at=None, listed_at=None, problem="unreachable")
    state = cluster_row(dead, owner)
    assert (state.gangs, state.objects, state.levers.rows) == (None, None, ())
    assert state.next_command == "manage.py add_cluster dead --kubeconfig FILE"


@pytest.mark.parametrize(
    ("columns", "pods", "gangs"),
    [
        ({}, "ok", 0),
        ({}, "forbidden", None),
        ({"contact_at": NOW - timedelta(minutes=3)}, "ok", None),
        ({"listed_at": None}, "ok", None),
    ],
    ids=["read", "pods forbidden", "silent", "first look"],
)
def test_zero_gangs_requires_a_complete_read(
    owner: Viewer, columns: dict[str, Any], pods: str, gangs: int | None
) -> None:
    cluster = make_cluster("east", **columns)
    make_resource(cluster, "pods", state=pods, needed=True)
    assert cluster_row(cluster, owner).gangs == gangs
    make_gang(cluster, "run")
    assert cluster_row(cluster, owner).gangs == 1, "what was seen is counted"


def test_a_duplicate_name_reveals_no_hidden_cluster(owner: Viewer) -> None:
    first = make_cluster("west")
    message = second_name_sentence("west", "west2")
    second = make_cluster("west2", contact_at=None, problem="same-cluster", sentence=message)
    make_outage(
        second,
        NOW - timedelta(hours=2),
        NOW - timedelta(hours=1),
        problem="same-cluster",
        sentence=message,
    )
    new_viewer = Viewer(2, "rita", (Scope(second.pk, "", "viewer"),))
    both = replace(new_viewer, scopes=(*new_viewer.scopes, Scope(first.pk, "team-a", "viewer")))
    for viewer, named in ((owner, True), (both, True), (new_viewer, False)):
        state = cluster_row(second, viewer)
        fresh = read_freshness(viewer=viewer, now=NOW)[second.pk]
        texts = (state.sentence, state.headline, fresh.sentence, state.outages[0].why)
        assert [text.startswith("west ") for text in texts] == [named] * 4, viewer.name
        assert all("west2" in text for text in texts)
    Cluster.objects.filter(pk=first.pk).delete()
    assert cluster_row(second, owner).sentence == message, (
        "that of a removed cluster is no secret to them"
    )


def test_every_step_belongs_to_a_stored_problem() -> None:
    assert set(STEPS) <= set(KubeErrorCode)


def test_an_unsafe_name_has_no_command() -> None:
    step = reach_step("a; rm -rf /", "unreachable")
    assert step is not None
    assert step.command == ""
