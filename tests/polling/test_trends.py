"""Points of trends: their values, their gaps, and how long they are kept."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from gangboard.domain.health import Health
from gangboard.polling.tasks import housekeep
from gangboard.store.models import Cluster, TrendPoint
from gangboard.store.trends import AcceleratorSums, quarter_of, record_point
from tests.factories import NOW, make_cluster, make_gang
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]


def record(cluster: Cluster, moment: datetime, *, all_seen: bool = True) -> TrendPoint:
    record_point(
        cluster.pk, at=moment, all_seen=all_seen, accelerators=AcceleratorSums(10, 4, 6, 2)
    )
    return TrendPoint.objects.order_by("at").last() or TrendPoint()


@pytest.mark.django_db
def test_gangs_that_do_not_run_are_counted_by_reason() -> None:
    cluster = make_cluster()
    make_gang(cluster)
    make_gang(cluster, health=Health.DEGRADED, stage="run", code="node-lost", accelerators=4.0)
    for health in (Health.RUNNING, Health.SUSPENDED, Health.SUCCEEDED, Health.FAILED):
        make_gang(cluster, health=health)
    make_gang(cluster, gone_at=NOW)
    make_gang(make_cluster("other"))
    point = record(cluster, NOW)
    assert point.waiting == 12.0
    assert point.reasons == {
        "placement/insufficient-resources": [1, 8.0],
        "run/node-lost": [1, 4.0],
    }
    assert point.gangs == dict.fromkeys(
        ("waiting", "degraded", "running", "suspended", "succeeded", "failed"), 1
    )
    assert (point.used, point.held, point.free, point.away) == (10, 4, 6, 2)


@pytest.mark.django_db
def test_unobserved_values_are_not_zero() -> None:
    cluster = make_cluster()
    make_gang(cluster, health=Health.RUNNING)
    hidden = record(cluster, NOW, all_seen=False)
    assert (hidden.gangs, hidden.waiting, hidden.reasons, hidden.free) == (None, None, None, 6)
    record_point(cluster.pk, at=NOW + timedelta(minutes=1), all_seen=True, accelerators=None)
    blind = TrendPoint.objects.latest("at")
    assert (blind.waiting, blind.used, blind.held, blind.free, blind.away) == (0, *[None] * 4)


@pytest.mark.django_db
def test_unknown_gangs_are_not_zero() -> None:
    cluster = make_cluster()
    make_gang(cluster, health=Health.UNKNOWN)
    assert record(cluster, NOW).waiting is None


@pytest.mark.django_db
def test_the_first_point_with_values_in_a_quarter_is_kept_longer() -> None:
    cluster = make_cluster()
    record_point(cluster.pk, at=NOW, all_seen=False, accelerators=None)
    for minute in (1, 2, 14, 15):
        record(cluster, NOW + timedelta(minutes=minute, seconds=7))
    points = TrendPoint.objects.order_by("at").values_list("at__minute", "is_lasting")
    assert list(points) == [(0, False), (1, True), (2, False), (14, False), (15, True)]


@pytest.mark.django_db
def test_a_minute_is_written_once() -> None:
    cluster = make_cluster()
    record(cluster, NOW)
    record(cluster, NOW + timedelta(seconds=40))
    assert TrendPoint.objects.count() == 1


@pytest.mark.django_db
def test_minutes_are_deleted_after_a_day_and_quarters_after_a_fortnight() -> None:
    cluster, now = make_cluster(), timezone.now()
    day = timedelta(days=1)
    for age, is_lasting in ((day / 2, False), (2 * day, False), (2 * day, True), (15 * day, True)):
        TrendPoint.objects.create(
            cluster=cluster, at=now - age - timedelta(seconds=is_lasting), is_lasting=is_lasting
        )
    housekeep()
    ages = [(now - point.at).days for point in TrendPoint.objects.order_by("-at")]
    assert ages == [0, 2]


def test_a_poll_writes_the_minute_and_node_capacity(watch: Watch) -> None:
    watching = watch()
    started_at = timezone.now()
    watching.once()
    point = TrendPoint.objects.latest("at")
    assert quarter_of(point.at) in (quarter_of(started_at), quarter_of(timezone.now()))
    nodes = watching.simulator.objects.list("v1", "Node")
    offered = sum(int(node["status"]["allocatable"].get("nvidia.com/gpu", 0)) for node in nodes)
    assert offered > 0
    assert sum(value or 0 for value in (point.used, point.free, point.away)) == offered
    assert sum((point.gangs or {}).values()) == watching.cluster.gangs.filter(gone_at=None).count()
    assert point.is_lasting
