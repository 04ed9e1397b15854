"""Sending: at least once, in order, with pauses that grow; no channel waits for another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from pytest_django import Settings
from standardwebhooks import Webhook

from gangboard.notify import delivery
from gangboard.notify.channels import queue_test_message
from gangboard.notify.delivery import due_channels, serve
from gangboard.notify.outbox import queue_items
from gangboard.notify.posting import Receipt
from gangboard.store.models import Channel, Cluster, Delivery
from gangboard.store.secrets import seal
from tests.notify.conftest import FAILED, SECRET, Post, make_channel, make_rule
from tests.notify.receivers import http_receiver
from tests.personas import make_owner
from tests.store.test_verdict_spans import NOON, RUNNING, WAITING, Story

MINUTE = timedelta(minutes=1)


def numbers(orders: list[Mapping[str, Any]]) -> list[int]:
    return [
        event["number"] for order in orders for event in json.loads(order["body"])["data"]["events"]
    ]


def test_a_receiver_gets_each_event_in_order_after_ten_minutes_of_downtime(
    post: Post, east: Cluster
) -> None:
    make_rule(make_channel(kind="webhook"))
    post.outcome = FAILED
    stories = [Story(east, uid=f"u{number}") for number in range(3)]
    for minute in range(10):
        for story in stories:
            story.say(WAITING if minute % 2 else RUNNING, post.now)
        post.look(60)
    failed, post.outcome = len(post.orders), Receipt(True)
    for _ in range(40):
        post.look(30)
        if not Delivery.objects.filter(finished_at=None).exists():
            break
    arrived = numbers(list(post.orders)[failed:])
    assert arrived == list(range(1, 31))
    assert not Delivery.objects.exclude(state="sent").exists()
    ids = [order["headers"]["webhook-id"] for order in post.orders]
    # The same message has the same id each time.
    assert ids[0] == ids[failed]


def test_pauses_grow_from_ten_seconds_to_an_hour_within_a_day(post: Post, east: Cluster) -> None:
    make_rule(make_channel(kind="webhook"))
    post.outcome = FAILED
    Story(east).say(WAITING, NOON)
    times: list[float] = []
    while post.look() and len(times) < 60:
        times.append((post.now - NOON).total_seconds())
        wait = Channel.objects.get().next_at
        assert wait is not None
        post.now = wait
    assert post.look(24 * 3600) == []
    assert times[:10] == [0, 10, 30, 70, 150, 310, 630, 1270, 2550, 5110]
    assert times[10] - times[9] == 3600
    assert 24 * 3600 <= times[-1] < 25 * 3600
    (over,) = Delivery.objects.all()
    assert (over.state, over.error) == ("given-up", "The receiver answered with 500.")


def test_a_rejected_message_is_dropped_within_two_hours(post: Post, east: Cluster) -> None:
    make_rule(make_channel(kind="webhook"))
    post.outcome = Receipt(False, "The receiver answered with 400.", final=True)
    Story(east).say(WAITING, NOON)
    for _ in range(20):
        post.look(6 * 60)
    assert Delivery.objects.get().state == "given-up"


def test_a_dead_channel_does_not_delay_another(post: Post, east: Cluster) -> None:
    dead, good = make_channel("dead"), make_channel("good")
    make_rule(dead, name="a")
    make_rule(good, name="b")
    post.failing = {"apprise://dead"}
    story = Story(east)
    for minute in range(4):
        story.say(WAITING if minute % 2 else RUNNING, post.now)
        post.look(60)
    assert len(post.bodies("apprise://good")) == 4
    # Those that failed come last.
    assert due_channels(now=post.now + timedelta(hours=1)) == [(dead.pk, True)]


def test_failing_channels_use_few_threads(
    post: Post, east: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    channels = [make_channel(f"dead-{number}", failures=1) for number in range(9)]
    channels += [make_channel(f"good-{number}") for number in range(3)]
    rule = make_rule(*channels)
    queue_items(rule, channels, [{"type": "test"}], now=NOON)
    started: list[int] = []
    monkeypatch.setattr(delivery, "_busy", {})
    monkeypatch.setattr(delivery._threads, "submit", lambda _, id_: started.append(id_))
    delivery.start_due()
    names = Channel.objects.filter(pk__in=started).values_list("name", flat=True)
    assert sorted(name.partition("-")[0] for name in names) == ["dead"] * 6 + ["good"] * 3


def test_two_workers_do_not_send_to_one_channel_concurrently(post: Post, east: Cluster) -> None:
    channel = make_channel()
    make_rule(channel)
    Story(east).say(WAITING, NOON)
    inner: list[int] = []

    def send(order: Mapping[str, Any]) -> Receipt:
        inner.append(serve(channel.pk, post=send, clock=lambda: post.now))
        return Receipt(True)

    from gangboard.notify.matching import match_feed

    match_feed(now=post.now)
    assert serve(channel.pk, post=send, clock=lambda: post.now) == 1
    assert inner == [0]


def test_a_test_message_comes_first_and_retries_a_failed_channel(post: Post, east: Cluster) -> None:
    owner = make_owner()
    channel = make_channel()
    make_rule(channel)
    post.outcome = FAILED
    Story(east).say(WAITING, NOON)
    post.look()
    assert post.look(1) == []
    post.outcome = Receipt(True)
    post.now = NOON + timedelta(days=9000)
    assert queue_test_message(viewer=owner.viewer, channel_id=channel.pk) is not None
    Channel.objects.update(next_at=post.now + timedelta(hours=1))
    orders = post.look()
    assert [order["title"] for order in orders] == [
        "gangboard: a test",
        "Waiting: JobSet train (research, east)",
    ]
    channel.refresh_from_db()
    assert (channel.failures, channel.error, channel.next_at) == (0, "", None)


def test_a_change_with_an_outdated_verdict_says_so(post: Post, east: Cluster) -> None:
    make_rule(make_channel(), health="waiting")
    post.outcome = FAILED
    story = Story(east)
    story.say(WAITING, NOON)
    post.look()
    type(story.gang).objects.update(health="running", code="running", title="Runs")
    (order,) = post.look(10)
    assert "Since then: Running, Runs." in order["body"]
    assert "Next:" not in order["body"]


def test_an_undecryptable_address_is_reported(post: Post, east: Cluster) -> None:
    channel = make_channel()
    make_rule(channel)
    Channel.objects.update(address=b"x")
    Story(east).say(WAITING, NOON)
    assert post.look() == []
    channel.refresh_from_db()
    assert "cannot be decrypted" in channel.error


def test_a_real_receiver_gets_a_change_within_five_seconds(
    post: Post, east: Cluster, settings: Settings
) -> None:
    """From the stored change to a receiver that verifies the signature, without the 2 s of beat."""
    from time import monotonic

    from django.utils import timezone

    from gangboard.notify.matching import match_feed

    settings.NOTIFY_NETWORKS = (ip_network("127.0.0.0/8"),)
    with http_receiver() as receiver:
        channel = make_channel(kind="webhook")
        address = seal({"address": f"http://{receiver.address}/hook", "secret": SECRET})
        Channel.objects.update(address=address)
        make_rule(channel)
        Story(east).say(WAITING, timezone.now())
        started_at = monotonic()
        match_feed(now=timezone.now())
        assert serve(channel.pk) == 1
        assert monotonic() - started_at < 3
    ((headers, body),) = receiver.requests
    document = Webhook(SECRET).verify(body, headers)
    (event,) = document["data"]["events"]
    assert (event["number"], event["type"], event["health"]) == (1, "verdict", "waiting")
    assert SECRET not in body.decode()
