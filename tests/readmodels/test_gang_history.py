"""Verdicts of a gang as a list and a strip, redaction of names, and deleted gangs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangboard.domain.verdict import Evidence, Finding
from gangboard.pages.gang.history import DeletedGang, find_deleted_gang
from gangboard.pages.gang.queries import gang_detail
from gangboard.pages.gang.rows import GangDetail
from gangboard.readmodels.state_labels import face_of
from gangboard.readmodels.time_to_start import TypicalWait
from gangboard.readmodels.verdict_spans import MOST_SPANS, SpanRow, make_strip
from gangboard.store.access import Scope, Viewer
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster, Gang
from gangboard.store.verdict_spans import end_spans, record_verdicts
from tests.factories import (
    NOW,
    make_cluster,
    make_finding,
    make_gang,
    make_history,
    make_members,
    make_outage,
    make_ref,
)

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
BEGIN = NOW - timedelta(hours=2)


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


@pytest.fixture
def reader(cluster: Cluster) -> Viewer:
    """Sees the namespace research only."""
    return Viewer(3, "rene", (Scope(cluster.pk, "research", "viewer"),))


def read(viewer: Viewer, gang: Gang) -> GangDetail:
    detail = gang_detail(viewer=viewer, gang_id=gang.pk, now=NOW)
    assert detail is not None
    return detail


def read_gone(viewer: Viewer, gang: Gang) -> DeletedGang:
    deleted_gang = find_deleted_gang(viewer=viewer, gang_id=gang.pk, now=NOW)
    assert deleted_gang is not None
    return deleted_gang


class TestList:
    def test_entries_are_newest_first_with_times(self, owner: Viewer, cluster: Cluster) -> None:
        gang = make_gang(cluster, created_at=BEGIN)
        make_history(gang, BEGIN, ("room", 30), ("images", 12), ("runs", 0))
        entries = read(owner, gang).timeline
        assert [(entry.kind, entry.code, entry.at, entry.until) for entry in entries] == [
            ("verdict", "running", BEGIN + 42 * MINUTE, None),
            ("verdict", "starting", BEGIN + 30 * MINUTE, BEGIN + 42 * MINUTE),
            ("verdict", "insufficient-resources", BEGIN, BEGIN + 30 * MINUTE),
        ]
        assert [entry.duration for entry in entries] == ["", "12 min", "30 min"]

    def test_older_entries_are_omitted_and_the_wait_stays_known(
        self, owner: Viewer, cluster: Cluster
    ) -> None:
        gang = make_gang(cluster, created_at=BEGIN)
        flaps = [("runs", 0.1), ("below", 0.1)] * MOST_SPANS
        make_history(gang, BEGIN, ("room", 7), *flaps)
        history = read(owner, gang).gang_history
        assert (len(history.spans), history.has_older) == (MOST_SPANS, True)
        assert history.wait is not None
        assert history.wait.text == "7 min"

    def test_a_gang_without_history_has_none(self, owner: Viewer, cluster: Cluster) -> None:
        detail = read(owner, make_gang(cluster))
        assert (detail.timeline, detail.gang_history.wait, detail.gang_history.typical) == (
            (),
            None,
            None,
        )

    def test_a_wait_has_its_typical_value(self, owner: Viewer, cluster: Cluster) -> None:
        gang = make_gang(cluster, created_at=BEGIN)
        make_history(gang, BEGIN, ("room", 0))
        history = read(owner, gang).gang_history
        assert history.typical == TypicalWait(None, 0)


class TestSilence:
    def test_an_outage_is_a_cluster_line_and_no_verdict(self, owner: Viewer) -> None:
        silent_at = NOW - 10 * MINUTE
        cluster = make_cluster(
            "lab", contact_at=silent_at, problem="timeout", sentence="lab.example did not answer."
        )
        gang = make_gang(cluster, created_at=BEGIN)
        make_history(gang, BEGIN, ("room", 0))
        detail = read(owner, gang)
        history = detail.gang_history
        assert [(span.health, span.ended_at) for span in history.spans] == [("waiting", None)]
        assert [(entry.kind, entry.at, entry.until) for entry in detail.timeline] == [
            ("cluster", silent_at, None),
            ("verdict", BEGIN, None),
        ]
        assert detail.timeline[0].title == "Cluster lab cannot be read"
        assert detail.timeline[0].message == (
            "lab.example did not answer. Its current contents are unknown."
        )
        strip = make_strip(history.spans, NOW, history.outages)
        assert [(segment.face.word, segment.ended_at) for segment in strip] == [
            ("waiting", silent_at),
            ("unknown", None),
        ]
        assert history.wait is not None
        assert history.wait.by_stage == {"placement": 110 * 60}
        assert [item.seconds for item in history.wait.parts if item.is_unseen] == [600]

    def test_a_past_outage_interrupts_only_known_verdicts(self, owner: Viewer) -> None:
        cluster = make_cluster("lab")
        gang = make_gang(cluster, created_at=BEGIN)
        make_history(gang, BEGIN, ("room", 0))
        started = BEGIN + 20 * MINUTE
        make_outage(
            cluster, started, started + 30 * MINUTE, problem="timeout", sentence="No answer."
        )
        make_outage(cluster, BEGIN - 30 * MINUTE, BEGIN - 20 * MINUTE)
        detail = read(owner, gang)
        assert [(entry.kind, entry.title, entry.duration) for entry in detail.timeline] == [
            ("cluster", "Cluster lab could not be read", "30 min"),
            ("verdict", "Insufficient resources", ""),
        ]
        assert [span.began_at for span in detail.gang_history.spans] == [BEGIN]
        strip = make_strip(detail.gang_history.spans, NOW, detail.gang_history.outages)
        assert [(segment.face.word, segment.duration) for segment in strip] == [
            ("waiting", "20 min"),
            ("unknown", "30 min"),
            ("waiting", "1 h 10 min"),
        ]
        assert detail.gang_history.wait is not None
        assert detail.gang_history.wait.text == "2 h"
        assert detail.gang_history.wait.by_stage == {"placement": 90 * 60}

    def test_the_cause_of_an_outage_needs_access_to_the_cluster(
        self, cluster: Cluster, reader: Viewer
    ) -> None:
        gang = make_gang(cluster, namespace="research")
        make_history(gang, BEGIN, ("room", 0))
        make_outage(
            cluster, BEGIN + MINUTE, BEGIN + 5 * MINUTE, problem="timeout", sentence="10.0.0.1"
        )
        outage = read(reader, gang).timeline[0]
        assert outage.message == "Its contents at that time are unknown."

    def test_a_time_without_polling_is_not_an_outage(self, owner: Viewer) -> None:
        cluster = make_cluster("lab")
        gang = make_gang(cluster)
        make_history(gang, BEGIN, ("room", 0))
        make_outage(cluster, BEGIN + MINUTE, BEGIN + 5 * MINUTE)
        assert read(owner, gang).timeline[0].title == "Cluster lab was not read"

    def test_an_earlier_deleted_gang_stays_unchanged(self, owner: Viewer) -> None:
        cluster = make_cluster("lab", contact_at=NOW - 10 * MINUTE)
        gang = make_gang(cluster, gone_at=BEGIN + 5 * MINUTE)
        make_history(gang, BEGIN, ("room", 5), gone=True)
        assert [span.health for span in read(owner, gang).gang_history.spans] == ["waiting"]


def a_span(begin: float, ending: float | None, health: str = "waiting") -> SpanRow:
    return SpanRow(
        began_at=BEGIN + begin * MINUTE,
        ended_at=None if ending is None else BEGIN + ending * MINUTE,
        health=health,
        face=face_of(health),
        stage="placement",
        code="c",
        title="Too little is free",
        message="m",
        last=False,
    )


class TestStrip:
    def test_segments_are_proportional_to_their_duration(self) -> None:
        strip = make_strip((a_span(90, None, "running"), a_span(0, 90)), NOW)
        assert [
            (segment.face.label, segment.start, segment.width, segment.duration)
            for segment in strip
        ] == [
            ("Waiting", 0.0, 75.0, "1 h 30 min"),
            ("Running", 75.0, 25.0, "30 min"),
        ]
        assert [segment.ended_at for segment in strip] == [BEGIN + 90 * MINUTE, None]

    def test_a_short_segment_stays_visible(self) -> None:
        strip = make_strip((a_span(1, None), a_span(0.999, 1, "failed"), a_span(0, 0.999)), NOW)
        assert strip[1].width > 0.5
        assert strip[1].room == ""

    def test_a_time_of_absence_is_a_segment(self) -> None:
        strip = make_strip((a_span(60, None), a_span(0, 30)), NOW)
        assert [(segment.face.label, segment.width) for segment in strip] == [
            ("Waiting", 25.0),
            ("Not present", 25.0),
            ("Waiting", 50.0),
        ]

    def test_a_verdict_without_duration_has_no_segment(self) -> None:
        strip = make_strip((a_span(5, None), a_span(5, 5, "failed"), a_span(0, 5)), NOW)
        assert [segment.face.label for segment in strip] == ["Waiting", "Waiting"]

    def test_a_new_verdict_fills_the_strip(self) -> None:
        (segment,) = make_strip((a_span(120, None),), NOW)
        assert (segment.start, segment.width) == (0, 100)

    def test_clock_skew_makes_no_negative_width(self) -> None:
        strip = make_strip((a_span(200, None), a_span(0, 200)), NOW)
        assert all(segment.width > 0 for segment in strip)

    @given(lengths=st.lists(st.floats(0.001, 1e5), min_size=1, max_size=MOST_SPANS))
    def test_segments_are_adjacent_and_fill_the_strip(self, lengths: list[float]) -> None:
        spans: list[SpanRow] = []
        begin = 0.0
        for length in lengths:
            spans.insert(0, a_span(begin, begin + length))
            begin += length
        strip = make_strip(tuple(spans), NOW)
        end = 0.0
        for segment in strip:
            assert segment.start == pytest.approx(end, abs=0.02)
            end = segment.start + segment.width
        assert end == pytest.approx(100, abs=0.02 * len(strip))


def revealing_gang(cluster: Cluster, **columns: Any) -> Gang:
    """A gang whose verdict names a gang of others, one of their nodes and one of its own."""
    finding = make_finding(
        message="team-x/eval-92 holds gpu-17; gpu-01 lost power.",
        evidence=(
            Evidence("holds it", "eval-92", make_ref("JobSet", "eval-92", namespace="team-x")),
            Evidence("cordoned", "gpu-17", make_ref("Node", "gpu-17", namespace="")),
            Evidence("lost", "gpu-01", make_ref("Node", "gpu-01", namespace="")),
        ),
    )
    return a_recorded_gang(cluster, finding, **columns)


def a_recorded_gang(cluster: Cluster, finding: Finding, **columns: Any) -> Gang:
    """A gang with that verdict, now and in its history; its pods are on gpu-01."""
    gang = make_gang(
        cluster,
        message=finding.message,
        created_at=BEGIN,
        since=BEGIN,
        detail=Detail((finding,), members=make_members("w", 1)),
        **columns,
    )
    row = {field.attname: getattr(gang, field.attname) for field in Gang._meta.concrete_fields}
    record_verdicts([row], {}, at=BEGIN)
    return gang


TOLD = "a gang you may not see holds a node you may not see; gpu-01 lost power."


class TestNames:
    def test_old_sentences_are_redacted(self, cluster: Cluster, reader: Viewer) -> None:
        gang = revealing_gang(cluster)
        # Its pods are elsewhere by now, and the verdict is another one.
        Gang.objects.filter(pk=gang.pk).update(detail=b"", message="All run.")
        assert [span.message for span in read(reader, gang).gang_history.spans] == [TOLD]

    def test_a_cluster_viewer_reads_unredacted_sentences(
        self, cluster: Cluster, owner: Viewer
    ) -> None:
        (span,) = read(owner, revealing_gang(cluster)).gang_history.spans
        assert span.message == "team-x/eval-92 holds gpu-17; gpu-01 lost power."

    def test_the_node_of_a_claim_is_redacted_everywhere(
        self, cluster: Cluster, reader: Viewer
    ) -> None:
        output = "added node n7, which is not initialized yet"
        finding = make_finding(
            "waiting-for-nodes",
            message=f"Karpenter is adding nodes for 2 of 2 pods: NodeClaim gpu-x7k2p {output}.",
            evidence=(
                Evidence("NodeClaim gpu-x7k2p", output, make_ref("NodeClaim", "x", namespace="")),
                Evidence("node", "n7", make_ref("Node", "n7", namespace="")),
            ),
        )
        report = read(reader, a_recorded_gang(cluster, finding))
        (span,) = report.gang_history.spans
        for text in (report.row.message, report.findings[0].message, span.message):
            assert text.endswith("added a node you may not see, which is not initialized yet.")
        assert "n7" not in str((report.findings[0].evidence[0], report.timeline[0].message))
        assert [item.value for item in report.findings[0].evidence][1] == "a node you may not see"

    def test_a_deleted_gang_stays_redacted(self, cluster: Cluster, reader: Viewer) -> None:
        gang = revealing_gang(cluster)
        Gang.objects.all().delete()
        result = read_gone(reader, gang)
        assert result.message == TOLD
        assert result.verdict is not None
        assert result.verdict.message == TOLD
        assert [item.value for item in result.verdict.evidence] == [
            "a gang you may not see",
            "a node you may not see",
            "gpu-01",
        ]


class TestDeletedGang:
    def test_a_deleted_gang_shows_its_last_verdict_and_history(
        self, owner: Viewer, cluster: Cluster
    ) -> None:
        gang = revealing_gang(cluster)
        gone_at = BEGIN + 20 * MINUTE
        end_spans(cluster.pk, [gang.uid], at=gone_at)
        Gang.objects.all().delete()
        result = read_gone(owner, gang)
        assert (result.name, result.kind, result.namespace) == (gang.name, "JobSet", "research")
        assert (result.cluster, result.code) == ("eu-train", "insufficient-resources")
        assert (result.since, result.gone_at) == (BEGIN, gone_at)
        assert [(entry.code, entry.last) for entry in result.timeline] == [
            ("insufficient-resources", True)
        ]
        assert result.gang_history.wait is not None
        assert (result.gang_history.wait.text, result.gang_history.wait.end) == ("20 min", "gone")

    def test_missing_and_forbidden_are_the_same(
        self, owner: Viewer, stranger: Viewer, cluster: Cluster
    ) -> None:
        gang = revealing_gang(cluster)
        Gang.objects.all().delete()
        elsewhere = Viewer(4, "vera", (Scope(cluster.pk, "vision", "viewer"),))
        for viewer in (stranger, elsewhere):
            assert find_deleted_gang(viewer=viewer, gang_id=gang.pk, now=NOW) is None
        for id_ in ("no-such", "a\x00b"):
            assert find_deleted_gang(viewer=owner, gang_id=id_, now=NOW) is None
        assert find_deleted_gang(viewer=owner, gang_id=gang.pk, now=NOW) is not None

    def test_a_recently_deleted_gang_keeps_its_page(self, owner: Viewer, cluster: Cluster) -> None:
        gang = make_gang(cluster, gone_at=NOW - MINUTE, created_at=BEGIN)
        make_history(gang, BEGIN, ("room", 30), ("runs", 5), gone=True)
        assert [entry.last for entry in read(owner, gang).timeline] == [True, False]
