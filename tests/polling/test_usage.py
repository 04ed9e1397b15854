"""Meters and evictions of a poll."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from gangboard.store.models import Cluster, Eviction, Gang, UsageDay, UsageMeter
from simulator import Simulator
from tests.polling.conftest import Watching
from tests.polling.test_preemptions import (
    lose,
    play,
    report_preemption,
    try_again,
    two_jobs,
)

Watch = Callable[..., Watching]


def _report_now(simulator: Simulator) -> None:
    """Report a preemption of this moment."""
    report_preemption(simulator)
    at = timezone.now().isoformat().replace("+00:00", "Z")

    def change(event: dict[str, Any]) -> None:
        event["eventTime"] = at

    simulator.objects.update("events.k8s.io/v1", "Event", "low-a.1", change, "default")


def test_each_gang_with_accelerators_has_one_meter(watch: Watch) -> None:
    watching = watch(fleet="east")
    assert watching.once().ok
    meters = {meter.uid: meter for meter in UsageMeter.objects.all()}
    gangs = {gang.uid: gang for gang in Gang.objects.filter(gone_at=None, accelerators__gt=0)}
    wants = {uid for uid, gang in gangs.items() if gang.health not in ("succeeded", "failed")}
    assert wants <= meters.keys() <= gangs.keys()
    assert len(wants) > 20
    for uid, meter in meters.items():
        assert (meter.code, meter.namespace) == (gangs[uid].code, gangs[uid].namespace)
    assert Cluster.objects.get().usage_since is not None
    # A gang in the demo that runs whole uses what it asks for.
    running = Gang.objects.filter(health="running", code="running", accelerators__gt=0)[0]
    assert meters[running.uid].used == running.accelerators


def test_an_unchanged_cluster_writes_no_meter(watch: Watch) -> None:
    watching = watch(fleet="east")
    assert watching.once().ok
    before = list(UsageMeter.objects.order_by("gang_id").values())
    watching.forget()
    assert watching.once().ok
    assert list(UsageMeter.objects.order_by("gang_id").values()) == before
    assert not UsageDay.objects.exists()


def test_the_meter_of_a_deleted_owner_ends(watch: Watch) -> None:
    watching = watch()
    assert watching.once().ok
    meter = UsageMeter.objects.exclude(used=0)[0]
    gang = Gang.objects.get(pk=meter.gang_id)
    api_version = f"{gang.api_group}/{gang.api_version}"
    watching.simulator.objects.delete(api_version, gang.kind, gang.name, gang.namespace)
    assert watching.once().ok
    assert not UsageMeter.objects.filter(gang_id=gang.pk).exists()
    assert UsageDay.objects.get(namespace=gang.namespace, code=meter.code).used > 0


def test_open_meters_are_carried_over_once_a_day(watch: Watch) -> None:
    watching = watch()
    assert watching.once().ok
    yesterday = timezone.now() - timedelta(days=1)
    UsageMeter.objects.update(since=yesterday)
    total = sum(meter.used for meter in UsageMeter.objects.all())
    watching.forget()
    assert watching.once().ok
    assert UsageMeter.objects.filter(since__gt=yesterday).count() == UsageMeter.objects.count()
    counted = sum(row.used for row in UsageDay.objects.all())
    assert total > 0
    assert abs(counted - total * 86_400) < total * 60


def test_a_preemption_is_stored_once_over_polls_and_restarts(watch: Watch) -> None:
    watching = watch()
    two_jobs(watching.simulator)
    watching.settle()
    play(watching, _report_now, lose, try_again)
    watching.forget()
    watching.settle()
    watching.forget()
    assert watching.once().ok
    (row,) = Eviction.objects.all()
    assert (row.name, row.code, row.gang_id) == ("low", "preempted", watching.gang("low").pk)
    assert (row.taker_namespace, row.taker_name) == ("default", "usurper")
