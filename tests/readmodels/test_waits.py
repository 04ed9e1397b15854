"""Waits of a gang by stage, and typical waits of similar gangs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from gangboard.readmodels.time_to_start import (
    MOST_CASES,
    Similarity,
    TypicalWait,
    VerdictInterval,
    Wait,
    make_wait,
    typical_wait,
)
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster, Gang
from gangboard.store.verdict_spans import request_digest
from tests.factories import NOW, VERDICTS, make_cluster, make_gang, make_history

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
BORN = NOW - timedelta(hours=2)


def a_wait(
    *verdicts: tuple[str, float],
    born: datetime | None = BORN,
    begin: datetime = BORN,
    now: float = 0,
) -> Wait | None:
    """The wait of a gang with these (verdict, minutes). A duration of -1 is still open."""
    stretches = []
    for text, minutes in verdicts:
        end = None if minutes < 0 else begin + minutes * MINUTE
        verdict = VERDICTS[text]
        stretches.append(
            VerdictInterval(verdict["health"], verdict["stage"], verdict["code"], begin, end)
        )
        begin = end or begin
    return make_wait(stretches, born, begin + now * MINUTE)


def stages_of(wait: Wait) -> list[tuple[str, float]]:
    return [(stage.label, stage.seconds / 60) for stage in wait.parts]


def known(wait: Wait | None) -> Wait:
    assert wait is not None
    return wait


class TestOneWait:
    def test_a_wait_is_split_into_capacity_and_image_pull(self) -> None:
        wait = known(a_wait(("room", 30), ("images", 12), ("runs", -1)))
        assert wait.text == "42 min"
        assert stages_of(wait) == [("for capacity", 30), ("for images and containers", 12)]
        assert [stage.share for stage in wait.parts] == [71.4, 28.6]
        assert (wait.end, wait.from_creation) == ("running", True)
        assert wait.by_stage == {"placement": 1800, "start": 720}

    def test_a_wait_has_four_stages_in_order(self) -> None:
        verdicts = [("images", 1), ("room", 2), ("forming", 3), ("quota", 4), ("runs", -1)]
        wait = known(a_wait(*verdicts))
        assert stages_of(wait) == [
            ("for quota", 4),
            ("for its pods to be created", 3),
            ("for capacity", 2),
            ("for images and containers", 1),
        ]

    def test_a_repeated_stage_is_one_entry(self) -> None:
        wait = known(a_wait(("room", 5), ("images", 1), ("room", 6), ("runs", -1)))
        assert stages_of(wait) == [("for capacity", 11), ("for images and containers", 1)]

    def test_only_the_first_wait_counts(self) -> None:
        wait = known(a_wait(("room", 5), ("runs", 60), ("room", 30), ("runs", -1)))
        assert wait.seconds == 300

    def test_time_before_the_first_observation_counts_as_the_first_state(self) -> None:
        wait = known(a_wait(("room", 5), ("runs", -1), begin=BORN + timedelta(seconds=6)))
        assert (wait.seconds, wait.started_at) == (306, BORN)
        assert stages_of(wait) == [("for capacity", 5.1)]

    def test_a_wait_may_count_from_a_late_first_observation(self) -> None:
        """It may have run in that hour."""
        observed = BORN + timedelta(hours=1)
        wait = known(a_wait(("room", 5), ("runs", -1), begin=observed))
        assert (wait.seconds, wait.started_at, wait.from_creation) == (300, observed, False)

    def test_a_state_older_than_the_owner_counts_from_creation(self) -> None:
        wait = known(a_wait(("room", 5), ("runs", -1), begin=BORN - MINUTE))
        assert (wait.seconds, wait.from_creation) == (300, True)


class TestExcludedTime:
    def test_outages_count_for_no_stage(self) -> None:
        wait = known(a_wait(("room", 10), ("unknown", 5), ("room", 10), ("runs", -1)))
        assert wait.seconds == 25 * 60
        assert stages_of(wait) == [("for capacity", 20), ("not observed", 5)]
        assert wait.by_stage == {"placement": 1200}

    def test_deliberate_suspension_is_not_counted(self) -> None:
        wait = known(a_wait(("held", 600), ("room", 10), ("runs", -1)))
        assert (wait.text, stages_of(wait)) == ("10 min", [("for capacity", 10)])
        assert wait.suspended is not None
        assert wait.suspended.text == "10 h"
        assert wait.by_stage == {"placement": 600}

    @pytest.mark.parametrize(
        "text", ["runs", "failed", "succeeded", "below", "part-held", "part-off"]
    )
    def test_a_gang_first_seen_running_has_no_wait(self, text: str) -> None:
        assert a_wait((text, -1)) is None
        assert a_wait(("unknown", 5), (text, -1)) is None
        assert a_wait((text, 5), ("room", 5), ("runs", -1)) is None

    def test_a_gang_without_history_has_no_wait(self) -> None:
        assert a_wait() is None
        assert a_wait(("unknown", -1)) is None

    @pytest.mark.parametrize("text", ["part-held", "part-off"])
    def test_a_wait_ends_when_all_jobs_run_that_are_not_stopped(self, text: str) -> None:
        for following in ((text, 600), ("runs", -1)), ((text, -1),):
            wait = known(a_wait(("room", 5), *following))
            assert (wait.seconds, wait.end) == (300, "running")
            assert wait.ended_at is not None

    def test_a_gang_that_is_stopped_as_a_whole_has_not_run(self) -> None:
        wait = known(a_wait(("room", 5), ("off", -1)))
        assert (wait.seconds, wait.end) == (300, "")


class TestUnfinishedWaits:
    def test_a_current_wait_counts_until_now(self) -> None:
        wait = known(a_wait(("forming", 2), ("room", -1), now=7))
        assert (wait.seconds, wait.ended_at, wait.end) == (9 * 60, None, "")
        assert wait.counting_from == BORN
        assert [stage.counting_from for stage in wait.parts] == [None, BORN + 2 * MINUTE]

    def test_the_start_of_a_wait_does_not_depend_on_now(self) -> None:
        verdicts = [("room", 5), ("images", 3), ("room", -1)]
        earlier, later = (known(a_wait(*verdicts, now=minutes)) for minutes in (1, 50))
        assert earlier.counting_from == later.counting_from == BORN
        assert earlier.parts[0].counting_from == later.parts[0].counting_from == BORN + 3 * MINUTE

    def test_a_suspension_pauses_the_wait(self) -> None:
        wait = known(a_wait(("room", 5), ("held", -1), now=60))
        assert (wait.seconds, wait.counting_from) == (300, None)
        assert wait.suspended is not None
        assert wait.suspended.counting_from == BORN + 5 * MINUTE

    def test_a_gang_deleted_before_running_has_a_wait(self) -> None:
        wait = known(a_wait(("room", 5)))
        assert (wait.seconds, wait.end) == (300, "gone")

    @pytest.mark.parametrize("text", ["failed", "succeeded"])
    def test_a_gang_never_seen_running_has_a_wait(self, text: str) -> None:
        wait = known(a_wait(("room", 5), (text, -1), now=60))
        assert (wait.seconds, wait.end) == (300, "over")


# --- what is typical


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def a_case(cluster: Cluster, minutes: float, *extra: tuple[str, float], **columns: Any) -> Gang:
    """A gang that waited for room for so long, then ran, and is gone."""
    gang = make_gang(cluster, created_at=BORN, **columns)
    make_history(gang, BORN, ("room", minutes), *extra, ("runs", 10), gone=True)
    gang.delete()
    return gang


def typical(viewer: Viewer, gang: Gang) -> TypicalWait:
    shape = request_digest(gang.requests, gang.desired)
    like = Similarity(gang.cluster_id, gang.queue, shape, gang.desired)
    return typical_wait(viewer=viewer, like=like, gang_id=gang.pk)


class TestTypical:
    def test_the_typical_wait_is_the_median_of_five(self, owner: Viewer, cluster: Cluster) -> None:
        for minutes in (34, 10, 50, 20, 90):
            a_case(cluster, minutes)
        assert typical(owner, make_gang(cluster)) == TypicalWait(34 * 60, 5)
        assert typical(owner, make_gang(cluster)).text == "34 min"

    def test_four_cases_are_too_few(self, owner: Viewer, cluster: Cluster) -> None:
        for _ in range(4):
            a_case(cluster, 10)
        assert typical(owner, make_gang(cluster)) == TypicalWait(None, 4)

    @pytest.mark.parametrize(
        "another",
        [
            {"queue": "gpu-batch"},
            {"desired": 16},
            {"requests": {"nvidia.com/gpu": "16"}},
            {"requests": {}},
        ],
    )
    def test_different_gangs_are_not_comparable(
        self, owner: Viewer, cluster: Cluster, another: dict[str, Any]
    ) -> None:
        for _ in range(4):
            a_case(cluster, 10)
        a_case(cluster, 10, **another)
        assert typical(owner, make_gang(cluster)).cases == 4

    def test_another_cluster_is_not_comparable(self, owner: Viewer, cluster: Cluster) -> None:
        a_case(make_cluster("west"), 10)
        assert typical(owner, make_gang(cluster)).cases == 0

    def test_a_gang_with_unknown_requests_is_not_comparable(
        self, owner: Viewer, cluster: Cluster
    ) -> None:
        a_case(cluster, 10, requests={})
        assert typical(owner, make_gang(cluster, requests={})) == TypicalWait(None, 0)

    def test_the_gang_itself_is_not_a_case(self, owner: Viewer, cluster: Cluster) -> None:
        gang = make_gang(cluster, created_at=BORN)
        make_history(gang, BORN, ("room", 5), ("runs", 10))
        assert typical(owner, gang).cases == 0

    def test_an_incomplete_history_is_not_a_case(self, owner: Viewer, cluster: Cluster) -> None:
        gang = make_gang(cluster, created_at=BORN - timedelta(hours=9))
        make_history(gang, BORN, ("room", 1), ("runs", 10))
        assert typical(owner, make_gang(cluster)).cases == 0

    def test_a_history_with_an_outage_is_not_a_case(self, owner: Viewer, cluster: Cluster) -> None:
        a_case(cluster, 5, ("unknown", 1), ("room", 1))
        assert typical(owner, make_gang(cluster)).cases == 0

    @pytest.mark.parametrize("text", ["failed", "room"])
    def test_a_gang_that_never_ran_is_not_a_case(
        self, owner: Viewer, cluster: Cluster, text: str
    ) -> None:
        gang = make_gang(cluster, created_at=BORN)
        make_history(gang, BORN, ("room", 5), (text, 5), gone=True)
        assert typical(owner, make_gang(cluster)).cases == 0

    def test_suspended_time_of_a_case_is_not_counted(self, owner: Viewer, cluster: Cluster) -> None:
        for _ in range(5):
            a_case(cluster, 5, ("held", 500), ("room", 2))
        assert typical(owner, make_gang(cluster)) == TypicalWait(7 * 60, 5)

    def test_only_the_first_run_of_a_case_counts(self, owner: Viewer, cluster: Cluster) -> None:
        for _ in range(5):
            a_case(cluster, 5, ("runs", 60), ("room", 400))
        assert typical(owner, make_gang(cluster)) == TypicalWait(5 * 60, 5)

    def test_only_visible_gangs_are_cases(self, cluster: Cluster) -> None:
        reader = Viewer(3, "rene", (Scope(cluster.pk, "research", "viewer"),))
        for namespace in ("research", "vision"):
            for _ in range(3):
                a_case(cluster, 10, namespace=namespace)
        assert typical(reader, make_gang(cluster)).cases == 3

    def test_the_number_of_queries_is_two(
        self, owner: Viewer, cluster: Cluster, django_assert_num_queries: Any
    ) -> None:
        gang = make_gang(cluster)
        for minutes in range(MOST_CASES + 5):
            a_case(cluster, 1 + minutes / 10)
        with django_assert_num_queries(2):
            result = typical(owner, gang)
        assert result.cases == MOST_CASES
