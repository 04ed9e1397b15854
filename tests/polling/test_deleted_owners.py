"""Pods of a deleted owner are no gangs while the garbage collector has time to delete them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangboard.polling import watch_history
from gangboard.polling.watch_history import MAX_DELETED, ORPHAN_GRACE, DeletedOwners
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


def test_pods_of_a_deleted_owner_are_leftovers_for_two_minutes() -> None:
    clock = Clock()
    deleted_owners = DeletedOwners(clock)
    deleted_owners.add("job")
    clock.now = ORPHAN_GRACE - 1
    assert (
        deleted_owners.grace_left("job"),
        deleted_owners.grace_left("other"),
        deleted_owners.grace_left(""),
    ) == (
        1,
        0,
        0,
    )
    clock.now = ORPHAN_GRACE + 1
    assert deleted_owners.grace_left("job") == 0


def test_a_limited_number_is_remembered() -> None:
    deleted_owners = DeletedOwners(Clock())
    for number in range(MAX_DELETED + 5):
        deleted_owners.add(str(number))
    assert deleted_owners.grace_left("4") == 0
    assert deleted_owners.grace_left(str(MAX_DELETED + 4)) == ORPHAN_GRACE


def test_leftovers_are_no_gangs_until_the_grace_ends(
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
    monkeypatch.setattr(watch_history, "ORPHAN_GRACE", 0.0)
    watching.forget()
    watching.windows_until(lambda: gangs.count() == len(jobs))
