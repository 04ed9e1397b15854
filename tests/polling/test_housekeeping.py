"""What goes when nobody will ask for it any more, and what stays."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from gangboard.polling import tasks
from gangboard.polling.tasks import housekeep, seed
from gangboard.store.heartbeats import beat, slots_are_short
from gangboard.store.models import Cluster, Gang, Heartbeat, SignInLink, VerdictSpan
from tests.factories import make_cluster, make_gang, make_history

pytestmark = pytest.mark.django_db


def test_gangs_that_are_long_gone_are_dropped_and_others_stay() -> None:
    cluster = make_cluster()
    now = timezone.now()
    for name, gone_at in (
        ("here", None),
        ("just-gone", now - timedelta(minutes=5)),
        ("long-gone", now - timedelta(hours=2)),
    ):
        make_gang(cluster, name=name, gone_at=gone_at)
    housekeep()
    assert set(Gang.objects.values_list("name", flat=True)) == {"here", "just-gone"}


def test_past_verdicts_go_after_their_days_and_what_holds_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings, "HISTORY_DAYS", 30)
    gang = make_gang(make_cluster())
    day = 24 * 60
    make_history(
        gang,
        timezone.now() - timedelta(days=91),
        ("room", 60 * day),
        ("runs", 5 * day),
        ("room", 0),
    )
    housekeep()
    kept = VerdictSpan.objects.order_by("began_at").values_list("code", "ended_at")
    assert [(code, end is None) for code, end in kept] == [
        ("running", False),
        ("insufficient-resources", True),
    ]


def test_the_past_of_a_gang_outlives_its_row() -> None:
    gang = make_gang(make_cluster(), gone_at=timezone.now() - timedelta(hours=2))
    make_history(gang, timezone.now() - timedelta(hours=9), ("runs", 7 * 60), gone=True)
    housekeep()
    assert not Gang.objects.exists()
    assert VerdictSpan.objects.count() == 1


def test_old_links_and_dead_processes_are_dropped() -> None:
    user = User.objects.create(username="eve")
    now = timezone.now()
    for name, expires_at in (("old", now - timedelta(days=2)), ("new", now)):
        SignInLink.objects.create(secret_hash=name, user=user, expires_at=expires_at)
    beat("alive", "poll", 8)
    Heartbeat.objects.create(name="dead", kind="poll", beat_at=now - timedelta(hours=2))
    housekeep()
    assert list(SignInLink.objects.values_list("secret_hash", flat=True)) == ["new"]
    assert list(Heartbeat.objects.values_list("name", flat=True)) == ["alive"]


def test_slots_are_short_when_there_are_more_clusters_than_living_slots() -> None:
    for name in ("one", "two"):
        Cluster.objects.create(name=name, server="https://x", credentials=b"")
    assert slots_are_short()
    beat("worker", "poll", 1)
    assert slots_are_short()
    beat("other", "poll", 1)
    assert not slots_are_short()


def test_seeding_orders_a_poll_of_each_free_cluster_and_shows_that_beat_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:

    ordered: list[int] = []
    monkeypatch.setattr(
        tasks.poll, "apply_async", lambda arguments, **_: ordered.append(arguments[0])
    )
    cluster = make_cluster()
    seed()
    assert ordered == [cluster.pk]
    assert Heartbeat.objects.filter(kind="beat").exists()
