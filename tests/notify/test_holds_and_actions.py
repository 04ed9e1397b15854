"""Messages about Holds that end soon and about actions."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction

from gangboard.domain.hold import HOLDS, Hold
from gangboard.domain.objects import Meta, ObjectRef
from gangboard.store.feed import add_action_event
from gangboard.store.models import Action, Cluster
from tests.factories import store_object
from tests.notify.conftest import Post, make_channel, make_rule
from tests.store.test_verdict_spans import NOON


def store_hold(cluster: Cluster, until: timedelta) -> None:
    ref = ObjectRef("gangboard.dev", "Hold", "research", "llama-0", "hold-uid")
    meta = Meta("v1alpha1", ref, "1", 1, NOON)
    hold = Hold(meta, job_name="llama-workers-0", owner_uid="uid-1", until=NOON + until)
    store_object(cluster, HOLDS, hold)


def test_a_hold_that_ends_soon_is_sent_once(post: Post, east: Cluster) -> None:
    make_rule(make_channel(), trigger="hold-ends", minutes=30)
    make_rule(make_channel("elsewhere"), trigger="hold-ends", minutes=30, namespace="other")
    store_hold(east, timedelta(hours=1))
    assert post.look(29 * 60) == []
    (order,) = post.look(60)
    assert order["title"] == "Hold ends: Job llama-workers-0 (research, east)"
    assert "ends at 2026-11-21 13:00 UTC." in order["body"]
    assert post.look(600) == []
    assert post.look(3600) == []


def end_action(cluster: Cluster, state: str) -> None:
    action = Action.objects.create(
        id=f"a-{state}",
        verb="suspend",
        cluster=cluster,
        cluster_name=cluster.name,
        kind="Job",
        namespace="research",
        name="llama-0",
        uid=f"uid-{state}",
        actor_name="ada",
        state=state,
        message="It is suspended.",
        requested_at=NOON,
        expires_at=NOON,
        finished_at=NOON,
    )
    with transaction.atomic():
        add_action_event(action, at=NOON)


@pytest.mark.parametrize(("trigger", "expected"), [("reverted", 1), ("action", 2), ("verdict", 0)])
def test_finished_actions_are_sent(post: Post, east: Cluster, trigger: str, expected: int) -> None:
    make_rule(make_channel(kind="webhook"), trigger=trigger)
    for state in ("verified", "reverted"):
        end_action(east, state)
    bodies = "".join(str(order["body"]) for order in post.look())
    assert bodies.count('"type":"action"') == expected
    assert ("/actions/a-reverted/" in bodies) is bool(expected)
