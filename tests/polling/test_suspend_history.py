"""Controllers that undo each other, from the watch to the verdict."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from gangboard.domain.owner import SuspendChange
from gangboard.polling.watch_history import MAX_CHANGES, SuspendHistory
from gangboard.store.models import VerdictSpan
from tests.domain_objects import NOW, a_job, ago
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]
Json = dict[str, Any]


def versions(history: SuspendHistory, *changes: tuple[bool, str, float]) -> None:
    """Put versions of one Job: (suspended, manager, seconds ago by the server's clock)."""
    for suspended, manager, seconds in changes:
        job = a_job(suspended=suspended, suspend_set_by=manager, suspend_set_at=ago(seconds))
        history.put(job, NOW)


def test_an_unchanged_suspend_field_is_not_counted() -> None:
    """The first version is no change, and neither is an equal one by another manager."""
    history = SuspendHistory()
    versions(history, (False, "jobset", 60), (True, "night-saver", 9), (True, "other", 8))
    versions(history, (False, "jobset", 7), (False, "jobset", 7))
    assert history.of(["uid-train", "uid-of-none"]) == {
        "uid-train": (
            SuspendChange(True, "night-saver", ago(9)),
            SuspendChange(False, "jobset", ago(7)),
        )
    }


def test_a_future_or_missing_time_is_tolerated() -> None:
    history = SuspendHistory()
    versions(history, (False, "a", 60), (True, "b", -300))
    history.put(a_job(suspended=False), NOW + timedelta(seconds=1))
    first, second = history.of(["uid-train"])["uid-train"]
    assert (first.at, second.at) == (NOW, NOW + timedelta(seconds=1))


def test_the_history_is_bounded_and_dropped_with_its_object() -> None:
    history = SuspendHistory()
    versions(history, *((bool(index % 2), str(index), 0) for index in range(500)))
    changes = history.of(["uid-train"])["uid-train"]
    assert [change.manager for change in changes] == [
        str(number) for number in range(500 - MAX_CHANGES, 500)
    ]
    history.remove("uid-train")
    assert history.of(["uid-train"]) == {}
    versions(history, (False, "a", 1))
    assert history.of(["uid-train"]) == {}


def _standalone(watching: Watching) -> tuple[str, str]:
    """Return (namespace, name) of a running Job without a controller."""
    for job in watching.simulator.objects.list("batch/v1", "Job"):
        is_over = job.get("status", {}).get("conditions")
        if not (job["metadata"].get("ownerReferences") or job["spec"].get("suspend") or is_over):
            return job["metadata"]["namespace"], job["metadata"]["name"]
    raise AssertionError("no such Job")


def _flip(watching: Watching, job: tuple[str, str], *managers: str) -> None:
    """Let each of them in turn suspend or resume a Job, in objects that no controller touches."""
    jobs = watching.simulator.objects.resource("batch/v1", "Job")
    for manager in managers:

        def turn(manifest: Json) -> Json:
            manifest["spec"]["suspend"] = not manifest["spec"].get("suspend", False)
            return manifest

        watching.simulator.writer.change(jobs, job, turn, manager=manager)


def test_every_version_counts_even_in_a_batch(watch: Watch) -> None:
    watching = watch()
    job = _standalone(watching)
    watching.settle()
    _flip(watching, job, "night-saver", "day-starter", "night-saver", "day-starter")
    watching.settle()
    assert watching.gang(job[1]).code != "controller-conflict"
    _flip(watching, job, "night-saver", "day-starter", "night-saver")
    watching.settle()
    gang = watching.gang(job[1])
    assert (gang.code, gang.health) == ("controller-conflict", "blocked")
    assert (
        f"night-saver suspends Job {job[1]} and day-starter resumes it: 7 changes" in gang.message
    )
    assert gang.recheck_at is not None
    _flip(watching, job, "day-starter")
    watching.settle()
    assert watching.gang(job[1]).code == "controller-conflict"
    # The deletion of its pods may arrive earlier, through another watch.
    conflicts = VerdictSpan.objects.filter(name=job[1], code="controller-conflict")
    assert conflicts.count() == 1


def test_a_new_worker_starts_without_history(watch: Watch) -> None:
    watching = watch()
    job = _standalone(watching)
    watching.settle()
    _flip(watching, job, *["night-saver", "day-starter"] * 3)
    watching.settle()
    watching.forget()
    watching.settle()
    _flip(watching, job, "night-saver")
    watching.settle()
    assert watching.gang(job[1]).code == "suspended"
    _flip(watching, job, *["day-starter", "night-saver"] * 2)
    watching.settle()
    assert watching.gang(job[1]).code == "controller-conflict"
