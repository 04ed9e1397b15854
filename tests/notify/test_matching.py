"""Each change is sent once, by its rules, to the right users."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from gangboard.domain.verdict import Evidence
from gangboard.store.models import Cluster, Delivery, FeedEvent, Gang, Rule, RuleMark, VerdictSpan
from gangboard.store.verdict_spans import record_verdicts
from tests.factories import make_finding, make_gangs, make_ref
from tests.notify.conftest import Post, make_channel, make_rule
from tests.personas import make_owner, make_reader, make_stranger
from tests.store.test_verdict_spans import NOON, RUNNING, UNKNOWN, WAITING, Story, stored

MINUTE = timedelta(minutes=1)
BLOCKED = {"code": "not-admitted", "health": "blocked", "stage": "admission"}


def test_a_change_is_sent_with_sentence_next_step_and_link(post: Post, east: Cluster) -> None:
    make_rule(make_channel(), health="waiting")
    story = Story(east)
    story.say(WAITING, NOON)
    (order,) = post.look(2)
    assert order["title"] == "Waiting: JobSet train (research, east)"
    lines = order["body"].splitlines()
    assert "8 pods need 1 GPU each; 3 are free on the eligible nodes." in lines[1]
    assert lines[2] == "Next: It goes when 5 GPUs become free."
    assert lines[3] == f"http://127.0.0.1:8000/gangs/{story.gang.pk}/"


def test_an_event_is_sent_once_and_again_only_on_change(post: Post, east: Cluster) -> None:
    make_rule(make_channel(), health="waiting")
    story = Story(east)
    sent = []
    for verdict in (WAITING, UNKNOWN, WAITING, RUNNING, WAITING):
        story.say(verdict, post.now)
        sent.append(len(post.look(61)))
    # An outage is no change of a gang, but a run in between is.
    assert sent == [1, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, 1),
        ({"namespace": "res*"}, 1),
        ({"namespace": "other"}, 0),
        ({"kind": "JobSet", "code": "insufficient-resources"}, 1),
        ({"kind": "Job"}, 0),
        ({"code": "running"}, 0),
        ({"health": "running"}, 0),
        ({"accelerators_at_least": 8}, 1),
        ({"accelerators_at_least": 9}, 0),
        ({"muted_until": NOON + MINUTE}, 0),
        ({"muted_until": NOON - MINUTE}, 1),
        ({"ended_at": NOON}, 0),
        ({"trigger": "action"}, 0),
    ],
)
def test_conditions_filter_gangs(
    post: Post, east: Cluster, columns: dict[str, Any], expected: int
) -> None:
    make_rule(make_channel(), **columns)
    Story(east).say(WAITING, NOON)
    assert len(post.look()) == expected


def copy_events(number: int) -> None:
    """Write that many gangs and the event of each like the one that there is, by SQL: rows are dear in Python."""
    fields = VerdictSpan._meta.concrete_fields
    columns = [str(field.column) for field in fields if field.name != "id"]
    own = {"gang_id": "'gang-' || i", "name": "'run-' || i"}
    spans, events = VerdictSpan._meta.db_table, FeedEvent._meta.db_table
    count = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {number})"
    with connection.cursor() as cursor:
        values = ", ".join(own.get(column, column) for column in columns)
        cursor.execute(
            f"INSERT INTO {spans} ({', '.join(columns)}) {count} SELECT {values} FROM {spans}, n"
        )
        cursor.execute(f"DELETE FROM {events}")
        cursor.execute(
            f"INSERT INTO {events} (at, type, cluster_id, namespace, span_id)"
            f" SELECT began_at, 'verdict', cluster_id, namespace, id FROM {spans}"
            " WHERE gang_id LIKE 'gang-%%' ORDER BY id",
            (),
        )


def test_a_rule_that_matches_5000_gangs_sends_one_message(post: Post, east: Cluster) -> None:
    make_rule(make_channel(), name="many", health="waiting")
    Story(east).say(WAITING, NOON)
    copy_events(5000)
    VerdictSpan.objects.filter(name="run-4321").update(accelerators=999.0)
    (order,) = post.look()
    assert order["title"] == "many: 5,000 changes"
    assert order["body"].count("Waiting: JobSet") == 10
    assert order["body"].startswith("Waiting: JobSet run-4321")
    assert "the worst 10 of 5,000" in order["body"]


def test_webhooks_get_every_event_in_order(post: Post, east: Cluster) -> None:
    make_rule(make_channel(kind="webhook"))
    gangs = make_gangs(east, 250)
    record_verdicts([stored(gang, **WAITING, since=NOON) for gang in gangs], {}, at=NOON)
    orders = post.look()
    import json

    numbers = [
        event["number"] for order in orders for event in json.loads(order["body"])["data"]["events"]
    ]
    assert numbers == list(range(1, 251))
    assert len(orders) == 3


def test_events_within_a_minute_are_one_more_message(post: Post, east: Cluster) -> None:
    make_rule(make_channel(), name="all")
    first, *later = (Story(east, uid=f"u{number}") for number in range(4))
    first.say(WAITING, NOON)
    assert len(post.look()) == 1
    for story in later:
        story.say(WAITING, NOON)
        assert post.look(5) == []
    (order,) = post.look(50)
    assert order["title"] == "all: 3 changes"


class TestWaits:
    def test_a_long_waiting_gang_is_sent_once(self, post: Post, east: Cluster) -> None:
        make_rule(make_channel(), trigger="waits", minutes=10)
        story = Story(east)
        story.say(WAITING, NOON)
        Gang.objects.update(since=NOON)
        assert post.look(599) == []
        (order,) = post.look(1)
        assert "It has been so since 2026-11-21 12:00 UTC." in order["body"]
        assert post.look(3600) == []

    def test_an_unreadable_gang_is_not_known_to_wait(self, post: Post, east: Cluster) -> None:
        make_rule(make_channel(), trigger="waits", minutes=10)
        Story(east).say(WAITING, NOON)
        Gang.objects.update(since=NOON)
        Cluster.objects.update(contact_at=NOON)
        assert post.look(600) == []

    def test_a_silent_cluster_is_sent_once_per_silence(self, post: Post, east: Cluster) -> None:
        make_rule(make_channel(), trigger="silent")
        assert post.look() == []
        Cluster.objects.update(contact_at=NOON)
        assert post.look(120) == []
        (order,) = post.look(1)
        assert order["title"] == "Cannot be read: cluster east"
        assert post.look(3600) == []
        Cluster.objects.update(contact_at=post.now)
        assert post.look() == []
        assert len(post.look(121)) == 1


class TestTellMeWhenItRuns:
    def make(self, gang: Gang) -> Rule:
        reader = make_reader(gang.cluster)
        return make_rule(
            make_channel(for_everybody=True), trigger="runs", gang_id=gang.pk, owner=reader.user
        )

    @pytest.mark.parametrize("health", ["running", "succeeded", "failed"])
    def test_a_subscription_sends_once_and_ends(
        self, post: Post, east: Cluster, health: str
    ) -> None:
        story = Story(east)
        rule = self.make(story.gang)
        story.say(WAITING, NOON)
        assert post.look() == []
        story.say({"code": "x", "health": health, "stage": "run"}, NOON + MINUTE)
        (order,) = post.look(60)
        assert order["title"] == f"{health.capitalize()}: JobSet train (research, east)"
        rule.refresh_from_db()
        assert rule.ended_at == post.now
        story.say(WAITING, NOON + 2 * MINUTE)
        story.say(RUNNING, NOON + 3 * MINUTE)
        assert post.look(600) == []

    def test_a_deleted_gang_ends_its_subscription(self, post: Post, east: Cluster) -> None:
        story = Story(east)
        self.make(story.gang)
        story.say(WAITING, NOON)
        story.delete(NOON + MINUTE)
        (order,) = post.look()
        assert order["title"].startswith("Deleted: JobSet train")
        assert "It was deleted. Last state: Waiting" in order["body"]

    def test_an_already_running_gang_is_sent(self, post: Post, east: Cluster) -> None:
        """The rule was made in the moment in which the gang began to run."""
        story = Story(east)
        story.say(RUNNING, NOON)
        Gang.objects.update(health="running", code="running")
        assert post.look() == []
        self.make(story.gang)
        assert len(post.look(10)) == 1


class TestRights:
    def test_a_rule_sends_only_gangs_visible_to_its_owner(self, post: Post, east: Cluster) -> None:
        """Two tenants with one channel each: no canary of one reaches the other."""
        for name in ("alpha", "beta"):
            person = make_reader(east, namespace=f"ns-{name}", name=name)
            channel = make_channel(f"to-{name}", owner=person.user)
            make_rule(channel, owner=person.user, name=name)
            make_rule(channel, owner=person.user, name=name, trigger="waits", minutes=1)
        for name in ("alpha", "beta"):
            columns = {"namespace": f"ns-{name}", "name": f"canary-{name}"}
            gang = Story(east).gang
            Gang.objects.filter(pk=gang.pk).update(since=NOON, **columns)
            gang.refresh_from_db()
            message = f"canary-{name} waits for Pod ns-alpha/canary-alpha and ns-beta/canary-beta."
            record_verdicts([stored(gang, **WAITING, message=message)], {}, at=NOON)
        post.look(60)
        assert len(post.orders) == 4
        for name, hidden in (("alpha", "beta"), ("beta", "alpha")):
            text = "\n".join(post.bodies(f"apprise://to-{name}"))
            assert f"canary-{name} waits" in text
            assert f"canary-{hidden}" not in text

    def test_hidden_names_are_removed_from_the_finding(self, post: Post, east: Cluster) -> None:
        person = make_reader(east)
        make_rule(make_channel(for_everybody=True), owner=person.user)
        hidden = make_ref("JobSet", "canary", namespace="secret")
        finding = make_finding(evidence=(Evidence("held by", "secret/canary", hidden),))
        from gangboard.store.gangs import Detail, pack_detail

        story = Story(east)
        detail = pack_detail(Detail(findings=(finding,)))
        story.say(WAITING, NOON, message="JobSet secret/canary has them.", detail=detail)
        (order,) = post.look()
        assert "canary" not in order["body"]
        assert "a gang you may not see has them." in order["body"]

    def test_revoked_rights_count(self, post: Post, east: Cluster) -> None:
        person = make_reader(east)
        make_rule(make_channel(for_everybody=True), owner=person.user)
        post.failing = {"apprise://ops"}
        Story(east).say(WAITING, NOON)
        assert len(post.look()) == 1
        person.user.grants.all().delete()
        post.failing = set()
        assert post.look(3600) == []
        (delivery,) = Delivery.objects.all()
        assert delivery.state == "given-up"

    @pytest.mark.parametrize("role", ["disabled", "stranger", "not their channel"])
    def test_users_without_rights_get_no_message(
        self, post: Post, east: Cluster, role: str
    ) -> None:
        person = make_stranger() if role == "stranger" else make_reader(east)
        channel = make_channel(for_everybody=role != "not their channel", owner=None)
        make_rule(channel, owner=person.user)
        if role == "disabled":
            person.user.is_active = False
            person.user.save()
        Story(east).say(WAITING, NOON)
        assert post.look() == []

    def test_a_rule_of_all_admins_sees_every_gang(self, post: Post, east: Cluster) -> None:
        make_owner()
        make_rule(make_channel(), owner=None)
        Story(east).say(WAITING, NOON)
        assert len(post.look()) == 1


def test_marks_are_deleted_with_their_rule(post: Post, east: Cluster) -> None:
    rule = make_rule(make_channel())
    Story(east).say(WAITING, NOON)
    post.look()
    assert RuleMark.objects.count() == 1
    rule.delete()
    assert not RuleMark.objects.exists()
    assert not Delivery.objects.exists()
