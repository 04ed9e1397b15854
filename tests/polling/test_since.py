"""Start times of verdicts on gangs that are older than gangboard."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gangboard.polling import poll
from gangboard.store.models import Gang
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]
HOUR = timedelta(hours=1)


def _ready_at(watching: Watching, namespace: str, name: str) -> datetime:
    """When the last of the pods of a Job became ready."""
    times = [
        datetime.fromisoformat(condition["lastTransitionTime"])
        for pod in watching.simulator.objects.list("v1", "Pod")
        if pod["metadata"]["namespace"] == namespace and _is_of(pod, name)
        for condition in pod["status"]["conditions"]
        if condition["type"] == "Ready"
    ]
    return max(times)


def _is_of(pod: dict[str, Any], job: str) -> bool:
    return any(reference["name"] == job for reference in pod["metadata"].get("ownerReferences", ()))


def test_a_gang_that_has_run_for_days_runs_for_days(watch: Watch) -> None:
    watching = watch(fleet="east")
    assert watching.once().ok
    jobs = Gang.objects.filter(code="running", kind="Job", succeeded=0)
    assert jobs
    for gang in jobs:
        assert gang.since == _ready_at(watching, gang.namespace, gang.name)
        assert not gang.since_first_seen
    assert min(gang.since for gang in jobs) < datetime.now(UTC) - HOUR


def test_an_unrecorded_start_is_the_first_sight(watch: Watch) -> None:
    watching = watch(fleet="east")
    assert watching.once().ok
    looping = Gang.objects.filter(code="crash-loop", created_at__lt=datetime.now(UTC) - HOUR / 4)
    assert looping
    assert all(gang.since_first_seen and gang.since == gang.first_seen_at for gang in looping)
    gangs = Gang.objects.filter(since_first_seen=True)
    assert all(gang.since == gang.first_seen_at for gang in gangs)


@pytest.mark.parametrize("is_watched", [True, False])
def test_a_watched_change_has_a_known_start(watch: Watch, is_watched: bool) -> None:
    watching = watch(fleet="east")
    assert watching.once().ok
    gang = Gang.objects.filter(code="running", kind="Job", succeeded=0).earliest("name")
    if is_watched:
        watching.window_until(lambda cache: cache.followed_since is not None)
        (cache,) = poll._caches.values()
        assert cache.followed_since is not None
        cache.followed_since -= HOUR
    else:
        watching.forget()
    _pause(watching, gang)
    watching.settle()
    changed_gang = Gang.objects.get(pk=gang.pk)
    assert (changed_gang.code, changed_gang.since_first_seen) == ("paused", not is_watched)


def _pause(watching: Watching, gang: Gang) -> None:
    def change(job: dict[str, Any]) -> None:
        job["spec"]["parallelism"] = 0

    objects = watching.simulator.objects
    objects.update("batch/v1", "Job", gang.name, change, gang.namespace)
    for pod in objects.list("v1", "Pod"):
        meta = pod["metadata"]
        if meta["namespace"] == gang.namespace and _is_of(pod, gang.name):
            objects.delete("v1", "Pod", meta["name"], meta["namespace"])
