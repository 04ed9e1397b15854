"""An unreachable cluster is one outage, in which its gangs are not assessed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from gangboard.decode.nodes import NODE
from gangboard.decode.pods import POD
from gangboard.domain.api_resource import WatchState
from gangboard.polling import discovery_schedule, poll
from gangboard.polling.cluster_cache import ClusterCache
from gangboard.polling.reachability import SILENT_AFTER, OutageTracker
from gangboard.polling.resource_watch import WatchedResource
from gangboard.polling.visibility import is_unobserved
from gangboard.store.models import Cluster, Gang, Outage, ResourceState, VerdictSpan
from tests.polling.conftest import Watching, has_failed, was_read

pytestmark = pytest.mark.django_db(transaction=True)

Watch = Callable[..., Watching]
AWAY = timedelta(minutes=5)


def verdicts(watching: Watching) -> list[tuple[object, ...]]:
    gangs = Gang.objects.filter(cluster=watching.cluster, gone_at=None).order_by("name", "uid")
    return list(gangs.values_list("name", "health", "code", "since", "last_health"))


def spans(watching: Watching) -> list[tuple[object, ...]]:
    rows = VerdictSpan.objects.filter(cluster=watching.cluster).order_by("pk")
    return list(rows.values_list("gang_id", "code", "began_at", "ended_at"))


def cache_of(watching: Watching) -> ClusterCache:
    return poll._caches[watching.cluster.pk]


def let_pass(watching: Watching, time: timedelta) -> None:
    """Make everything that was seen of the cluster older."""
    for watched in cache_of(watching).watched.values():
        for name in ("contact_at", "last_try_at", "last_read_at"):
            moment: datetime | None = getattr(watched, name)
            setattr(watched, name, moment and moment - time)
    silence = cache_of(watching).outage_tracker
    silence.last_at = silence.last_at and silence.last_at - time
    store_pass(watching, time)


def store_pass(watching: Watching, time: timedelta) -> None:
    """The same in the store."""
    for row in ResourceState.objects.filter(cluster=watching.cluster, contact_at__isnull=False):
        assert row.contact_at is not None
        ResourceState.objects.filter(pk=row.pk).update(contact_at=row.contact_at - time)
    contact_at = watching.fresh().contact_at
    assert contact_at is not None
    Cluster.objects.filter(pk=watching.cluster.pk).update(contact_at=contact_at - time)


def all_were_read(cache: ClusterCache, *, since: datetime, but: Collection[str] = ()) -> bool:
    """Return whether each served resource, but for these, has been current since that moment."""
    return all(
        was_read(watched, since)
        for key, watched in cache.watched.items()
        if watched.version and watched.state != WatchState.NOT_NEEDED and key not in but
    )


@pytest.mark.parametrize("how", ["status", "unauthorized", "reset"])
@pytest.mark.parametrize("new_worker", [False, True])
def test_gangs_are_not_assessed_during_an_outage(
    watch: Watch, monkeypatch: pytest.MonkeyPatch, how: str, new_worker: bool
) -> None:
    monkeypatch.setattr(discovery_schedule, "UNKNOWN_PAUSE", 0.2)
    watching = watch(fleet="east") if how == "status" else watch()
    watching.settle()
    known, history = verdicts(watching), spans(watching)
    assert {health for _, health, *_ in known} > {"running"}
    faults = watching.simulator.faults
    faults.status(500) if how == "status" else getattr(faults, how)()
    watching.fail()
    let_pass(watching, AWAY)
    if new_worker:
        watching.forget()
    watching.fail()
    assert (verdicts(watching), spans(watching)) == (known, history)
    assert watching.fresh().problem
    assert not Outage.objects.exists(), "it is not over"
    faults.clear()
    watching.windows_until(Outage.objects.exists)
    watching.settle()
    assert not Gang.objects.filter(code="not-observed").exists()
    assert (verdicts(watching), spans(watching)) == (known, history)
    (outage,) = Outage.objects.all()
    assert outage.ended_at - outage.began_at > AWAY
    assert outage.problem
    assert outage.sentence
    assert not watching.fresh().problem


def test_a_period_without_polls_is_one_outage(watch: Watch) -> None:
    watching = watch()
    watching.settle()
    let_pass(watching, AWAY)
    watching.forget()
    watching.windows_until(Outage.objects.exists)
    (outage,) = Outage.objects.all()
    assert (outage.problem, outage.sentence) == ("", "")


def test_a_short_pause_is_no_outage(watch: Watch) -> None:
    watching = watch()
    watching.settle()
    let_pass(watching, timedelta(seconds=100))
    began = timezone.now()
    watching.window_until(lambda cache: all_were_read(cache, since=began))
    assert not Outage.objects.exists()


def test_a_resource_that_fails_after_an_outage_has_its_own_deadline(
    watch: Watch,
) -> None:
    watching = watch()
    watching.settle()
    let_pass(watching, AWAY)
    watching.simulator.faults.status(500, resource="pods")
    began = timezone.now()
    watching.window_until(
        lambda cache: (
            has_failed(cache.watched["pods"], began)
            and all_were_read(cache, since=began, but=["pods"])
        )
    )
    assert not Gang.objects.filter(code="not-observed").exists(), "the silence does not count"
    pods = cache_of(watching).watched["pods"]
    assert pods.contact_at is not None
    assert pods.outage_time >= AWAY - SILENT_AFTER
    pods.outages = [(pods.contact_at, pods.contact_at + AWAY - timedelta(seconds=121))]
    watching.settle(failing=["pods"])
    assert not Gang.objects.exclude(code="not-observed").filter(gone_at=None).exists()
    assert timezone.now() - Gang.objects.order_by("since")[0].since < timedelta(minutes=1)


def test_an_api_server_that_answers_only_discovery_has_an_outage(watch: Watch) -> None:
    """So it is while its etcd is away: discovery needs none."""
    watching = watch()
    watching.settle()
    known, history = verdicts(watching), spans(watching)
    for verb in ("list", "watch"):
        watching.simulator.faults.status(500, verb=verb)
    watching.fail()
    let_pass(watching, AWAY)
    before = watching.fresh().contact_at
    cache_of(watching).discovery_schedule.make_due()
    watching.fail()
    assert cache_of(watching).discovery_schedule.error is None
    cluster = watching.fresh()
    assert cluster.contact_at == before
    assert cluster.problem
    assert (verdicts(watching), spans(watching)) == (known, history)


def test_a_cluster_that_refuses_everything_has_no_outage(watch: Watch) -> None:
    watching = watch()
    watching.settle()
    for verb in ("list", "watch"):
        watching.simulator.faults.forbidden(verb=verb)
    watching.fail()
    let_pass(watching, AWAY)
    watching.forget()
    watching.fail()
    assert not Gang.objects.exclude(code="not-observed").filter(gone_at=None).exists()
    contact_at = watching.fresh().contact_at
    assert contact_at is not None
    assert timezone.now() - contact_at < timedelta(seconds=30)


def test_short_outages_do_not_exempt_a_resource_forever() -> None:
    """A cluster that is polled in rotation: 20 s on, 40 s off, and its pods fail throughout."""
    begin = timezone.now()
    pods, nodes = (
        WatchedResource(
            resource, version="v1", state=WatchState(state), listed_at=begin, contact_at=begin
        )
        for resource, state in ((POD, "failing"), (NODE, "ok"))
    )
    visibility = {"pods": pods, "nodes": nodes}
    silence = OutageTracker(last_at=begin)
    blind_at = []
    for second in range(10 * 60):
        now = begin + timedelta(seconds=second)
        if second % 60 < 20:
            pods.last_try_at = nodes.last_try_at = nodes.last_read_at = nodes.contact_at = now
        if not silence.suspends_assessment(visibility, now, settle=False) and is_unobserved(
            pods, now
        ):
            blind_at.append(second)
    # From 19 to 60 is 41 s, of which the cluster counted as silent for 11: 120 + 2 of those are over.
    assert blind_at[0] == 143
    assert {second % 60 for second in blind_at if second >= 180} == set(range(50))
