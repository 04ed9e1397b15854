"""What a deleted owner leaves is no gang while the garbage collector has time to take it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangboard.polling import watch_history
from gangboard.polling.watch_history import MOST_DELETED, PATIENCE, Leftovers
from gangboard.store.models import Gang, WatchedObject
from tests.polling.conftest import Watching


def jobs_of_a_jobset(watching: Watching) -> tuple[str, str, list[dict[str, Any]]]:
    """Return name and namespace of a JobSet, and its Jobs."""
    objects = watching.simulator.objects
    jobs: dict[str, list[dict[str, Any]]] = {}
    for job in objects.list("batch/v1", "Job"):
        for reference in job["metadata"].get("ownerReferences", ()):
            jobs.setdefault(reference["uid"], []).append(job)
    return next(
        (jobset["metadata"]["name"], jobset["metadata"]["namespace"], jobs[uid])
        for jobset in objects.list("jobset.x-k8s.io/v1alpha2", "JobSet")
        if (uid := jobset["metadata"]["uid"]) in jobs
    )


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_object_counts_as_a_leftover_for_two_minutes() -> None:
    clock = Clock()
    seen = Leftovers(clock)
    seen.note_deleted("job")
    clock.now = PATIENCE - 1
    assert (seen.patience_left("job"), seen.patience_left("other"), seen.patience_left("")) == (
        1,
        0,
        0,
    )
    clock.now = PATIENCE + 1
    assert seen.patience_left("job") == 0


def test_a_bounded_number_is_remembered() -> None:
    seen = Leftovers(Clock())
    for number in range(MOST_DELETED + 5):
        seen.note_deleted(str(number))
    assert seen.patience_left("4") == 0
    assert seen.patience_left(str(MOST_DELETED + 4)) == PATIENCE


def test_what_a_deleted_owner_leaves_is_no_gang_until_the_patience_ends(
    watch: Callable[..., Watching], monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    watching.settle()
    name, namespace, jobs = jobs_of_a_jobset(watching)
    uids = {job["metadata"]["uid"] for job in jobs}
    watching.simulator.objects.delete("jobset.x-k8s.io/v1alpha2", "JobSet", name, namespace)
    watching.windows_until(lambda: not Gang.objects.filter(name=name, gone_at=None).exists())
    # The simulator collects at once; Kubernetes leaves them for a while.
    for job in jobs:
        watching.simulator.objects.put(job)
    watching.settle()
    stored = WatchedObject.objects.filter(resource="jobs.batch", uid__in=uids)
    gangs = Gang.objects.filter(uid__in=uids, gone_at=None)
    assert (stored.count(), gangs.count()) == (len(jobs), 0)
    monkeypatch.setattr(watch_history, "PATIENCE", 0.0)
    watching.forget()
    watching.windows_until(lambda: gangs.count() == len(jobs))
