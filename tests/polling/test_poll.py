"""A poll of the simulated fleet reads everything, writes changes only, and respects the lease."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from gangboard.domain.api_resource import WatchState
from gangboard.kube.connection import Connection
from gangboard.kube.list_pager import pages
from gangboard.polling import poll, reflector, store_writer
from gangboard.polling.cluster_cache import ClusterCache, resources
from gangboard.polling.poll import poll_once
from gangboard.polling.poll_window import LISTS_AT_ONCE, PollWindow
from gangboard.store.cluster_leases import LeaseLostError, acquire_lease
from gangboard.store.gang_search import has_name
from gangboard.store.models import Cluster, Gang, Lease, WatchedObject
from gangboard.store.observations import ResourceStatus, save_resource_statuses
from gangboard.store.secrets import SecretUnreadableError
from simulator import EXPECTED
from tests.polling.conftest import HOLDER, Watching

Watch = Callable[..., Watching]


def test_every_gang_of_the_fleet_gets_its_expected_verdict(watch: Watch) -> None:
    watching = watch(fleet="east")
    assert watching.once().ok
    expected = watching.simulator.expected()
    verdicts = {
        (gang.namespace, gang.kind, gang.name): gang.code
        for gang in Gang.objects.filter(gone_at=None)
    }
    assert {key: verdicts.get(key) for key in expected} == expected
    pods = WatchedObject.objects.filter(resource="pods").values_list("name", flat=True)
    lost = [pod for pod in pods if not Gang.objects.filter(has_name(pod)).exists()]
    assert pods
    assert lost == []


def test_every_gang_of_the_older_fleet_gets_its_expected_verdict(watch: Watch) -> None:
    watching = watch(fleet="west", hold=False)
    assert watching.once().ok
    expected = watching.simulator.expected()
    verdicts = {
        (gang.namespace, gang.kind, gang.name): gang.code
        for gang in Gang.objects.filter(gone_at=None)
    }
    assert {key: verdicts.get(key) for key in expected} == expected
    assert EXPECTED.items() >= watching.simulator.expected().items()


def test_an_unchanged_cluster_writes_no_object_and_moves_no_version(watch: Watch) -> None:
    watching = watch(fleet="east")
    assert watching.once().written > 0
    version = watching.fresh().data_version
    assert watching.once().written == 0
    assert watching.fresh().data_version == version


def test_concurrent_lists_are_limited_and_all_complete(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is the number of kept connections. A cluster can serve fifty kinds without any
    object."""
    watching = watch(fleet="east")
    under_way, most = [], []

    def counted(*arguments: Any, **options: Any) -> Iterator[Any]:
        under_way.append(1)
        most.append(len(under_way))
        yield from pages(*arguments, **options)
        under_way.pop()

    monkeypatch.setattr(reflector, "pages", counted)
    served = [state for state in watching.once().resources.values() if state == WatchState.OK]
    assert len(served) == len(most) > 30
    assert max(most) <= LISTS_AT_ONCE


def test_an_unchanged_resource_state_is_stored_once(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    assert watching.once().ok
    written: list[str] = []

    def noted(cluster_id: int, views: list[ResourceStatus]) -> None:
        written.extend(view.resource for view in views)
        save_resource_statuses(cluster_id, views)

    monkeypatch.setattr(store_writer, "save_resource_statuses", noted)
    assert watching.once().ok
    assert sorted(written) == sorted(resource.key for resource in resources())


def test_a_change_is_watched_and_stored(watch: Watch) -> None:
    watching = watch()
    assert watching.once().ok
    job = next(
        job
        for job in watching.simulator.objects.list("batch/v1", "Job")
        if not job["metadata"].get("ownerReferences")
        and not job["spec"].get("suspend")
        and not job.get("status", {}).get("conditions")
    )
    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]

    def suspend(verdicts: dict[str, dict[str, object]]) -> None:
        verdicts["spec"]["suspend"] = True

    version = ""

    def has_arrived(cache: ClusterCache) -> bool:
        """Suspend the Job while all watches are open. Return whether its watch has shown that."""
        nonlocal version
        if not version and cache.followed_since is not None:
            objects = watching.simulator.objects
            job = objects.update("batch/v1", "Job", name, suspend, namespace)
            version = job["metadata"]["resourceVersion"]
        return bool(version) and int(cache.watched["jobs.batch"].resource_version) >= int(version)

    watching.window_until(has_arrived)
    watching.windows_until(lambda: watching.gang(name).code == "suspended")


def test_the_gang_of_a_deleted_owner_is_deleted(watch: Watch) -> None:
    watching = watch()
    assert watching.once().ok
    pod = next(
        pod
        for pod in watching.simulator.objects.list("v1", "Pod")
        if not pod["metadata"].get("ownerReferences") and "schedulingGroup" not in pod["spec"]
    )
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    assert watching.gang(name).kind == "Pod"
    watching.simulator.objects.delete("v1", "Pod", name, namespace)
    watching.once()
    gang = Gang.objects.get(name=name, namespace=namespace)
    assert gang.gone_at is not None
    assert not Gang.objects.filter(has_name(name), gone_at=None).exists()
    assert not WatchedObject.objects.filter(name=name, resource="pods").exists()


def test_a_new_worker_continues_at_the_stored_resource_version(watch: Watch) -> None:
    watching = watch(fleet="east")
    watching.settle()
    before = set(Gang.objects.filter(gone_at=None).values_list("id", "code", "since"))
    watching.forget()
    window = watching.window(0.5)
    assert window.writer.written == 0
    assert set(Gang.objects.filter(gone_at=None).values_list("id", "code", "since")) == before


def test_a_worker_that_lost_its_lease_writes_nothing(watch: Watch) -> None:
    watching = watch()
    held = acquire_lease(watching.cluster.pk, HOLDER)
    assert held is not None
    cache = poll._new_cache(held, Cluster.objects.get(pk=watching.cluster.pk))
    assert cache is not None
    Lease.objects.filter(cluster=watching.cluster).update(expires_at=Now() - timedelta(seconds=1))
    assert acquire_lease(watching.cluster.pk, "another") is not None
    with pytest.raises(LeaseLostError):
        PollWindow(cache, seconds=1.0, repair_interval=900).run()
    cache.close()
    assert not WatchedObject.objects.exists()
    assert not Gang.objects.exists()


def test_an_unknown_cluster_is_an_error_with_its_name(watch: Watch) -> None:
    watching = watch()
    with pytest.raises(LookupError, match="nowhere"):
        poll_once("nowhere")
    assert watching.cluster.name == "sim"


class StopAtFirstGang(threading.Event):
    """Is set from when a gang is stored."""

    since: float | None = None

    def is_set(self) -> bool:
        if self.since is None and Gang.objects.exists():
            self.since = time.monotonic()
            self.set()
        return super().is_set()


def test_a_stopping_worker_ends_its_window_at_once(watch: Watch, settings: Any) -> None:
    settings.POLL_WINDOW = 300
    watching = watch()
    stopping = StopAtFirstGang()
    assert poll.poll_window(watching.cluster.pk, HOLDER, stopping)
    assert stopping.since is not None
    assert time.monotonic() - stopping.since < 5
    poll.hand_back(watching.cluster.pk, HOLDER)
    assert acquire_lease(watching.cluster.pk, "another") is not None


def test_a_defect_is_shown_at_the_cluster_and_data_is_kept(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    assert watching.once().ok
    before = Gang.objects.filter(gone_at=None).count()

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(PollWindow, "run", fail)
    assert not poll.poll_window(watching.cluster.pk, HOLDER)
    assert watching.fresh().problem == "defect"
    assert "ZeroDivisionError" in watching.fresh().sentence
    assert Gang.objects.filter(gone_at=None).count() == before


@pytest.mark.parametrize("by", ["defect", "credentials"])
def test_a_worker_that_wakes_after_its_lease_records_nothing(
    watch: Watch, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """Another worker holds the cluster by now and reports its state."""
    watching = watch()

    def lose_the_lease() -> None:
        Lease.objects.update(expires_at=Now() - timedelta(seconds=1))
        assert acquire_lease(watching.cluster.pk, "another") is not None

    def fail(*_: object) -> None:
        lose_the_lease()
        raise ZeroDivisionError

    def refuse(_: bytes) -> None:
        lose_the_lease()
        raise SecretUnreadableError("cannot be read")

    if by == "defect":
        monkeypatch.setattr(PollWindow, "run", fail)
    else:
        monkeypatch.setattr(poll, "unseal", refuse)
    assert not poll.poll_window(watching.cluster.pk, HOLDER)
    assert (watching.fresh().problem, watching.fresh().sentence) == ("", "")


@pytest.mark.parametrize("body", [b'{"items":[]}', b'{"kind":"PodList","metadata":{},"items":[]}'])
def test_an_empty_non_kubernetes_response_deletes_nothing(
    watch: Watch, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    watching = watch()
    assert watching.once().ok
    objects = watching.objects("pods")
    gangs = Gang.objects.filter(gone_at=None).count()
    get = Connection.get

    def lie(connection: Connection, path: str, *arguments: Any, **options: Any) -> bytes:
        return body if path == "/api/v1/pods" else get(connection, path, *arguments, **options)

    monkeypatch.setattr(Connection, "get", lie)
    watching.once()
    assert watching.objects("pods") == objects > 0
    assert Gang.objects.filter(gone_at=None).count() == gangs > 0
    assert watching.state("pods").state == "failing"
    assert "The answer to a list of pods is no list" in watching.state("pods").sentence


def test_credentials_of_another_installation_are_reported(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poll, "BAD_CREDENTIALS_PAUSE", 0.2)
    watching = watch()
    Cluster.objects.update(credentials=b"sealed with another key")
    started = time.monotonic()
    assert poll.poll_window(watching.cluster.pk, HOLDER)
    assert time.monotonic() - started >= poll.BAD_CREDENTIALS_PAUSE
    assert watching.fresh().problem == "credentials"
    assert "GANGBOARD_ENCRYPTION_KEY" in watching.fresh().sentence
    poll.hand_back(watching.cluster.pk, HOLDER)
    report = watching.once()
    assert "GANGBOARD_ENCRYPTION_KEY" in report.sentence


def test_a_cluster_that_is_removed_while_it_is_polled_ends_the_poll(watch: Watch) -> None:
    watching = watch()
    assert watching.once().ok
    watching.cluster.delete()
    assert not poll.poll_window(watching.cluster.pk or 1, HOLDER)
    assert not Gang.objects.exists()
