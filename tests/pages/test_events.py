"""The feed: order, cursors, filters, who may read what, and the long poll."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gangboard.domain.verdict import Evidence
from gangboard.pages.events import api, waiting
from gangboard.pages.events.feed_cursors import write_cursor
from gangboard.pages.events.waiting import FeedCrowdedError, FeedWatch
from gangboard.store.feed import FeedType, Place, add_action_event, add_span_events
from gangboard.store.gangs import Detail, pack_detail
from gangboard.store.models import Cluster, VerdictSpan
from tests.factories import make_cluster, make_finding, make_gang, make_ref
from tests.personas import Person, make_owner, make_reader
from tests.recorded_actions import make_action
from tests.separate_process import run_python

EVENTS = "/api/v1/events/"
SOON = 60.0


@pytest.fixture
def east(db: None) -> Cluster:
    return make_cluster("east")


def happened(
    cluster: Cluster,
    name: str,
    health: str = "waiting",
    *,
    type_: FeedType = FeedType.VERDICT,
    hours_ago: float = 0,
    **columns: Any,
) -> VerdictSpan:
    """A gang got a verdict, or was deleted."""
    index = timezone.now() - timedelta(hours=hours_ago)
    values = {
        "gang_id": f"id-{name}",
        "api_group": "jobset.x-k8s.io",
        "kind": "JobSet",
        "namespace": "research",
        "name": name,
        "uid": f"uid-{name}",
        "health": health,
        "stage": "placement",
        "code": "insufficient-resources",
        "title": "Too little is free",
        "message": f"{name} waits.",
        "began_at": index,
        "ended_at": index if type_ is FeedType.DELETED else None,
        **columns,
    }
    span = VerdictSpan.objects.create(cluster=cluster, **values)
    add_span_events([span], type_, at=index)
    return span


def get(person: Person, **query: Any) -> Any:
    response = person.client.get(EVENTS, query)
    assert response.status_code == 200, response.content
    return response.json()


def names(answer: Any) -> list[str]:
    return [row["gang"]["name"] for row in answer["results"]]


class TestOrder:
    def test_an_event_has_its_sentence(self, east: Cluster) -> None:
        happened(east, "llama")
        (row,) = get(make_owner())["results"]
        assert row.pop("at").endswith("Z")
        assert row.pop("cursor")
        assert row == {
            "type": "verdict",
            "cluster": "east",
            "namespace": "research",
            "gang": {
                "id": "id-llama",
                "kind": "JobSet",
                "api_group": "jobset.x-k8s.io",
                "name": "llama",
            },
            "health": "waiting",
            "code": "insufficient-resources",
            "title": "Too little is free",
            "message": "llama waits.",
            "action": None,
        }

    def test_an_ended_action_is_an_event(self, east: Cluster) -> None:
        gang = make_gang(east, "llama")
        action = make_action(east, gang_id=gang.pk, name="llama-workers-1")
        add_action_event(action, at=timezone.now())
        (row,) = get(make_owner(), type="action")["results"]
        assert row["action"] == {
            "id": action.pk,
            "verb": "suspend",
            "state": "verified",
            "message": "Held since 10:00:00.",
        }
        assert (row["gang"]["id"], row["gang"]["name"]) == (gang.pk, "llama")
        assert (row["health"], row["code"]) == (None, None)
        assert get(make_owner("olaf"), gang=gang.pk)["results"] == [row]

    def test_a_page_continues_after_the_previous_one(self, east: Cluster) -> None:
        for name in "abcde":
            happened(east, name)
        owner = make_owner()
        first = get(owner, limit=2)
        second = owner.client.get(first["next"]).json()
        third = owner.client.get(second["next"]).json()
        fourth = owner.client.get(third["next"]).json()
        assert [names(page) for page in (first, second, third, fourth)] == [
            ["a", "b"],
            ["c", "d"],
            ["e"],
            [],
        ]
        happened(east, "f")
        assert names(owner.client.get(fourth["next"]).json()) == ["f"]
        # Each event has the cursor of the next events.
        assert names(get(owner, cursor=second["results"][0]["cursor"])) == ["d", "e", "f"]

    def test_the_cursor_now_skips_old_events(self, east: Cluster) -> None:
        happened(east, "a")
        owner = make_owner()
        page = get(owner, cursor="now")
        assert page["results"] == []
        happened(east, "b")
        assert names(get(owner, cursor=page["cursor"])) == ["b"]

    def test_a_cursor_advances_over_filtered_events(self, east: Cluster) -> None:
        happened(east, "a")
        owner = make_owner()
        page = get(owner, code="fragmented")
        assert page["results"] == []
        assert get(owner, cursor=page["cursor"])["results"] == []

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ({"health": "waiting"}, ["a"]),
            ({"health": "waiting,failed"}, ["a", "b"]),
            ({"type": "deleted"}, ["c"]),
            ({"namespace": "ops"}, ["b"]),
            ({"cluster": "west"}, ["c"]),
            ({"code": "failed"}, ["b"]),
            ({"gang": "id-a"}, ["a"]),
        ],
    )
    def test_events_are_filtered(
        self, east: Cluster, query: dict[str, str], expected: list[str]
    ) -> None:
        happened(east, "a")
        happened(east, "b", "failed", code="failed", namespace="ops")
        happened(make_cluster("west"), "c", "running", type_=FeedType.DELETED)
        assert names(get(make_owner(), **query)) == expected


class TestCursors:
    @pytest.mark.parametrize("cursor", ["x", "é", "W10", "WzEsMSwxXQ", "a" * 200, "WyIxIiwxXQ"])
    def test_an_invalid_cursor_is_refused(self, east: Cluster, cursor: str) -> None:
        response = make_owner().client.get(EVENTS, {"cursor": cursor})
        assert (response.status_code, list(response.json()["errors"])) == (400, ["cursor"])

    def test_a_cursor_older_than_seven_days_is_expired(self, east: Cluster) -> None:
        happened(east, "a")
        owner = make_owner()
        old = write_cursor(0, timezone.now() - timedelta(days=7, minutes=1))
        response = owner.client.get(EVENTS, {"cursor": old})
        assert response.status_code == 410
        assert "7 days" in response.json()["detail"]
        young = write_cursor(0, timezone.now() - timedelta(days=6, hours=23))
        assert names(get(owner, cursor=young)) == ["a"]

    def test_a_cursor_of_a_later_database_is_expired(self, east: Cluster) -> None:
        response = make_owner().client.get(EVENTS, {"cursor": write_cursor(9, timezone.now())})
        assert response.status_code == 410
        assert "backup" in response.json()["detail"]

    def test_the_next_page_of_old_events_keeps_their_age(self, east: Cluster) -> None:
        """Otherwise a slow reader would not be told that it has missed some."""
        happened(east, "a", hours_ago=7 * 24 - 0.5)
        happened(east, "b")
        owner = make_owner()
        page = get(owner, limit=1)
        assert page["cursor"] == page["results"][0]["cursor"]


class TestAccess:
    def test_events_follow_the_viewers_permissions(self, east: Cluster) -> None:
        west = make_cluster("west")
        happened(east, "mine")
        happened(east, "theirs", namespace="finance")
        happened(west, "far")
        add_action_event(make_action(west), at=timezone.now())
        reader = make_reader(east)
        assert names(get(reader)) == ["mine"]
        assert get(reader, gang="id-theirs")["results"] == []
        assert reader.client.get(EVENTS, {"cluster": "west"}).status_code == 400
        assert Client().get(EVENTS).status_code == 401

    def test_sentences_contain_no_hidden_names(self, east: Cluster) -> None:
        other_ref = make_ref("JobSet", "secret", group="jobset.x-k8s.io", namespace="finance")
        finding = make_finding("preempted", evidence=(Evidence("by", "finance/secret", other_ref),))
        happened(
            east,
            "mine",
            code="preempted",
            message="It was preempted by JobSet finance/secret.",
            findings=pack_detail(Detail((finding,))),
        )
        owner, reader = make_owner(), make_reader(east)
        assert "finance/secret" in get(owner)["results"][0]["message"]
        assert get(reader)["results"][0]["message"] == (
            "It was preempted by a gang you may not see."
        )

    def test_events_of_a_removed_cluster_are_deleted(self, east: Cluster) -> None:
        happened(east, "a")
        owner = make_owner()
        cursor = get(owner)["cursor"]
        east.delete()
        assert get(owner)["results"] == []
        assert get(owner, cursor=cursor)["results"] == []


class NoWatch:
    """Stands for the watch: `wait` does something and says that something came."""

    def __init__(self, *steps: Any, full: bool = False) -> None:
        self.steps = list(steps)
        self.full = full
        self.seen: list[int] = []

    @contextmanager
    def entered(self, person: int) -> Iterator[None]:
        if self.full:
            raise FeedCrowdedError
        yield

    def wait(self, seen: int, concerns: Any, timeout: float) -> bool:
        self.seen.append(seen)
        if not self.steps:
            return False
        self.steps.pop(0)()
        return True


class TestWait:
    def test_the_next_event_ends_the_wait(
        self, east: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        happened(east, "a")
        owner = make_owner()
        cursor = get(owner)["cursor"]
        watch = NoWatch(lambda: happened(east, "b", namespace="ops"), lambda: happened(east, "c"))
        monkeypatch.setattr(api, "feed_watch", watch)
        page = get(owner, cursor=cursor, wait=25, namespace="research")
        assert (names(page), watch.seen) == (["c"], [1, 2])
        assert get(owner, cursor=page["cursor"])["results"] == []

    def test_a_wait_without_events_ends_empty(
        self, east: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(api, "feed_watch", NoWatch())
        page = get(make_owner(), wait=25)
        assert page["results"] == []
        assert page["next"]

    def test_a_right_revoked_during_the_wait_is_respected(
        self, east: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reader = make_reader(east)

        def lose() -> None:
            reader.user.grants.all().delete()
            happened(east, "a")

        monkeypatch.setattr(api, "feed_watch", NoWatch(lose))
        assert get(reader, wait=25)["results"] == []

    def test_a_token_revoked_during_the_wait_is_refused(
        self, east: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from gangboard.store import authentication
        from gangboard.store.models import AccessToken

        owner = make_owner()
        token = authentication.issue_token(user=owner.user, may_act=False)

        def revoke() -> None:
            AccessToken.objects.all().delete()
            happened(east, "a")

        monkeypatch.setattr(api, "feed_watch", NoWatch(revoke))
        robot = Client(headers={"Authorization": f"Bearer {token}"})
        assert robot.get(EVENTS, {"wait": 25}).status_code == 401

    def test_a_wait_above_the_limit_gets_retry_after(
        self, east: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(api, "feed_watch", NoWatch(full=True))
        response = make_owner().client.get(EVENTS, {"wait": 25})
        assert (response.status_code, response["Retry-After"]) == (200, "2")

    @pytest.mark.parametrize("wait", ["-1", "26", "x"])
    def test_the_wait_is_bounded(self, east: Cluster, wait: str) -> None:
        response = make_owner().client.get(EVENTS, {"wait": wait})
        assert (response.status_code, list(response.json()["errors"])) == (400, ["wait"])


class Feed:
    """A feed without a database."""

    def __init__(self) -> None:
        self.places: list[Place] = []

    def add(self, cluster_id: int, namespace: str) -> None:
        self.places.append((len(self.places) + 1, cluster_id, namespace))

    def look(self, known: int | None) -> tuple[int, Sequence[Place]]:
        newest = len(self.places)
        return newest, () if known is None else self.places[known:newest]


class TestWatch:
    @pytest.fixture(autouse=True)
    def quick(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(waiting, "POLL_INTERVAL", 0.005)

    @staticmethod
    def start(watch: FeedWatch, seen: int, namespace: str, seconds: float) -> Any:
        answers: list[bool] = []

        def run() -> None:
            with watch.entered(1):
                answers.append(watch.wait(seen, lambda _, result: result == namespace, seconds))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread, answers

    def test_an_event_wakes_only_its_viewers(self) -> None:
        feed = Feed()
        feed.add(1, "research")
        watch = FeedWatch(feed.look)
        with watch.entered(9):
            assert watch.wait(0, lambda *_: False, SOON)  # what came before is not remembered
            mine, mine_woken = self.start(watch, 1, "research", SOON)
            _, remaining = self.start(watch, 1, "finance", SOON)
            feed.add(1, "research")
            mine.join(SOON)
            assert (mine_woken, remaining) == ([True], [])
            feed.add(1, "finance")

    def test_a_wait_ends_at_its_timeout(self) -> None:
        thread, answers = self.start(FeedWatch(Feed().look), 0, "a", 0.02)
        thread.join(SOON)
        assert answers == [False]

    def test_a_user_does_not_take_all_slots(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(waiting, "MOST_OF_ONE", 1)
        watch = FeedWatch(Feed().look)
        with watch.entered(1), watch.entered(2), pytest.raises(FeedCrowdedError), watch.entered(1):
            pass

    def test_an_overflow_of_events_wakes_everyone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        feed = Feed()
        watch = FeedWatch(lambda known: (feed.look(known)[0], ()))
        with watch.entered(9):
            thread, answers = self.start(watch, 0, "a", SOON)
            feed.add(1, "b")
            thread.join(SOON)
        assert answers == [True]


# In a process of its own, because the watch reads by a connection of its own.
SCRIPT = """
import django
django.setup()
import threading, time
from datetime import UTC, datetime
from django.db import connection
from django.test import Client
from gangboard.store import people, authentication
from gangboard.store.models import Cluster, VerdictSpan
from gangboard.store.feed import add_span_events, FeedType
cluster = Cluster.objects.create(name="east")
user, _ = people.create_user(name="olga", role="admin")
token = authentication.issue_token(user=user, may_act=False)
now = datetime.now(UTC)
span = VerdictSpan.objects.create(cluster=cluster, gang_id="a", namespace="n", kind="JobSet", name="a",
    health="running", stage="run", code="running", began_at=now)
answers = []
def ask():
    answers.append(Client(headers={"Authorization": f"Bearer {token}"}, HTTP_HOST="localhost").get("/api/v1/events/?wait=20").json())
    connection.close()
thread = threading.Thread(target=ask)
began = time.monotonic()
thread.start()
time.sleep(1)
waited = thread.is_alive()
add_span_events([span], FeedType.VERDICT, at=now)
thread.join(20)
print(waited, len(answers[0]["results"]), time.monotonic() - began < 15)
"""


def test_a_waiting_request_is_answered_when_an_event_is_committed(tmp_path: Path) -> None:
    assert run_python("-c", SCRIPT, folder=tmp_path) == "True 1 True"
