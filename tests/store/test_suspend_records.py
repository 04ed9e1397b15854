"""The newest suspend of each object in the record."""

from __future__ import annotations

import pytest

from gangboard.domain.suspension import RecordedSuspend
from gangboard.store.models import Cluster
from gangboard.store.suspend_records import recorded_suspends
from tests.factories import NOW, make_cluster
from tests.recorded_actions import make_action

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster("east", now=NOW)


def test_the_newest_suspend_of_each_object_is_returned(cluster: Cluster) -> None:
    make_action(cluster, uid="u1", reason="old")
    newest = make_action(cluster, uid="u1", reason="make room", actor_name="ada", state="sent")
    make_action(cluster, uid="u1", state="refused", sent_at=None)
    assert newest.sent_at is not None
    suspends = recorded_suspends(cluster.pk, {"u1": "research", "u2": "research"})
    assert suspends == {"u1": RecordedSuspend("ada", "make room", newest.sent_at)}


@pytest.mark.parametrize(
    "later", [{"verb": "resume"}, {"state": "reverted"}, {"verb": "resume", "state": "sent"}]
)
def test_a_later_action_ends_the_record(cluster: Cluster, later: dict[str, str]) -> None:
    make_action(cluster, uid="u1")
    make_action(cluster, uid="u1", **later)
    assert recorded_suspends(cluster.pk, {"u1": "research"}) == {}


def test_a_record_of_another_cluster_is_ignored(cluster: Cluster) -> None:
    """An object can carry the uid or the annotation of another one: text of the cluster."""
    make_action(make_cluster("west", now=NOW), uid="u1")
    assert recorded_suspends(cluster.pk, {"u1": "research"}) == {}
    make_action(cluster, uid="u2", namespace="secret")
    assert recorded_suspends(cluster.pk, {"u2": "research"}) == {}
