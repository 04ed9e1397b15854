"""Expired rows that are deleted, and rows that stay."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection
from django.utils import timezone

from gangboard.actions.tasks import sweep
from gangboard.polling import tasks
from gangboard.polling.tasks import housekeep, seed
from gangboard.store import authentication, bulk_statements, sessions
from gangboard.store.heartbeats import has_too_few_slots, record_heartbeat
from gangboard.store.models import (
    AccessToken,
    Attempts,
    Cluster,
    Gang,
    Heartbeat,
    SignInLink,
    VerdictSpan,
)
from tests.factories import make_cluster, make_gang, make_history

pytestmark = pytest.mark.django_db


def test_deleted_gangs_become_outlines_and_are_deleted_later() -> None:
    cluster = make_cluster()
    now = timezone.now()
    for name, gone_at in (
        ("here", None),
        ("just-gone", now - timedelta(minutes=5)),
        ("outlined", now - timedelta(hours=2)),
        ("long-gone", now - timedelta(days=settings.HISTORY_DAYS, hours=1)),
    ):
        make_gang(cluster, name=name, gone_at=gone_at)
    housekeep()
    details = {gang.name: bool(gang.detail) for gang in Gang.objects.all()}
    assert details == {"here": True, "just-gone": True, "outlined": False}


def test_old_verdicts_are_deleted_and_current_ones_stay(
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
    spans = VerdictSpan.objects.order_by("began_at").values_list("code", "ended_at")
    assert [(code, ended_at is None) for code, ended_at in spans] == [
        ("running", False),
        ("insufficient-resources", True),
    ]


def test_the_history_of_a_gang_outlives_its_row() -> None:
    gang = make_gang(make_cluster(), gone_at=timezone.now() - timedelta(hours=2))
    make_history(gang, timezone.now() - timedelta(hours=9), ("runs", 7 * 60), gone=True)
    Gang.objects.all().delete()
    housekeep()
    assert VerdictSpan.objects.count() == 1


def test_old_links_and_dead_processes_are_dropped() -> None:
    user = User.objects.create(username="eve")
    now = timezone.now()
    for name, expires_at in (("old", now - timedelta(days=2)), ("new", now)):
        SignInLink.objects.create(secret_hash=name, user=user, expires_at=expires_at)
    record_heartbeat("alive", "poll", 8)
    Heartbeat.objects.create(name="dead", kind="poll", beat_at=now - timedelta(hours=2))
    housekeep()
    assert list(SignInLink.objects.values_list("secret_hash", flat=True)) == ["new"]
    assert list(Heartbeat.objects.values_list("name", flat=True)) == ["alive"]


def test_slots_are_short_if_clusters_outnumber_living_slots() -> None:
    for name in ("one", "two"):
        Cluster.objects.create(name=name, server="https://x", credentials=b"")
    assert has_too_few_slots()
    record_heartbeat("worker", "poll", 1)
    assert has_too_few_slots()
    record_heartbeat("other", "poll", 1)
    assert not has_too_few_slots()


def test_seeding_enqueues_a_poll_of_each_free_cluster_and_records_its_arrival(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ordered: list[int] = []
    monkeypatch.setattr(
        tasks.poll, "apply_async", lambda arguments, **_: ordered.append(arguments[0])
    )
    cluster = make_cluster()
    seed()
    assert ordered == [cluster.pk]
    kinds = list(Heartbeat.objects.values_list("kind", flat=True))
    assert kinds == ["poll-orders"], "a worker knows nothing of the life of beat"


def test_sweeping_records_its_arrival() -> None:
    sweep()
    assert list(Heartbeat.objects.values_list("kind", flat=True)) == ["act-orders"]


def test_a_process_starts_with_its_first_heartbeat_after_a_gap() -> None:
    record_heartbeat("worker", "poll", 8)
    began_at = Heartbeat.objects.get().began_at
    record_heartbeat("worker", "poll", 8)
    assert Heartbeat.objects.get().began_at == began_at
    Heartbeat.objects.update(beat_at=timezone.now() - timedelta(seconds=16))
    record_heartbeat("worker", "poll", 8)
    assert began_at is not None
    assert Heartbeat.objects.filter(began_at__gt=began_at).exists()


def test_expired_sessions_are_deleted_and_current_ones_stay() -> None:
    now = timezone.now()
    for name, expires_at in (
        ("over", now - timedelta(minutes=1)),
        ("open", now + timedelta(hours=1)),
    ):
        Session.objects.create(session_key=name, session_data="", expire_date=expires_at)
    housekeep()
    assert [session.session_key for session in Session.objects.all()] == ["open"]


def test_old_sessions_are_deleted_in_batches() -> None:
    ended = timezone.now() - timedelta(days=1)
    Session.objects.bulk_create(
        Session(session_key=str(number), session_data="", expire_date=ended)
        for number in range(bulk_statements.DELETE_BATCH * 2 + 1)
    )
    most = []

    def count(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("DELETE"):
            most.append(len(params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(count):
        forgotten = sessions.delete_expired_sessions(ended_before=timezone.now())
    assert forgotten == 2 * bulk_statements.DELETE_BATCH + 1
    assert most == [bulk_statements.DELETE_BATCH, bulk_statements.DELETE_BATCH, 1]
    assert not Session.objects.exists()


def test_expired_links_tokens_and_counts_are_deleted() -> None:
    user = User.objects.create(username="ada")
    now = timezone.now()
    long_ago = now - timedelta(days=2)
    for _ in range(2):
        authentication.create_sign_in_link(user=user)
        authentication.issue_token(user=user)
    used, token = SignInLink.objects.first(), AccessToken.objects.first()
    assert used is not None
    assert token is not None
    SignInLink.objects.filter(pk=used.pk).update(expires_at=long_ago, used_at=long_ago)
    AccessToken.objects.filter(pk=token.pk).update(expires_at=long_ago)
    Attempts.objects.create(key="old", ends_at=now - timedelta(seconds=1))
    Attempts.objects.create(key="new", ends_at=now + timedelta(minutes=1))
    housekeep()
    assert not SignInLink.objects.filter(pk=used.pk).exists()
    assert not AccessToken.objects.filter(pk=token.pk).exists()
    assert (SignInLink.objects.count(), AccessToken.objects.count()) == (1, 1)
    assert [attempt.key for attempt in Attempts.objects.all()] == ["new"]
