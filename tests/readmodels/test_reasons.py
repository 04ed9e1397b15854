"""Counts of gangs per reason, by viewer, and unreadable resources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gangboard.domain.verdict import FitReason, FitRow
from gangboard.pages.reasons.queries import read_reasons
from gangboard.pages.reasons.rows import LimitRow, ReasonRow, Reasons, place_of
from gangboard.readmodels.freshness import read_freshness
from gangboard.store.access import Scope, Viewer
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster
from tests.factories import NOW, make_cluster, make_gang
from tests.readmodels.room import make_fit

pytestmark = pytest.mark.django_db


def read(viewer: Viewer, *, cluster: str = "", namespace: str = "") -> Reasons:
    clusters = read_freshness(viewer=viewer, now=NOW)
    return read_reasons(
        viewer=viewer, cluster=cluster, namespace=namespace, clusters=clusters, now=NOW
    )


def rows(result: Reasons) -> list[ReasonRow]:
    """Return the rows in the order of stages."""
    return sorted(result.rows, key=place_of("stage"))


def fill(eu: Cluster, us: Cluster) -> None:
    """Seven gangs that are not whole, of four reasons in three stages; five others."""
    gpus: dict[str, Any] = {"accelerators": 32.0, "ready": 2, "desired": 8}
    since = NOW - timedelta(hours=5)
    make_gang(eu, "llama", since=since, advice=["Free 8 GPUs on 2 nodes."], **gpus)
    make_gang(us, "mixtral", namespace="vision", accelerators=64.0, desired=8)
    make_gang(eu, "ablation", accelerators=0.0, desired=2)
    make_gang(eu, "cordoned", code="nodes-unschedulable", health="blocked", accelerators=16.0)
    make_gang(eu, "typo", code="image-pull", stage="start", health="degraded", ready=1, desired=4)
    make_gang(us, "typo-2", code="image-pull", stage="start", health="blocked", held=2, desired=4)
    make_gang(eu, "quota", code="waiting-for-quota", stage="admission", accelerators=4.0)
    for health in ("running", "succeeded", "succeeded", "failed", "suspended"):
        make_gang(eu, health=health, code=health, stage="run", accelerators=999.0)


def test_reasons_are_counted_by_stage_heaviest_first(owner: Viewer) -> None:
    fill(make_cluster(), make_cluster("us-train"))
    result = read(owner)
    assert [
        (row.stage, row.code, row.gangs, row.pods, row.accelerators) for row in rows(result)
    ] == [
        ("admission", "waiting-for-quota", 1, 8, 4.0),
        ("placement", "insufficient-resources", 3, 6 + 8 + 2, 96.0),
        ("placement", "nodes-unschedulable", 1, 8, 16.0),
        ("start", "image-pull", 2, 3 + 2, 16.0),
    ]
    assert (result.gangs, result.accelerators) == (7, 132.0)
    gangs: Counter[str] = Counter()
    for row in rows(result):
        gangs[row.stage_label] += row.gangs
    assert list(gangs.items()) == [
        ("Admission", 1),
        ("Placement", 4),
        ("Start", 2),
    ]
    assert result.dearest is not None
    assert result.commonest is not None
    assert result.dearest.code == result.commonest.code == "insufficient-resources"


def test_a_reason_names_its_largest_gangs_and_the_longest_wait(owner: Viewer) -> None:
    eu, us = make_cluster(), make_cluster("us-train")
    fill(eu, us)
    make_gang(eu, "small", accelerators=1.0)
    row = next(row for row in rows(read(owner)) if row.code == "insufficient-resources")
    assert [(gang.name, gang.cluster) for gang in row.examples] == [
        ("mixtral", "us-train"),
        ("llama", "eu-train"),
        ("small", "eu-train"),
    ]
    assert row.since == NOW - timedelta(hours=5)
    assert row.next_step == "It goes when 5 GPUs become free."


def test_the_healths_of_a_reason_are_counted_worst_first(owner: Viewer) -> None:
    fill(make_cluster(), make_cluster("us-train"))
    row = next(row for row in rows(read(owner)) if row.code == "image-pull")
    assert [(count.face.word, count.gangs) for count in row.healths] == [
        ("blocked", 1),
        ("degraded", 1),
    ]


def test_healthy_gangs_are_counted_separately(owner: Viewer) -> None:
    fill(make_cluster(), make_cluster("us-train"))
    assert {count.face.word: count.gangs for count in read(owner).apart} == {
        "running": 1,
        "suspended": 1,
        "succeeded": 2,
        "failed": 1,
    }


def test_shares_are_of_accelerators_or_else_of_gangs(owner: Viewer) -> None:
    eu = make_cluster()
    make_gang(eu, accelerators=24.0)
    make_gang(eu, code="fragmented", accelerators=8.0)
    assert [row.share for row in rows(read(owner))] == [75.0, 25.0]
    for gang in eu.gangs.all():
        gang.accelerators = 0.0
        gang.save()
    assert [row.share for row in rows(read(owner))] == [50.0, 50.0]


@pytest.mark.parametrize(
    ("filters", "gangs"),
    [
        ({"cluster": "us-train"}, 2),
        ({"namespace": "vision"}, 1),
        ({"cluster": "eu-train", "namespace": "vision"}, 0),
        ({"cluster": "no-such"}, 0),
    ],
)
def test_reasons_are_filtered(owner: Viewer, filters: dict[str, str], gangs: int) -> None:
    fill(make_cluster(), make_cluster("us-train"))
    assert read(owner, **filters).gangs == gangs


def test_only_visible_gangs_are_counted(stranger: Viewer) -> None:
    eu, us = make_cluster(), make_cluster("us-train")
    fill(eu, us)
    reader = Viewer(3, "rene", (Scope(us.pk, "vision", "viewer"),))
    result = read(reader)
    assert [(row.code, row.gangs, row.accelerators) for row in rows(result)] == [
        ("insufficient-resources", 1, 64.0)
    ]
    assert (result.clusters, result.namespaces, result.apart) == (1, ("vision",), ())
    assert [example.name for example in rows(result)[0].examples] == ["mixtral"]
    assert read(stranger).rows == ()
    assert read(stranger).clusters == 0


@pytest.mark.parametrize(
    ("oldest", "youngest", "unsure"),
    [(False, False, False), (True, False, True), (False, True, True)],
)
def test_the_longest_wait_is_a_minimum_for_unknown_starts(
    owner: Viewer, oldest: bool, youngest: bool, unsure: bool
) -> None:
    """Also the one that was seen last may have been so before all others."""
    cluster = make_cluster()
    make_gang(cluster, since=NOW - timedelta(hours=5), since_first_seen=oldest)
    make_gang(cluster, since=NOW - timedelta(minutes=2), since_first_seen=youngest)
    (row,) = read(owner).rows
    assert (row.since, row.since_first_seen) == (NOW - timedelta(hours=5), unsure)


def silent(now: datetime = NOW) -> Cluster:
    return make_cluster("lab", contact_at=now - timedelta(minutes=4))


def test_a_silent_cluster_is_named_and_not_counted_as_zero(owner: Viewer) -> None:
    make_cluster()
    lab = silent()
    for _ in range(2):
        make_gang(lab)
    result = read(owner)
    assert (result.gangs, result.unknown) == (0, 2)
    assert (result.looked_at, result.clusters) == (1, 2)
    (item,) = result.unseen
    assert (item.cluster, item.before, item.since, item.after) == (
        "lab",
        "has not been read for ",
        NOW - timedelta(minutes=4),
        ": 2 gangs of it count as unknown.",
    )


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: make_cluster("new", contact_at=None, listed_at=None, problem="unreachable"),
            "has never answered: its contents are unknown.",
        ),
        (
            lambda: make_cluster("new", contact_at=None, listed_at=None),
            "has not been read yet: its contents are unknown.",
        ),
        (
            lambda: make_cluster("new", listed_at=None),
            "is being read for the first time: gangs may be missing here.",
        ),
        (
            lambda: make_gang(make_cluster("new"), health="unknown", code="not-observed").cluster,
            "answers, but 1 gang of it counts as unknown: not everything that a verdict needs can be read.",
        ),
        (
            lambda: make_cluster("new", contact_at=NOW - timedelta(seconds=45), problem="timeout"),
            "has not answered for : its numbers may be outdated.",
        ),
        (
            lambda: make_cluster("new", contact_at=NOW - timedelta(seconds=45)),
            "has not been read for : its numbers may be outdated.",
        ),
    ],
)
def test_unreadable_resources_are_reported(
    owner: Viewer, make: Callable[[], Cluster], sentence: str
) -> None:
    make()
    (item,) = read(owner).unseen
    assert item.before + item.after == sentence


def test_live_clusters_have_no_notice(owner: Viewer) -> None:
    fill(make_cluster(), make_cluster("us-train"))
    assert read(owner).unseen == ()


def test_the_bottleneck_on_the_nodes_is_named(owner: Viewer) -> None:
    eu = make_cluster()
    of_two_shapes = (
        make_fit(saturated=(FitReason("memory", 3), FitReason("nvidia.com/gpu", 9))),
        # This one finds room for all of its pods: the gang does not wait for it.
        make_fit(waiting=1, fits_now=2, saturated=(FitReason("cpu", 30),)),
    )
    make_gang(eu, detail=Detail(fit=of_two_shapes))
    make_gang(eu, detail=Detail(fit=(make_fit(),)))
    make_gang(eu, detail=Detail(fit=(make_fit(saturated=(FitReason("cpu", 4),)),)))
    make_gang(eu, detail=Detail(fit=(make_fit(why="nodes: forbidden"),)))
    make_gang(eu, detail=Detail())
    (row,) = rows(read(owner))
    assert row.limits == (
        LimitRow("too few free GPUs", 2),
        LimitRow("too little free cpu", 1),
    )


def test_the_filter_is_the_cause_without_eligible_nodes(owner: Viewer) -> None:
    excluded = (FitReason("node selector or required node affinity", 2), FitReason("cordoned", 5))
    fit = make_fit(saturated=(), excluded=excluded, fits_empty=0)
    make_gang(make_cluster(), code="nodes-unschedulable", detail=Detail(fit=(fit,)))
    (row,) = rows(read(owner))
    assert row.limits == (LimitRow("no node could: cordoned", 1),)


@pytest.mark.parametrize(
    "fit",
    [
        # Each shape fits alone, so the nodes are not the cause or only the sum is too large.
        make_fit(fits_now=445, open_nodes=34, saturated=(), excluded=(FitReason("cordoned", 3),)),
        make_fit(fits_now=4),
        # Two fit on an open node and the other two nowhere: what stops them is in no line.
        make_fit(fits_now=2, open_nodes=1, saturated=()),
    ],
)
def test_nodes_with_enough_capacity_are_not_the_cause(owner: Viewer, fit: FitRow) -> None:
    make_gang(make_cluster(), code="scheduler-error", detail=Detail(fit=(fit,)))
    (row,) = rows(read(owner))
    assert row.limits == ()


def test_the_top_reasons_by_gangs_and_accelerators_may_differ(owner: Viewer) -> None:
    eu = make_cluster()
    make_gang(eu, code="exceeds-capacity", accelerators=96.0)
    for _ in range(2):
        make_gang(eu, code="image-pull", stage="start", accelerators=0.0)
    result = read(owner)
    assert result.dearest is not None
    assert result.commonest is not None
    assert (result.dearest.code, result.commonest.code) == ("exceeds-capacity", "image-pull")


def test_the_same_code_in_two_stages_is_two_rows(owner: Viewer) -> None:
    eu = make_cluster()
    for stage in ("admission", "placement"):
        make_gang(eu, code="preempted", stage=stage)
    make_gang(eu, stage="some-day", code="new-reason")
    result = read(owner)
    assert [(row.stage, row.several_stages) for row in rows(result)] == [
        ("admission", True),
        ("placement", True),
        ("some-day", False),
    ]
    assert [row.stage_label for row in rows(result)] == ["Admission", "Placement", "some-day"]


def test_a_health_of_a_newer_release_is_unknown(owner: Viewer) -> None:
    gang = make_gang(make_cluster())
    type(gang).objects.filter(pk=gang.pk).update(health="levitating")
    assert (read(owner).gangs, read(owner).unknown) == (0, 1)


def test_queries_do_not_grow(owner: Viewer, django_assert_num_queries: Any) -> None:
    eu, us = make_cluster(), make_cluster("us-train")
    for number in (1, 20):
        for index in range(number):
            make_gang(eu, code=f"reason-{index}")
            make_gang(us, code=f"reason-{index}")
        with django_assert_num_queries(7):  # the clusters, their plans and five more
            read(owner)


def test_equally_large_gangs_are_ordered_by_wait(owner: Viewer) -> None:
    eu = make_cluster()
    for name, minutes in (("second", 8), ("fourth", 2), ("first", 9), ("third", 5)):
        make_gang(eu, name, since=NOW - timedelta(minutes=minutes))
    (row,) = rows(read(owner))
    assert [gang.name for gang in row.examples] == ["first", "second", "third"]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL sorts in other ways")
def test_the_count_query_does_not_sort(owner: Viewer) -> None:
    fill(make_cluster(), make_cluster("us-train"))
    with CaptureQueriesContext(connection) as requested:
        read(owner)
    counting = [
        item["sql"] for item in requested if "COUNT" in item["sql"] or "DISTINCT" in item["sql"]
    ]
    assert len(counting) == 3, "what is held back, what stands apart, namespaces"
    with connection.cursor() as cursor:
        for sql in counting:
            plan = str(cursor.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall())
            assert "COVERING INDEX" in plan
            assert "TEMP B-TREE" not in plan
