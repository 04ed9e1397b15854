"""A rule that is changed or muted: it sends no old message again, and misses no new one."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gangboard.notify import rules
from gangboard.store.models import Cluster, Gang, Rule
from tests.notify.conftest import FAILED, Post, make_channel, make_rule
from tests.personas import Person, make_owner
from tests.store.test_verdict_spans import NOON, RUNNING, WAITING, Story


@pytest.fixture
def owner(post: Post) -> Person:
    return make_owner()


def change(owner: Person, rule: Rule, **changes: object) -> None:
    assert rules.change_rule(viewer=owner.viewer, rule_id=rule.pk, **changes)


class TestChanges:
    def test_a_changed_rule_resends_no_old_event(
        self, post: Post, east: Cluster, owner: Person
    ) -> None:
        rule = make_rule(make_channel("chat"), health="waiting")
        make_channel("mail")
        story = Story(east)
        story.say(WAITING, NOON)
        assert len(post.look()) == 1
        change(owner, rule, name="renamed", health=None, channels=["chat", "mail"])
        assert post.look(3600) == []
        # The same verdict after an outage is no change.
        story.say({**WAITING, "message": "Other numbers."}, post.now)
        assert post.look(60) == []
        story.say(RUNNING, post.now)
        assert sorted(order["address"] for order in post.look(60)) == [
            "apprise://chat",
            "apprise://mail",
        ]

    def test_a_shorter_wait_notifies_about_gangs_not_yet_sent(
        self, post: Post, east: Cluster, owner: Person
    ) -> None:
        rule = make_rule(make_channel(), name="slow", trigger="waits", minutes=60)
        for uid, minutes in (("long", 0), ("short", 50)):
            story = Story(east, uid=uid)
            since = NOON + timedelta(minutes=minutes)
            story.say(WAITING, since)
            Gang.objects.filter(pk=story.gang.pk).update(since=since, name=uid)
        assert len(post.look(3601)) == 1
        change(owner, rule, minutes=5)
        (order,) = post.look(60)
        assert order["title"].startswith("Waiting: JobSet")
        assert "12:50 UTC" in order["body"]
        assert post.look(3600) == []

    def test_a_queued_message_has_the_new_name(
        self, post: Post, east: Cluster, owner: Person
    ) -> None:
        rule = make_rule(make_channel())
        post.outcome = FAILED
        Story(east).say(WAITING, NOON)
        post.look()
        change(owner, rule, name="renamed")
        (order,) = post.look(10)
        assert "Rule: renamed." in order["body"]


class TestMute:
    def test_events_during_a_mute_are_skipped_and_later_ones_are_sent(
        self, post: Post, east: Cluster, owner: Person
    ) -> None:
        rule = make_rule(make_channel(), health="waiting")
        story, second = Story(east), Story(east, uid="other")
        story.say(WAITING, NOON)
        assert len(post.look()) == 1
        second.say(WAITING, NOON)
        assert post.look(5) == []  # it waits for the end of the minute
        mute(owner, rule, post)
        story.say(RUNNING, post.now)
        second.say(RUNNING, post.now)
        assert post.look(1800) == []
        second.say(WAITING, post.now)
        assert post.look(1801) == []
        # The verdict of the beginning is news: the gang has run in between.
        story.say(WAITING, post.now)
        (order,) = post.look(60)
        assert order["title"] == "Waiting: JobSet train (research, east)"

    def test_a_wait_during_a_mute_is_not_sent_afterwards(
        self, post: Post, east: Cluster, owner: Person
    ) -> None:
        rule = make_rule(make_channel(), trigger="waits", minutes=10)
        Story(east).say(WAITING, NOON)
        Gang.objects.update(since=NOON)
        mute(owner, rule, post)
        assert post.look(1800) == []
        assert post.look(7200) == []

    def test_an_attempted_message_is_sent_despite_the_mute(
        self, post: Post, east: Cluster, owner: Person
    ) -> None:
        rule = make_rule(make_channel())
        post.outcome = FAILED
        Story(east).say(WAITING, NOON)
        assert len(post.look()) == 1
        mute(owner, rule, post)
        assert len(post.look(60)) == 1

    def test_a_mute_can_end_early(self, post: Post, east: Cluster, owner: Person) -> None:
        rule = make_rule(make_channel())
        mute(owner, rule, post)
        mute(owner, rule, post, hours=0)
        Story(east).say(WAITING, post.now)
        assert len(post.look()) == 1


def mute(owner: Person, rule: Rule, post: Post, hours: int = 1) -> None:
    """Mute a rule as a click does, from the time of the test on."""
    assert rules.mute_rule(viewer=owner.viewer, rule_id=rule.pk, hours=hours)
    if hours:
        Rule.objects.filter(pk=rule.pk).update(muted_until=post.now + timedelta(hours=hours))
