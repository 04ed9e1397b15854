"""Clusters, their readable resources, and the counts over them."""

from datetime import timedelta
from typing import Any

import pytest

from gangboard.pages.clusters.queries import cluster_detail, find_slot_shortage, list_clusters
from gangboard.pages.summary.queries import read_summary
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster, Lease
from tests.factories import (
    NOW,
    make_cluster,
    make_gang,
    make_heartbeats,
    make_outage,
    make_resource,
)

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({}, "It answers, and all its resources can be read."),
        ({"contact_at": None, "listed_at": None}, "It has not been read yet."),
        (
            {"contact_at": None, "listed_at": None, "problem": "unreachable"},
            "It has never answered.",
        ),
        (
            {"contact_at": NOW - timedelta(seconds=40), "problem": "timeout"},
            "It has not answered lately: the data may be outdated.",
        ),
        (
            {"contact_at": NOW - timedelta(seconds=40)},
            "It has not been read lately: the data may be outdated.",
        ),
        (
            {"contact_at": NOW - timedelta(minutes=3), "problem": "timeout"},
            "It does not answer: all of its gangs count as unknown.",
        ),
        (
            {"contact_at": NOW - timedelta(minutes=3)},
            "It is not being read: all of its gangs count as unknown.",
        ),
        (
            {"listed_at": None},
            "It is being read for the first time, so objects may be missing.",
        ),
        (
            {"problem": "unauthorized", "sentence": "The API server refuses the token."},
            "The API server refuses the token.",
        ),
    ],
)
def test_a_cluster_has_one_sentence(owner: Viewer, columns: dict[str, Any], sentence: str) -> None:
    make_cluster(**columns)
    (state,) = list_clusters(viewer=owner, now=NOW)
    assert state.headline == sentence


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, (12, 340)),
        ({"events_a_minute": 0}, (12, 0)),
        ({"contact_at": NOW - timedelta(seconds=40)}, (None, None)),
        ({"contact_at": NOW - timedelta(minutes=3)}, (None, None)),
        ({"problem": "forbidden", "sentence": "Not allowed."}, (None, None)),
    ],
)
def test_a_live_api_server_has_its_latency(
    owner: Viewer, columns: dict[str, Any], expected: tuple[int | None, int | None]
) -> None:
    cluster = make_cluster(**{"answer_ms": 12, "events_a_minute": 340, **columns})
    (state,) = list_clusters(viewer=owner, now=NOW)
    assert (state.answer_ms, state.events_a_minute) == expected
    namespace_viewer = Viewer(3, "rene", (Scope(cluster.pk, "research", "viewer"),))
    (state,) = list_clusters(viewer=namespace_viewer, now=NOW)
    assert (state.answer_ms, state.events_a_minute) == (None, None), "how busy others are"


def test_a_shared_failure_is_listed_once(owner: Viewer) -> None:
    why = "lab.example did not answer in time."
    cluster = make_cluster("lab", problem="timeout", sentence=why)
    for resource in ("pods", "nodes", "jobs.batch"):
        make_resource(cluster, resource, state="failing", sentence=f"{resource}: {why}")
    make_resource(cluster, "holds.gangboard.dev", state="forbidden", sentence="Not allowed.")
    started = NOW - timedelta(hours=3)
    make_outage(cluster, started, started + timedelta(minutes=8), problem="timeout", sentence=why)
    (state,) = list_clusters(viewer=owner, now=NOW)
    assert state.headline == why
    assert [(row.resource, row.sentence) for row in state.faults] == [
        ("holds.gangboard.dev", "Not allowed.")
    ]
    messages = [row.sentence for row in state.resources if row.sentence]
    assert messages == ["Not allowed."]
    (outage,) = state.outages
    assert (outage.title, outage.duration) == ("Cluster lab could not be read", "8 min")
    Cluster.objects.update(problem="", sentence="")
    (state,) = list_clusters(viewer=owner, now=NOW)
    assert len(state.faults) == 4, "each of its own while the cluster answers"


def test_forbidden_unserved_and_empty_are_distinct(owner: Viewer) -> None:
    cluster = make_cluster()
    make_resource(cluster, "pods", objects_count=0)
    make_resource(
        cluster, "jobs.batch", state="forbidden", sentence="The reader may not list jobs."
    )
    make_resource(cluster, "podgroups.scheduling.k8s.io", state="not-served", needed=False)
    (state,) = list_clusters(viewer=owner, now=NOW)
    result = {row.resource: (row.face.label, row.objects, row.is_fault) for row in state.resources}
    assert result == {
        "jobs.batch": ("Forbidden", None, True),
        "podgroups.scheduling.k8s.io": ("Not served", None, False),
        "pods": ("Read", 0, False),
    }
    assert state.headline == "It answers, but these resources cannot be read: jobs.batch."


def test_problems_come_first_and_unserved_resources_separately(owner: Viewer) -> None:
    cluster = make_cluster()
    make_resource(cluster, "jobs.batch")
    make_resource(cluster, "pods", state="forbidden")
    make_resource(cluster, "rayjobs.ray.io", state="not-served", needed=False)
    (state,) = list_clusters(viewer=owner, now=NOW)
    assert [row.resource for row in state.served] == ["pods", "jobs.batch"]
    assert [row.resource for row in state.not_served] == ["rayjobs.ray.io"]


def test_objects_are_kept_during_an_outage(owner: Viewer) -> None:
    """An unanswered list deletes no rows, and the card mentions that."""
    cluster = make_cluster()
    make_resource(cluster, "pods", objects_count=40, state="failing")
    make_resource(cluster, "jobs.batch", objects_count=2)
    (state,) = list_clusters(viewer=owner, now=NOW)
    assert state.objects == 42
    assert {row.resource: row.objects for row in state.resources} == {
        "jobs.batch": 2,
        "pods": None,
    }


def test_undecodable_objects_are_named(owner: Viewer) -> None:
    cluster = make_cluster()
    problem = {"namespace": "vision", "name": "odd", "sentence": "spec.replicas is not a number."}
    make_resource(cluster, "jobs.batch", problems=[problem], problems_count=1)
    (state,) = list_clusters(viewer=owner, now=NOW)
    (row,) = state.faults
    assert [(item.namespace, item.name) for item in row.problems] == [("vision", "odd")]


@pytest.mark.parametrize(
    ("expected", "sentence", "tone"),
    [
        (timedelta(days=-1), "The token of this cluster has expired.", "failed"),
        (timedelta(days=2, hours=3), "The token of this cluster expires in 2 d 3 h.", "degraded"),
        (timedelta(days=30), "The token is good for 30 d.", "running"),
    ],
)
def test_the_expiry_of_credentials_is_shown(
    owner: Viewer, expected: timedelta, sentence: str, tone: str
) -> None:
    make_cluster(credentials_expire_at=NOW + expected)
    (state,) = list_clusters(viewer=owner, now=NOW)
    assert state.expiry is not None
    assert (state.expiry.sentence, state.expiry.tone) == (sentence, tone)


def test_only_a_lease_in_force_has_a_holder(owner: Viewer) -> None:
    for name, seconds in (("eu-train", 5), ("lab", -5)):
        Lease.objects.create(
            cluster=make_cluster(name),
            holder="worker-1",
            number=3,
            expires_at=NOW + timedelta(seconds=seconds),
        )
    assert [state.holder for state in list_clusters(viewer=owner, now=NOW)] == ["worker-1", ""]


def test_a_namespace_reader_gets_no_cluster_wide_texts() -> None:
    cluster = make_cluster(sentence="https://10.0.0.1 refuses", problem="unreachable")
    make_resource(
        cluster,
        "jobs.batch",
        sentence="secret",
        problems=[
            {"namespace": "vision", "name": "x", "sentence": "no"},
            {"namespace": "research", "name": "y", "sentence": "no"},
        ],
        problems_count=2,
    )
    viewer = Viewer(3, "rene", (Scope(cluster.pk, "research", "viewer"),))
    (state,) = list_clusters(viewer=viewer, now=NOW)
    assert (state.server, state.sentence, state.expiry, state.holder) == ("", "", None, "")
    (row,) = state.resources
    assert [item.name for item in row.problems] == ["y"]
    assert (row.sentence, row.objects, row.problems_count) == ("", None, 1)


def test_missing_and_forbidden_clusters_are_the_same(owner: Viewer, stranger: Viewer) -> None:
    make_cluster("lab")
    assert cluster_detail("lab", viewer=owner, now=NOW) is not None
    assert cluster_detail("no-such", viewer=owner, now=NOW) is None
    assert cluster_detail("lab", viewer=stranger, now=NOW) is None
    assert list_clusters(viewer=stranger, now=NOW) == ()


def test_fewer_slots_than_clusters_is_a_finding(owner: Viewer, stranger: Viewer) -> None:
    for name in ("a", "b", "c"):
        make_cluster(name)
    make_heartbeats(slots=2)
    slots = find_slot_shortage(viewer=owner, now=NOW)
    assert slots is not None
    assert slots.sentence == (
        "3 clusters share 2 slots of poll workers, so they are read in turns and changes appear late. "
        "Start another poll worker or raise GANGBOARD_POLL_SLOTS."
    )
    assert find_slot_shortage(viewer=stranger, now=NOW) is None
    make_heartbeats(slots=3)
    assert find_slot_shortage(viewer=owner, now=NOW) is None


def test_counts_add_up_and_an_outage_is_in_them(owner: Viewer) -> None:
    eu = make_cluster("eu-train")
    lab = make_cluster("lab", contact_at=NOW - timedelta(minutes=5))
    make_gang(eu, health="running", code="running", accelerators=8)
    make_gang(eu, health="blocked", code="no-nodes", accelerators=16)
    make_gang(lab, health="running", code="running", accelerators=4)
    summary = read_summary(viewer=owner, now=NOW)
    health = {key: (tally.gangs, tally.accelerators) for key, tally in summary.by_health.items()}
    assert health["running"] == (1, 8)
    assert health["blocked"] == (1, 16)
    assert health["unknown"] == (1, 4)
    assert health["failed"] == (0, 0)
    assert {key: tally.gangs for key, tally in summary.by_code.items()} == {
        "no-nodes": 1,
        "not-observed": 1,
        "running": 1,
    }
    assert [(key, tally.gangs) for key, tally in summary.by_cluster.items()] == [
        ("eu-train", 2),
        ("lab", 1),
    ]
    assert (summary.gangs, summary.accelerators, summary.stale) == (3, 28, True)
    assert summary.observed_at == NOW - timedelta(minutes=5)


def test_unreadable_resources_are_listed_beside_the_counts(owner: Viewer) -> None:
    make_gang(make_cluster("eu-train"))
    assert read_summary(viewer=owner, now=NOW).unseen == ()
    make_cluster("new", listed_at=None)
    make_gang(make_cluster("old"), health="unknown", code="not-observed")
    summary = read_summary(viewer=owner, now=NOW)
    assert [item.message(NOW) for item in summary.unseen] == [
        "Cluster new is being read for the first time: gangs may be missing here.",
        "Cluster old answers, but 1 gang of it counts as unknown: not everything that a verdict needs can be read.",
    ]


def test_counts_of_an_unread_cluster_have_no_time(owner: Viewer) -> None:
    make_cluster("eu-train")
    make_cluster("new", contact_at=None)
    assert read_summary(viewer=owner, now=NOW).observed_at is None
