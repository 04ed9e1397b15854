"""A watch that the end of its window ends keeps its connection for the next window, and no longer than the cluster is ours."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from gangboard.kube.credentials import read_kubeconfig
from gangboard.polling import poll, poll_slots, reflector
from gangboard.polling.cluster_cache import ClusterCache
from gangboard.polling.cluster_rotation import poll_for_one_window
from gangboard.polling.poll_slots import PollSlots
from gangboard.store.cluster_leases import acquire_lease
from gangboard.store.clusters import remove_cluster, replace_credentials
from gangboard.store.models import Gang, Lease
from tests.polling.conftest import HOLDER, Watching, eventually

Watch = Callable[..., Watching]


def sockets(watching: Watching) -> int:
    """Return the number of open connections to the cluster."""
    return len(watching.simulator._server._open)


def test_the_next_window_watches_on_the_same_connections(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Watch timeouts are whole seconds, and a window waits for the end of its watches, however slow this machine is."""
    monkeypatch.setattr(reflector, "MIN_WATCH_SECONDS", 1)
    monkeypatch.setattr(reflector, "END_GRACE", 60.0)
    monkeypatch.setattr(reflector, "LATE", 60.0)
    watching = watch()
    watching.settle()
    assert watching.window(1.0).error is None
    assert watching.gang("debug-shell")
    watching.simulator.objects.delete("v1", "Pod", "debug-shell", "team-infra")
    accepted: list[Any] = []
    accept = watching.simulator._server.get_request

    def counted() -> Any:
        accepted.append(accept())
        return accepted[-1]

    monkeypatch.setattr(watching.simulator._server, "get_request", counted)
    watched = [resource for resource in _cache(watching).watched.values() if resource.version]
    assert watching.window(1.0).error is None
    assert len(watched) > 10
    assert accepted == []
    assert not Gang.objects.filter(name="debug-shell", gone_at=None).exists()


def _cache(watching: Watching) -> ClusterCache:
    held = acquire_lease(watching.cluster.pk, HOLDER)
    assert held is not None
    cache = poll._cache_for(held)
    assert cache is not None
    return cache


def _keep(watching: Watching) -> None:
    """Have a connection kept, without the second that a watch takes to end."""
    connection = _cache(watching).connection
    assert connection is not None
    tls = connection.connection_for_watch()
    tls.connect_by(time.monotonic() + 60)
    connection.keep(tls)


def _another_worker_has_it(watching: Watching) -> None:
    past = Now() - timedelta(seconds=1)
    Lease.objects.update(holder="another worker", expires_at=past)
    assert acquire_lease(watching.cluster.pk, "another worker") is not None
    assert not poll.poll_window(watching.cluster.pk, HOLDER)


def _it_is_removed(watching: Watching) -> None:
    remove_cluster(name=watching.cluster.name)
    assert not poll.poll_window(watching.cluster.pk, HOLDER)


def _it_has_other_credentials(watching: Watching) -> None:
    credentials = read_kubeconfig(watching.simulator.kubeconfig_text(read_only=True))
    replace_credentials(
        name=watching.cluster.name, document=credentials.to_document(), server=credentials.server
    )
    _cache(watching)


def _it_rests(watching: Watching) -> None:
    poll.hand_back(watching.cluster.pk, HOLDER)


def _its_worker_stops(watching: Watching) -> None:
    poll.hand_back(watching.cluster.pk, HOLDER, keep=False)


@pytest.mark.parametrize(
    "happens",
    [
        _another_worker_has_it,
        _it_is_removed,
        _it_has_other_credentials,
        _it_rests,
        _its_worker_stops,
    ],
)
def test_kept_connections_are_closed(watch: Watch, happens: Callable[[Watching], Any]) -> None:
    watching = watch()
    _keep(watching)
    eventually(lambda: sockets(watching) == 1)
    happens(watching)
    eventually(lambda: sockets(watching) == 0)


def test_kept_connections_are_closed_if_the_next_message_never_arrives(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another order of this worker finds that out."""
    watching = watch()
    _keep(watching)
    slots = PollSlots(2)
    assert slots.begin(watching.cluster.pk)
    slots.end(watching.cluster.pk, watching.cluster.pk)
    monkeypatch.setattr(poll_slots, "CLUSTER_LEASE_SECONDS", -1.0)
    other_cluster = watching.cluster.pk + 1
    poll_for_one_window(other_cluster, holder=HOLDER, slots=slots, stopping=threading.Event())
    eventually(lambda: sockets(watching) == 0)
