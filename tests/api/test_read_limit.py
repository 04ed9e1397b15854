"""Read limits of a token or a session."""

from __future__ import annotations

import json

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from gangboard.pages.core.api import read_limit
from gangboard.pages.core.api.read_limit import BURST, PER_SECOND, Buckets
from tests.api.conftest import World, token_of


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(read_limit, "read_buckets", Buckets(clock))
    return clock


def test_a_bucket_is_emptied_by_a_burst_and_fills_again(clock: Clock) -> None:
    buckets = Buckets(clock)
    assert [buckets.take("a") for _ in range(600)] == [0.0] * 600
    assert buckets.take("a") == pytest.approx(0.05)
    assert buckets.take("b") == 0.0, "nobody pays for another"
    clock.now += 1.0
    assert [buckets.take("a") for _ in range(20)] == [0.0] * 20
    assert buckets.take("a") > 0
    clock.now += 3600
    assert [buckets.take("a") for _ in range(600)] == [0.0] * 600
    assert buckets.take("a") > 0


def test_buckets_stay_within_the_memory_limit(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_limit, "MOST_BUCKETS", 3)
    buckets = Buckets(clock)
    for name in "abcda":
        buckets.take(name)
    assert list(buckets._left) == ["c", "d", "a"]


def test_a_throttled_token_gets_retry_after(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_limit, "BURST", 2)
    reader = Client(headers={"authorization": f"Bearer {token_of('admin')}"})
    another = Client(headers={"authorization": f"Bearer {token_of('reader')}"})
    assert [reader.get("/api/v1/summary/").status_code for _ in range(2)] == [200, 200]
    with CaptureQueriesContext(connection) as queries:
        refused = reader.get("/api/v1/summary/")
    assert all(query["sql"].startswith("SELECT") for query in queries.captured_queries)
    assert (refused.status_code, refused["Content-Type"]) == (429, "application/problem+json")
    assert refused["Retry-After"] == "1"
    assert (
        refused.json()["detail"] == "Too many requests with this token or session. Try again later."
    )
    assert (
        reader.post("/api/v1/actions/?dry_run=true", json.dumps({}), "application/json").status_code
        == 429
    )
    assert reader.post("/api/v1/actions/", json.dumps({}), "application/json").status_code == 400
    assert another.get("/api/v1/summary/").status_code == 200


def test_the_limit_allows_a_burst_of_300_twice() -> None:
    assert (BURST, PER_SECOND) == (600, 20.0)
