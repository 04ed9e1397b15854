"""Detection of an API server that was restored from a backup, and of watches that hide it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gangboard.decode.events import EVENT
from gangboard.domain.node import Node
from gangboard.kube.connection import Connection
from gangboard.kube.watch import Watch as RealWatch
from gangboard.polling import poll, reflector, resource_watch
from gangboard.store.models import Gang, WatchedObject
from gangboard.store.objects import unpack
from tests.polling.conftest import HOLDER, Watching

Watch = Callable[..., Watching]
PODS = "pods"
FUTURE, LOST_EVENT = "of-the-future", "of-the-future.refused"
POD = ("v1", "Pod", "debug-shell", "team-infra")


def windows_until(
    watching: Watching, condition: Callable[[], bool], *, within: float = 30.0
) -> None:
    """Poll as the worker does, window after window, until it has come to that."""
    give_up_at = time.monotonic() + within
    while not condition():
        assert time.monotonic() < give_up_at, f"it has not come to that in {within:g} s"
        assert poll.poll_window(watching.cluster.pk, HOLDER)


def names(watching: Watching, resource: str) -> set[str]:
    rows = WatchedObject.objects.filter(cluster=watching.cluster, resource=resource)
    return set(rows.values_list("name", flat=True))


def pods(watching: Watching) -> set[str]:
    return names(watching, PODS)


def served(watching: Watching) -> set[str]:
    return {pod["metadata"]["name"] for pod in watching.simulator.objects.list("v1", "Pod")}


@pytest.fixture(autouse=True)
def short(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.POLL_WINDOW = 0.5
    monkeypatch.setattr(reflector, "BACKOFF", (0.05,))
    monkeypatch.setattr(poll, "_restored_at", {})


@pytest.fixture
def compared_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_watch, "COMPARE_EVERY", 0.0)


def cordon(watching: Watching, *, is_cordoned: bool, note: str) -> str:
    """Change the first node; return the resourceVersion that it has then."""
    node = watching.simulator.objects.list("v1", "Node")[0]
    node["metadata"].setdefault("labels", {})["note"] = note
    node["spec"]["unschedulable"] = is_cordoned
    return str(watching.simulator.objects.put(node)["metadata"]["resourceVersion"])


def refuse_again(watching: Watching) -> None:
    """Tell of a pod once more why no node takes it."""
    events = watching.simulator.objects.list("events.k8s.io/v1", "Event")
    refusal = next(event for event in events if event["reason"] == "FailedScheduling")
    meta = {"name": LOST_EVENT, "namespace": refusal["metadata"]["namespace"]}
    watching.simulator.objects.put({**refusal, "metadata": meta})


def is_cordoned(watching: Watching) -> bool:
    first = watching.simulator.objects.list("v1", "Node")[0]["metadata"]["uid"]
    row = WatchedObject.objects.get(cluster=watching.cluster, uid=first)
    return unpack(bytes(row.data), Node).unschedulable


@pytest.mark.usefixtures("compared_always")
def test_everything_is_listed_after_a_restore(watch: Watch) -> None:
    """Objects newer than the backup go, deleted ones are back, and older versions are read."""
    watching = watch()
    watching.settle()
    backup = watching.simulator.store.back_up()
    poll._caches[watching.cluster.pk].meter._started_at -= 60
    before = cordon(watching, is_cordoned=True, note="lost")
    refuse_again(watching)
    shell = watching.simulator.objects.get(*POD)
    assert shell is not None
    future = {**shell, "metadata": {"name": FUTURE, "namespace": "team-infra"}}
    watching.simulator.objects.put(future)
    watching.simulator.objects.delete(*POD)
    watching.settle()
    assert is_cordoned(watching)
    assert LOST_EVENT in names(watching, EVENT.key)
    assert (FUTURE in pods(watching), POD[2] in pods(watching)) == (True, False)
    watching.cluster.refresh_from_db()
    assert watching.cluster.answer_ms
    assert (watching.cluster.events_a_minute or 0) >= 4, (
        "a node, an event, a pod that came, one that went"
    )
    watching.simulator.restore(backup)
    assert cordon(watching, is_cordoned=False, note="real") == before
    # Each resource is read by a thread of its own.
    windows_until(
        watching, lambda: pods(watching) == served(watching) and not is_cordoned(watching)
    )
    assert LOST_EVENT not in names(watching, EVENT.key)
    gangs = set(Gang.objects.filter(gone_at=None).values_list("name", flat=True))
    assert (FUTURE in gangs, POD[2] in gangs) == (False, True)
    # Contradicting servers do not cause repeated complete lists.
    assert not poll._caches[watching.cluster.pk].watched[PODS].revision.is_due(regularly=True)


def test_poll_once_reads_a_restored_server_completely(watch: Watch) -> None:
    watching = watch()
    assert watching.once().ok
    backup = watching.simulator.store.back_up()
    before = cordon(watching, is_cordoned=True, note="lost")
    watching.simulator.objects.delete(*POD)
    assert watching.once().ok
    watching.simulator.restore(backup)
    assert cordon(watching, is_cordoned=False, note="real") == before
    assert watching.once().ok
    assert not is_cordoned(watching)
    assert POD[2] in pods(watching)


def test_a_broken_watch_causes_a_comparison(watch: Watch) -> None:
    """The next regular comparison is a minute away."""
    watching = watch()
    backup = watching.simulator.store.back_up()
    watching.simulator.objects.delete(*POD)
    watching.settle()
    timer = threading.Timer(0.2, watching.simulator.restore, (backup,))
    timer.start()
    windows_until(watching, lambda: POD[2] in pods(watching))
    timer.join()


class _Lagging(RealWatch):
    """A watch of pods whose first bookmark is behind the known version. Kubernetes servers do not
    send this."""

    behind = "7"

    def __init__(self, connection: Any, path: str, *arguments: Any, **options: Any) -> None:
        super().__init__(connection, path, *arguments, **options)
        self._is_of_pods = path.endswith("/pods")

    def __iter__(self) -> Iterator[list[bytes]]:
        if self._is_of_pods:
            metadata = {"resourceVersion": self.behind}
            yield [json.dumps({"type": "BOOKMARK", "object": {"metadata": metadata}}).encode()]
        yield from super().__iter__()


@pytest.mark.parametrize("is_restored", [True, False])
def test_an_old_bookmark_causes_a_comparison(
    watch: Watch, monkeypatch: pytest.MonkeyPatch, is_restored: bool
) -> None:
    """The list decides: a server that only lags costs a list of one object, not of everything."""
    watching = watch()
    backup = watching.simulator.store.back_up()
    watching.simulator.objects.delete(*POD)
    watching.settle()
    queries: list[dict[str, str]] = []
    get = Connection.get

    def note(connection: Connection, path: str, query: Any = None) -> bytes:
        queries.append(dict(query or ()) if path.endswith("/pods") else {})
        return get(connection, path, query)

    monkeypatch.setattr(Connection, "get", note)
    monkeypatch.setattr(reflector, "Watch", _Lagging)
    if is_restored:
        watching.simulator.restore(backup)
    known = watching.state(PODS)
    for _ in range(2):
        assert poll.poll_window(watching.cluster.pk, HOLDER)
    assert [parameters["limit"] for parameters in queries if parameters] == ["1"]
    state = watching.state(PODS)
    if is_restored:
        assert state.resource_version == ""
    else:
        assert int(state.resource_version) >= int(known.resource_version)
        assert state.listed_at == known.listed_at


def test_a_silent_watch_causes_a_list(
    watch: Watch, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """The server accepts each request, and no request failed."""
    monkeypatch.setattr(reflector, "MIN_WATCH_SECONDS", 1)
    monkeypatch.setattr(reflector, "SHORT_WATCH", 0.1)
    monkeypatch.setattr(reflector, "LATE", 0.1)
    settings.POLL_WINDOW = 0.9
    watching = watch()
    watching.settle()
    watching.simulator.faults.dead_watch(resource=PODS)
    watching.simulator.objects.delete(*POD)
    assert poll.poll_window(watching.cluster.pk, HOLDER)
    vouched_at = watching.state(PODS).contact_at
    assert poll.poll_window(watching.cluster.pk, HOLDER)
    assert watching.state(PODS).contact_at == vouched_at
    assert POD[2] in pods(watching)
    monkeypatch.setattr(resource_watch, "MAX_SILENCE", 0.0)
    assert poll.poll_window(watching.cluster.pk, HOLDER)
    assert POD[2] not in pods(watching)
