"""The feed: each change once, numbered in the order in which it could be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gangboard.store import feed
from gangboard.store.feed import FeedType, number_events, read_after
from gangboard.store.models import Cluster, FeedEvent, VerdictSpan
from gangboard.store.verdict_spans import end_spans
from tests.factories import make_cluster
from tests.separate_process import run_python
from tests.store.test_verdict_spans import NOON, RUNNING, WAITING, Story

MINUTE = timedelta(minutes=1)


def event_rows() -> list[tuple[str, str]]:
    """(type, health) of all events in their order."""
    while number_events():
        pass
    return [(event.type, event.span.health) for event in read_after(0, limit=1000) if event.span]


@pytest.mark.django_db
class TestVerdicts:
    def test_each_new_verdict_is_one_event(self) -> None:
        story = Story(make_cluster("east"))
        story.say(WAITING, NOON)
        story.say({**WAITING, "message": "Other numbers."}, NOON + MINUTE)
        story.say(RUNNING, NOON + 2 * MINUTE)
        story.delete(NOON + 3 * MINUTE)
        assert event_rows() == [
            ("verdict", "waiting"),
            ("verdict", "running"),
            ("deleted", "running"),
        ]

    def test_a_repeated_deletion_is_one_event(self) -> None:
        story = Story(make_cluster("east"))
        story.say(RUNNING, NOON)
        for minute in (1, 2):
            end_spans(story.gang.cluster_id, [story.gang.uid], at=NOON + minute * MINUTE)
        assert event_rows() == [("verdict", "running"), ("deleted", "running")]


@contextmanager
def spans(cluster: Cluster, number: int) -> Iterator[list[VerdictSpan]]:
    story = Story(cluster)
    story.say(WAITING, NOON)
    FeedEvent.objects.all().delete()
    yield story.spans() * number


@pytest.mark.django_db
def test_event_numbers_are_consecutive() -> None:
    with spans(make_cluster("east"), feed.CHUNK + 3) as many:
        feed.add_span_events(many, FeedType.VERDICT, at=NOON)
    assert [number_events(), number_events(), number_events()] == [feed.CHUNK, 3, 0]
    assert feed.newest_number() == feed.CHUNK + 3
    numbers = [event.number for event in read_after(feed.CHUNK, limit=10)]
    assert numbers == [feed.CHUNK + 1, feed.CHUNK + 2, feed.CHUNK + 3]


@pytest.mark.django_db
def test_event_numbers_are_not_reused_after_deletion() -> None:
    with spans(make_cluster("east"), 2) as two:
        feed.add_span_events(two, FeedType.VERDICT, at=NOON)
        number_events()
        assert feed.delete_old_events(before=datetime(2027, 1, 1, tzinfo=UTC)) == 2
        feed.add_span_events(two[:1], FeedType.VERDICT, at=NOON)
        number_events()
    assert [event.number for event in read_after(0, limit=10)] == [3]


# In a process of its own, because each thread needs a real connection to a real database.
SCRIPT = """
import django
django.setup()
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Event
from django.db import connection, transaction
from gangboard.store import feed
from gangboard.store.models import Cluster, FeedEvent
cluster = Cluster.objects.create(name="east")
written, go_on = Event(), Event()

def write():
    FeedEvent.objects.create(at=datetime.now(UTC), type="verdict", cluster=cluster, namespace="a")

def slow():
    with transaction.atomic():
        write()
        written.set()
        go_on.wait(20)
    connection.close()

with ThreadPoolExecutor(1) as pool:
    done = pool.submit(slow)
    written.wait(20)
    write()
    first = feed.number_events()
    seen = [event.pk for event in feed.read_after(0, limit=9)]
    go_on.set()
    done.result(20)
    second = feed.number_events()
    later = [event.pk for event in feed.read_after(1, limit=9)]
print(first, second, seen > later, feed.newest_number())
"""


@pytest.mark.services
def test_a_later_commit_gets_the_higher_number(postgres_url: str, tmp_path: Path) -> None:
    result = run_python("-c", SCRIPT, database_url=postgres_url, folder=tmp_path)
    assert result == "1 1 True 2"
