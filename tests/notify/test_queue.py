"""A receiver that is slow or dead cannot make the queue of its channel grow without end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from gangboard.notify import channels, outbox
from gangboard.notify.delivery import serve
from gangboard.notify.items import Item, event_item
from gangboard.notify.matching import match_feed
from gangboard.notify.outbox import LEFT_OUT, queue_items
from gangboard.notify.posting import Receipt
from gangboard.pages.notifications.queries import read_deliveries
from gangboard.store.models import Channel, Cluster, Delivery
from tests.notify.conftest import FAILED, Post, make_channel, make_rule
from tests.personas import make_owner
from tests.store.test_verdict_spans import NOON, RUNNING, WAITING, Story

HOUR = timedelta(hours=1)


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three messages of five events may wait."""
    monkeypatch.setattr(outbox, "MOST_WAITING", 3)
    monkeypatch.setattr(outbox, "MOST_OF_WEBHOOK", 5)


def items(first: int, last: int) -> list[Any]:
    return [event_item(number) for number in range(first, last + 1)]


def queued() -> list[tuple[str, list[Any]]]:
    """(state, numbers of events or count of further ones) of each delivery, the oldest first."""
    deliveries = Delivery.objects.order_by("pk").values_list("state", "items")
    return [
        (state, [item.get("id", item.get("count")) for item in each]) for state, each in deliveries
    ]


@pytest.mark.usefixtures("three")
def test_skipped_webhook_events_are_counted(post: Post) -> None:
    channel = make_channel(kind="webhook")
    rule = make_rule(channel)
    queue_items(rule, [channel], items(1, 12), now=NOON)
    queue_items(rule, [channel], items(13, 20), now=NOON)
    queue_items(rule, [channel], items(21, 22), now=NOON)
    expected = [("waiting", items_of) for items_of in ([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])]
    expected.append(("waiting", [11, 12, 13, 14, 15]))
    assert queued() == [*expected, ("given-up", [7])]
    (row, *_), _ = read_deliveries(viewer=make_owner().viewer)
    assert (row.about, row.error) == (7, LEFT_OUT)
    # A sent message makes space in the queue.
    Delivery.objects.filter(pk=Delivery.objects.earliest("pk").pk).update(
        state="sent", finished_at=NOON
    )
    queue_items(rule, [channel], items(23, 24), now=NOON + 2 * HOUR)
    assert queued()[-1] == ("waiting", [23, 24])
    queue_items(rule, [channel], items(25, 30), now=NOON + 2 * HOUR)
    assert queued()[-2:] == [("waiting", [23, 24, 25, 26, 27]), ("given-up", [3])]


@pytest.mark.usefixtures("three")
def test_a_full_channel_does_not_fill_another(post: Post) -> None:
    slow, good = make_channel("slow", kind="webhook"), make_channel("good", kind="webhook")
    rule = make_rule(slow, good)
    queue_items(rule, [slow], items(1, 15), now=NOON)
    queue_items(rule, [slow, good], items(16, 17), now=NOON)
    assert queued()[-2:] == [("given-up", [2]), ("waiting", [16, 17])]


def test_a_message_to_people_counts_unranked_events(
    post: Post, east: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "MOST_FOR_PEOPLE", 12)
    make_rule(make_channel(), name="many")
    post.outcome = FAILED
    Story(east, uid="first").say(WAITING, NOON)
    post.look()
    for number in range(20):
        Story(east, uid=f"u{number}").say(WAITING, NOON)
        match_feed(now=post.now)
    (delivery,) = Delivery.objects.filter(state="waiting")
    assert len(delivery.items) == 13
    post.outcome = Receipt(True)
    _, order = post.look(60)
    assert order["title"] == "many: 20 changes"
    assert "These are the worst 10 of the first 12 of 20." in order["body"]


def test_a_dead_channel_drops_messages_older_than_a_day(
    post: Post, east: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One attempt an hour would end one message an hour, and a rule may add more."""
    monkeypatch.setattr(outbox, "MOST_OF_WEBHOOK", 1)
    channel = make_channel(kind="webhook")
    rule = make_rule(channel)
    for hour in range(30):
        silent: Item = {"type": "silent", "cluster": east.pk}
        queue_items(rule, [channel], [silent, silent], now=NOON + hour * HOUR)
    post.outcome = FAILED
    assert len(post.look(30 * 3600)) == 1
    over = Delivery.objects.filter(state="given-up")
    # Those of the first hours, 0 to 6, and the others wait on.
    assert over.count() == 14
    assert set(over.values_list("error", flat=True)) == {"The receiver answered with 500."}
    assert Delivery.objects.filter(finished_at=None).count() == 46


def test_a_message_of_a_dead_worker_is_sent_again_first(post: Post, east: Cluster) -> None:
    channel = make_channel(kind="webhook")
    make_rule(channel)
    story = Story(east)
    story.say(WAITING, NOON)

    class DiedError(BaseException):
        pass

    def die(order: Mapping[str, Any]) -> Receipt:
        post.orders.append(order)
        raise DiedError

    match_feed(now=NOON)
    with pytest.raises(DiedError):
        serve(channel.pk, post=die, clock=lambda: NOON)
    story.say(RUNNING, NOON)
    orders = [*post.orders, *post.look(1)]
    ids = [order["headers"]["webhook-id"] for order in orders]
    assert ids[0] == ids[1] != ids[2]
    healths = [json.loads(message["body"])["data"]["events"][0]["health"] for message in orders]
    assert healths == ["waiting", "waiting", "running"]


def test_a_failing_old_address_does_not_delay_the_new_one(post: Post, east: Cluster) -> None:
    """The address is changed while the last message to the old one is on its way."""
    owner = make_owner()
    channel = make_channel(kind="webhook", failures=9)
    make_rule(channel)
    story = Story(east)
    story.say(WAITING, NOON)

    def change(order: Mapping[str, Any]) -> Receipt:
        channels.change_channel(
            viewer=owner.viewer, channel_id=channel.pk, address="https://new.example.com/x"
        )
        return FAILED

    match_feed(now=NOON)
    assert serve(channel.pk, post=change, clock=lambda: NOON) == 1
    channel.refresh_from_db()
    assert (channel.failures, channel.error, channel.next_at) == (0, "", None)
    story.say(RUNNING, NOON)
    orders = post.look(1)
    assert {order["address"] for order in orders} == {"https://new.example.com/x"}
    healths = [json.loads(message["body"])["data"]["events"][0]["health"] for message in orders]
    assert healths == ["waiting", "running"]
    assert not Channel.objects.exclude(failures=0).exists()
