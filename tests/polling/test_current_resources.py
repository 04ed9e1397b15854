"""A resource counts as current for a limited time after its last complete list or living watch."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from gangboard.domain.api_resource import WatchState
from gangboard.kube.list_pager import pages
from gangboard.kube.watch import Watch as RealWatch
from gangboard.polling import reflector
from gangboard.store.models import Gang, ResourceState, VerdictSpan
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]
PODS = "pods"
LONG_AGO = timedelta(seconds=121)


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists come in several pages."""
    monkeypatch.setattr(
        reflector, "pages", lambda *arguments, **options: pages(*arguments, limit=5, **options)
    )


def _codes() -> set[str]:
    return set(Gang.objects.filter(gone_at=None).values_list("code", flat=True))


def _last_seen_long_ago(watching: Watching, **fields: str) -> None:
    """Let the pods be seen for the last time so long ago that they cannot be vouched for."""
    ResourceState.objects.filter(cluster=watching.cluster, resource=PODS).update(
        contact_at=timezone.now() - LONG_AGO, **fields
    )
    watching.forget()


@pytest.mark.usefixtures("small_pages")
def test_an_incomplete_list_is_not_current(watch: Watch) -> None:
    watching = watch()
    assert watching.once().ok
    watching.simulator.faults.gone_mid_list(resource=PODS)
    _last_seen_long_ago(watching, resource_version="")
    watching.settle(failing=[PODS])
    assert watching.state(PODS).state == "failing"
    assert _codes() == {"not-observed"}


@pytest.mark.usefixtures("small_pages")
def test_half_of_the_pods_produce_no_first_verdict(watch: Watch) -> None:
    """Its second page fails. The other pods are unknown, and there is no history."""
    watching = watch()
    fault = watching.simulator.faults.gone_mid_list(resource=PODS)
    watching.settle(failing=[PODS])
    assert watching.state(PODS).state == "failing"
    assert _codes() == {"not-observed"}
    assert set(VerdictSpan.objects.values_list("code", flat=True)) == {"not-observed"}
    assert watching.fresh().listed_at is None
    watching.simulator.faults.remove(fault)
    watching.settle()
    assert "not-observed" not in _codes()
    assert watching.fresh().listed_at is not None


class _ShortLived(RealWatch):
    """A watch of pods that is accepted and ends at once, as a proxy may end it."""

    opened: list[float]
    says: list[bytes]

    def __init__(self, connection: Any, path: str, *arguments: Any, **options: Any) -> None:
        super().__init__(connection, path, *arguments, **options)
        self._is_of_pods = path.endswith("/pods")
        self._accepted: Callable[[], None] = options["on_open"]

    def __iter__(self) -> Iterator[list[bytes]]:
        if not self._is_of_pods:
            yield from super().__iter__()
            return
        self.opened.append(time.monotonic())
        self._accepted()
        if self.says:
            yield self.says


@pytest.fixture
def short_lived(monkeypatch: pytest.MonkeyPatch) -> type[_ShortLived]:
    """Every watch of pods ends at once."""
    monkeypatch.setattr(_ShortLived, "opened", [], raising=False)
    monkeypatch.setattr(_ShortLived, "says", [], raising=False)
    monkeypatch.setattr(reflector, "Watch", _ShortLived)
    return _ShortLived


def test_a_watch_that_ends_at_once_is_a_failure_and_no_sign_of_life(
    watch: Watch, short_lived: type[_ShortLived]
) -> None:
    watching = watch()
    assert watching.once().ok
    contact_at = watching.state(PODS).contact_at
    watching.window_until(lambda _: len(short_lived.opened) > 1)
    first, second = short_lived.opened
    assert second - first >= reflector.BACKOFF[0]
    state = watching.state(PODS)
    assert state.state == "failing"
    assert "ended at once" in state.sentence
    assert "pods" in state.sentence
    assert state.contact_at == contact_at
    assert "not-observed" not in _codes()
    _last_seen_long_ago(watching)
    watching.settle(failing=[PODS])
    assert _codes() == {"not-observed"}


def test_a_short_watch_with_a_line_is_alive(watch: Watch, short_lived: type[_ShortLived]) -> None:
    watching = watch()
    assert watching.once().ok
    contact_at = watching.state(PODS).contact_at
    short_lived.says = [_bookmark(watching.state(PODS).resource_version)]
    watching.window_until(lambda _: len(short_lived.opened) > 1)
    state = watching.state(PODS)
    assert state.state == "ok"
    assert contact_at is not None
    assert state.contact_at is not None
    assert state.contact_at > contact_at


def _bookmark(version: str) -> bytes:
    metadata = {"resourceVersion": version}
    return json.dumps({"type": "BOOKMARK", "object": {"metadata": metadata}}).encode()


def test_a_quiet_watch_is_a_sign_of_life(watch: Watch) -> None:
    watching = watch(bookmark_seconds=60)
    assert watching.once().ok
    _last_seen_long_ago(watching, state="failing")
    watching.window_until(lambda cache: cache.watched[PODS].state == WatchState.OK)
    assert watching.state(PODS).state == "ok"
    assert "not-observed" not in _codes()
    contact_at = watching.state(PODS).contact_at
    assert contact_at is not None
    assert timezone.now() - contact_at < timedelta(seconds=10)


def test_good_lines_before_a_bad_line_are_stored(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events read together with an invalid line are stored, and the watch continues after it."""
    watching = watch()
    assert watching.once().ok
    pod = watching.simulator.objects.list("v1", "Pod")[0]
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    spoilt = threading.Event()

    class Spoilt(RealWatch):
        """The first lines that tell of the pod come with one that is no event."""

        def __iter__(self) -> Iterator[list[bytes]]:
            for lines in super().__iter__():
                if any(name.encode() in line for line in lines) and not spoilt.is_set():
                    spoilt.set()
                    lines = [*lines, b'{"type": "NOISE", "object": {}}']
                yield lines

    monkeypatch.setattr(reflector, "Watch", Spoilt)
    before = watching.objects(PODS)
    watching.simulator.objects.delete("v1", "Pod", name, namespace)
    watching.settle()
    assert spoilt.is_set()
    assert watching.objects(PODS) == before - 1
