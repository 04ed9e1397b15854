"""Spans of verdicts: written on change only, never overlapping, kept when the gang is gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gangboard.domain.health import Health
from gangboard.domain.verdict import Evidence, Finding
from gangboard.store.bulk_statements import DELETE_BATCH
from gangboard.store.gangs import Detail, pack_detail
from gangboard.store.models import Cluster, Gang, VerdictSpan
from gangboard.store.verdict_spans import (
    delete_old_spans,
    end_spans,
    record_verdicts,
    request_digest,
    unpack_span_detail,
)
from tests.factories import make_cluster, make_finding, make_gang, make_members, make_ref

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
WAITING = {"code": "insufficient-resources", "health": "waiting", "stage": "placement"}
RUNNING = {"code": "running", "health": "running", "stage": "run"}
UNKNOWN = {"code": "not-observed", "health": "unknown", "stage": "run"}

Row = dict[str, Any]


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster("east")


def stored(gang: Gang, **changes: Any) -> Row:
    """The gang as a row of the poll, with these changes."""
    row = {field.attname: getattr(gang, field.attname) for field in Gang._meta.concrete_fields}
    return {**row, **changes}


class Story:
    """One gang as the poll would store it, over time."""

    def __init__(self, cluster: Cluster, **columns: Any) -> None:
        self.gang = make_gang(cluster, "train", **columns)
        self.row: Row | None = None

    def say(self, verdict: Row, at: datetime, since: datetime | None = None, **more: Any) -> None:
        """Store a verdict. `since` is its own time, taken from the state of an object."""
        row = stored(self.gang, gone_at=None, **{**verdict, "since": since or at, **more})
        before = {} if self.row is None else {row["uid"]: self.row}
        with transaction.atomic():
            record_verdicts([row], before, at=at)
        self.row = row

    def delete(self, at: datetime) -> None:
        """Its owner was seen deleted."""
        end_spans(self.gang.cluster_id, [self.gang.uid], at=at)
        if self.row is not None:
            self.row = {**self.row, "gone_at": at}

    def spans(self) -> list[VerdictSpan]:
        return list(VerdictSpan.objects.filter(gang_id=self.gang.pk).order_by("began_at", "pk"))

    def told(self) -> list[tuple[str, float, float | None]]:
        """(health, from, until) in minutes after noon."""
        return [
            (
                span.health,
                (span.began_at - NOON) / MINUTE,
                None if span.ended_at is None else (span.ended_at - NOON) / MINUTE,
            )
            for span in self.spans()
        ]


class TestTimes:
    def test_a_change_ends_a_span_and_starts_the_next(self, cluster: Cluster) -> None:
        story = Story(cluster)
        story.say(WAITING, NOON)
        story.say(RUNNING, NOON + 5 * MINUTE)
        assert story.told() == [("waiting", 0, 5), ("running", 5, None)]

    def test_changed_numbers_in_the_sentence_are_no_change(self, cluster: Cluster) -> None:
        story = Story(cluster)
        story.say(WAITING, NOON, message="3 are free.")
        story.say(WAITING, NOON + MINUTE, message="4 are free.")
        (span,) = story.spans()
        assert (span.message, span.ended_at) == ("3 are free.", None)

    def test_another_health_of_the_same_code_is_a_change(self, cluster: Cluster) -> None:
        story = Story(cluster)
        code = {"code": "pods-not-created", "stage": "formation"}
        story.say({**code, "health": "starting"}, NOON)
        story.say({**code, "health": "blocked"}, NOON + 2 * MINUTE)
        assert story.told() == [("starting", 0, 2), ("blocked", 2, None)]

    def test_the_recorded_time_of_the_state_counts(self, cluster: Cluster) -> None:
        """It became ready at 12:04, which was seen a minute later."""
        story = Story(cluster)
        story.say(WAITING, NOON)
        story.say(RUNNING, NOON + 5 * MINUTE, since=NOON + 4 * MINUTE)
        assert story.told() == [("waiting", 0, 4), ("running", 4, None)]

    def test_a_time_before_the_previous_verdict_is_ignored(self, cluster: Cluster) -> None:
        story = Story(cluster)
        story.say(WAITING, NOON)
        story.say(RUNNING, NOON + 5 * MINUTE, since=NOON - MINUTE)
        assert story.told() == [("waiting", 0, 5), ("running", 5, None)]

    def test_a_first_sight_starts_at_the_recorded_time_of_its_state(self, cluster: Cluster) -> None:
        story = Story(cluster)
        story.say(WAITING, NOON, since=NOON - 10 * MINUTE)
        assert story.told() == [("waiting", -10, None)]

    def test_the_same_verdict_after_an_outage_is_a_new_span(self, cluster: Cluster) -> None:
        """The verdict's own `since` stays noon: the outage did not end it, but it was not
        observed."""
        story = Story(cluster)
        story.say(WAITING, NOON)
        story.say(UNKNOWN, NOON + 5 * MINUTE)
        story.say(WAITING, NOON + 9 * MINUTE, since=NOON)
        assert story.told() == [("waiting", 0, 5), ("unknown", 5, 9), ("waiting", 9, None)]

    def test_a_clock_set_back_makes_no_negative_span(self, cluster: Cluster) -> None:
        story = Story(cluster)
        story.say(WAITING, NOON)
        story.say(RUNNING, NOON - 5 * MINUTE)
        story.say(WAITING, NOON + MINUTE)
        assert story.told() == [("waiting", 0, 0), ("running", 0, 1), ("waiting", 1, None)]


class TestTheEnd:
    def test_the_last_span_ends_with_the_deletion_of_the_owner(self, cluster: Cluster) -> None:
        story = Story(cluster)
        story.say(RUNNING, NOON)
        story.delete(NOON + 3 * MINUTE)
        assert story.told() == [("running", 0, 3)]
        assert [span.last for span in story.spans()] == [True]

    def test_spans_survive_the_row_of_their_gang(self, cluster: Cluster) -> None:
        story = Story(cluster)
        story.say(RUNNING, NOON)
        story.delete(NOON + MINUTE)
        Gang.objects.all().delete()
        assert story.told() == [("running", 0, 1)]

    def test_a_repeated_deletion_keeps_the_first_time(self, cluster: Cluster) -> None:
        story = Story(cluster)
        story.say(RUNNING, NOON)
        story.delete(NOON + MINUTE)
        story.delete(NOON + 2 * MINUTE)
        assert story.told() == [("running", 0, 1)]

    def test_a_returning_gang_continues(self, cluster: Cluster) -> None:
        story = Story(cluster)
        story.say(RUNNING, NOON)
        story.delete(NOON + MINUTE)
        story.say(RUNNING, NOON + 2 * MINUTE, since=NOON)
        assert story.told() == [("running", 0, 1), ("running", 2, None)]
        assert not any(span.last for span in story.spans())

    def test_gangs_of_other_clusters_continue(self, cluster: Cluster) -> None:
        story, twin = (Story(its, uid="one-uid") for its in (cluster, make_cluster("west")))
        for each in (story, twin):
            each.say(RUNNING, NOON)
        story.delete(NOON + MINUTE)
        assert twin.told() == [("running", 0, None)]


class TestWhatIsKept:
    def test_a_span_has_the_owner_and_the_requests(self, cluster: Cluster) -> None:
        story = Story(cluster, requests={"nvidia.com/gpu": "16"}, desired=8, accelerators=16.0)
        story.say(WAITING, NOON)
        (span,) = story.spans()
        gang = story.gang
        assert (span.cluster_id, span.uid, span.kind) == (cluster.pk, gang.uid, "JobSet")
        assert (span.namespace, span.name, span.queue) == ("research", "train", "gpu-prod")
        assert (span.desired, span.accelerators, span.created_at) == (8, 16, gang.created_at)
        assert span.shape == request_digest({"nvidia.com/gpu": "16"}, 8)

    def test_a_span_stores_the_finding_of_the_verdict_only(self, cluster: Cluster) -> None:
        finding = make_finding(
            evidence=(Evidence("cordoned", "gpu-01", make_ref("Node", "gpu-01", namespace="")),)
        )
        detail = Detail((finding, make_finding("other")), members=make_members("w", 3))
        story = Story(cluster, detail=detail)
        story.say(WAITING, NOON)
        (span,) = story.spans()
        span_detail = unpack_span_detail(bytes(span.findings))
        assert span_detail.findings == (finding,)
        assert span_detail.own_nodes == {"gpu-01"}

    def test_a_verdict_of_a_release_without_history_is_stored_when_it_ends(
        self, cluster: Cluster
    ) -> None:
        story = Story(cluster)
        story.row = stored(story.gang, **WAITING, since=NOON)
        story.say(RUNNING, NOON + 5 * MINUTE)
        assert story.told() == [("waiting", 0, 5), ("running", 5, None)]

    def test_a_span_continued_from_such_a_release_starts_at_its_since(
        self, cluster: Cluster
    ) -> None:
        story = Story(cluster)
        story.row = stored(story.gang, **WAITING, since=NOON)
        story.say(WAITING, NOON + 5 * MINUTE, since=NOON)
        assert story.told() == [("waiting", 0, None)]


class TestManyAtOnce:
    def test_the_number_of_queries_is_independent_of_the_gangs(self, cluster: Cluster) -> None:
        def queries(number: int) -> int:
            gangs = [make_gang(cluster) for _ in range(number)]
            before = {gang.uid: stored(gang, **WAITING) for gang in gangs}
            record_verdicts([stored(gang, **WAITING) for gang in gangs], {}, at=NOON)
            with CaptureQueriesContext(connection) as captured:
                rows = [stored(gang, **RUNNING, since=NOON + MINUTE) for gang in gangs]
                record_verdicts(rows, before, at=NOON + MINUTE)
            open_spans = VerdictSpan.objects.filter(
                gang_id__in=[gang.pk for gang in gangs], ended_at=None
            )
            assert {span.health for span in open_spans} == {"running"}
            assert len(open_spans) == number
            return len(captured)

        # One to look, one to end, one to begin, one for the feed; SQLite takes up to 999 values at once.
        assert queries(2) == 4
        assert queries(120) <= 7

    def test_unchanged_verdicts_write_nothing(self, cluster: Cluster) -> None:
        gangs = [make_gang(cluster) for _ in range(20)]
        rows = [stored(gang) for gang in gangs]
        record_verdicts(rows, {}, at=NOON)
        with CaptureQueriesContext(connection) as captured:
            record_verdicts(rows, {row["uid"]: row for row in rows}, at=NOON + MINUTE)
        assert [query["sql"].split()[0] for query in captured] == ["SELECT"]

    def test_an_empty_batch_writes_nothing(self, cluster: Cluster) -> None:
        record_verdicts([], {}, at=NOON)
        end_spans(cluster.pk, [], at=NOON)
        assert not VerdictSpan.objects.exists()

    def test_the_database_refuses_a_second_open_span(self, cluster: Cluster) -> None:
        story = Story(cluster)
        story.say(WAITING, NOON)
        (span,) = story.spans()
        span.pk = None
        with pytest.raises(IntegrityError), transaction.atomic():
            span.save()


class TestShapes:
    def test_equal_members_have_one_shape_at_any_size(self) -> None:
        assert request_digest({"nvidia.com/gpu": "8"}, 8) == request_digest(
            {"nvidia.com/gpu": "16.0"}, 16
        )

    def test_the_order_of_members_does_not_count(self) -> None:
        first, two = {"cpu": "4", "memory": "8"}, {"memory": "8", "cpu": "4"}
        assert request_digest(first, 2) == request_digest(two, 2)

    @pytest.mark.parametrize(
        "requests", [{"cpu": "8"}, {"memory": "4"}, {"cpu": "4", "memory": "1"}, {}]
    )
    def test_different_requests_have_different_shapes(self, requests: dict[str, str]) -> None:
        assert request_digest({"cpu": "4"}, 1) != request_digest(requests, 1)

    def test_thirds_are_exact(self) -> None:
        assert request_digest({"cpu": "1"}, 3) == request_digest({"cpu": "2"}, 6)

    @pytest.mark.parametrize("amount", ["8Gi", "", "NaN", "Infinity"])
    def test_invalid_quantities_have_no_shape(self, amount: str) -> None:
        assert request_digest({"cpu": "4", "memory": amount}, 8) == ""

    def test_unknown_requests_have_no_shape(self) -> None:
        assert request_digest({}, 8) == ""


class TestForgetting:
    def test_old_ended_spans_are_deleted_and_open_spans_stay(self, cluster: Cluster) -> None:
        story = Story(cluster)
        for minute, verdict in enumerate((WAITING, RUNNING, WAITING)):
            story.say(verdict, NOON + minute * MINUTE)
        assert delete_old_spans(ended_before=NOON + 1.5 * MINUTE) == 1
        assert story.told() == [("running", 1, 2), ("waiting", 2, None)]
        assert delete_old_spans(ended_before=NOON + timedelta(days=900)) == 1
        assert story.told() == [("waiting", 2, None)]

    def test_spans_are_deleted_in_batches(self, cluster: Cluster) -> None:
        story = Story(cluster)
        story.say(WAITING, NOON)
        (span,) = story.spans()
        columns = {
            field.attname: getattr(span, field.attname)
            for field in VerdictSpan._meta.concrete_fields
            if field.attname not in ("id", "ended_at")
        }
        VerdictSpan.objects.bulk_create(
            VerdictSpan(**columns, ended_at=NOON) for _ in range(DELETE_BATCH + 3)
        )
        assert delete_old_spans(ended_before=NOON + MINUTE) == DELETE_BATCH + 3
        assert VerdictSpan.objects.count() == 1


# --- whatever happens in whatever order

SAID = st.tuples(
    st.sampled_from([WAITING, RUNNING, UNKNOWN, {**WAITING, "code": "fragmented"}]),
    st.integers(-30, 60),
    st.one_of(st.none(), st.integers(-100, 0)),
)
"""(verdict, minutes since the last poll, age of the recorded start in minutes)."""
HAPPENED = st.one_of(SAID, st.tuples(st.just("deleted"), st.integers(-30, 60), st.none()))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(happened=st.lists(HAPPENED, max_size=12))
def test_spans_never_overlap_and_never_have_a_negative_length(
    cluster: Cluster, happened: list[Any]
) -> None:
    with _undone():
        story, now, alive = Story(cluster), NOON, False
        for event, minutes, ago in happened:
            now += minutes * MINUTE
            if event == "deleted":
                story.delete(now)
                alive = False
                continue
            story.say(event, now, since=None if ago is None else now + ago * MINUTE)
            alive = True
            assert story.spans()[-1].code == event["code"]
        spans = story.spans()
        assert all(span.ended_at is None or span.began_at <= span.ended_at for span in spans)
        for current, next_ in pairwise(spans):
            assert current.ended_at is not None
            assert current.ended_at <= next_.began_at
            is_same = (current.code, current.health) == (next_.code, next_.health)
            assert not is_same or current.ended_at <= next_.began_at
        assert [span.pk for span in spans if span.ended_at is None] == [
            span.pk for span in spans[-1:] if alive
        ]
        assert [span.last for span in spans] == [False] * (len(spans) - 1) + (
            [not alive] if spans else []
        )


class _UndoneError(Exception):
    """Ends a transaction."""


@contextmanager
def _undone() -> Iterator[None]:
    """Each example begins with an empty history."""
    try:
        with transaction.atomic():
            yield
            raise _UndoneError
    except _UndoneError:
        pass


def test_health_words_fit_their_column() -> None:
    longest = VerdictSpan._meta.get_field("health").max_length
    assert all(len(health) <= (longest or 0) for health in Health)


def test_a_finding_without_evidence_is_stored(cluster: Cluster) -> None:
    finding: Finding = make_finding(evidence=())
    gang = make_gang(cluster, detail=Detail((finding,)))
    row = stored(gang, detail=pack_detail(Detail((finding,))))
    record_verdicts([row], {}, at=NOON)
    detail = unpack_span_detail(bytes(VerdictSpan.objects.get().findings))
    assert (detail.findings, detail.own_nodes) == ((finding,), frozenset())
