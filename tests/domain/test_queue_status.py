"""Queue status of an owner and its Jobs, which verdicts and actions share."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.domain.queue_status import QueueStanding, queue_statuses_of
from tests.domain_objects import a_condition, a_job, a_jobset, ago, an_entry, child_jobs

OVER = {"conditions": (a_condition("Finished"),)}
GOING = {"deleting_since": ago(1)}
IN, OUT, OFF = {"admitted": True}, {"admitted": False}, {"active": False}
CASES: list[tuple[str, bool, tuple[dict[str, Any], ...], str, str]] = [
    # (queue label, suspended, its entries, knowledge about queues, expected relation to the queue)
    ("", True, (), "served", "free"),
    ("", False, (), "", "free"),
    ("", True, (), "not-served", "free"),
    ("lq", True, (), "not-served", "nobody"),
    ("lq", False, (), "not-served", "nobody"),
    ("lq", True, (IN,), "not-served", "nobody"),
    ("", True, (OUT,), "not-served", "free"),
    ("lq", True, (), "", "not-known"),
    ("lq", True, (), "served", "waits"),
    ("lq", False, (), "served", "admitted"),
    ("lq", False, (), "", "admitted"),
    *(
        (label, suspended, entries, visibility, standing)
        for label in ("", "lq")
        for suspended in (True, False)
        for visibility in ("served", "")
        for entries, standing in (
            ((OUT,), "waits"),
            ((IN,), "admitted"),
            ((OFF,), "deactivated"),
            ((OFF, OFF), "deactivated"),
            ((IN, OUT), "waits"),
            ((IN, OFF), "waits"),
            ((IN, {**OUT, **OVER}), "admitted"),
            ((IN, {**OFF, **GOING}), "admitted"),
        )
    ),
    ("lq", True, (OVER,), "served", "waits"),
    ("", True, (OVER, GOING), "served", "free"),
]


@pytest.mark.parametrize(("label", "suspended", "entries", "visibility", "standing"), CASES)
def test_queue_status_of_an_owner(
    label: str, suspended: bool, entries: tuple[dict[str, Any], ...], visibility: str, standing: str
) -> None:
    job = a_job("train", queue=label, suspended=suspended)
    created = [an_entry(job, f"job-train-{index}", **item) for index, item in enumerate(entries)]
    result = queue_statuses_of(job, (job,), created, visibility)["uid-train"]
    assert result.standing == standing
    assert result.is_managed is (standing not in ("free", "nobody"))
    assert result.may_run is (standing in ("free", "nobody", "admitted"))


def test_entry_decides_the_queue() -> None:
    job = a_job("train", queue="asked", suspended=True)
    assert (
        queue_statuses_of(job, (), [an_entry(job, queue="got")], "served")["uid-train"].queue
        == "got"
    )
    assert (
        queue_statuses_of(job, (), [an_entry(job, queue="")], "served")["uid-train"].queue
        == "asked"
    )
    assert queue_statuses_of(job, (), (), "served")["uid-train"].queue == "asked"


def test_label_of_a_job_counts_if_its_owner_is_in_no_queue() -> None:
    """Kueue creates no Workload for objects of a queued owner (jobset-kueue.md §3.2)."""
    free, managed = a_jobset("free"), a_jobset("managed", queue="lq")
    for owner, visibility, standing in (
        (free, "served", QueueStanding.WAITS),
        (free, "not-served", QueueStanding.NOT_SERVED),
        (managed, "served", QueueStanding.FREE),
        (managed, "not-served", QueueStanding.NOT_SERVED),
    ):
        (job,) = child_jobs(owner, suspended=True, queue="own")
        assert (
            queue_statuses_of(owner, (job,), (), visibility)[job.meta.ref.uid].standing is standing
        )
    (job,) = child_jobs(managed, suspended=True)
    result = queue_statuses_of(managed, (job,), [an_entry(job)], "served")
    assert result[job.meta.ref.uid].standing is QueueStanding.WAITS
    assert result["uid-managed"].standing is QueueStanding.ADMITTED


def test_jobs_stay_suspended_until_their_owner_is_admitted() -> None:
    """Kueue suspends each child Job of an owner it has not admitted (jobset-kueue.md §3.5)."""
    owner = a_jobset("run")
    (job,) = child_jobs(owner, suspended=True)
    result = queue_statuses_of(owner, (job,), [an_entry(owner)], "served")[job.meta.ref.uid]
    assert (result.standing, result.by_owner) == (QueueStanding.WAITS, True)
    own = an_entry(job, admitted=True)
    result = queue_statuses_of(owner, (job,), [an_entry(owner), own], "served")[job.meta.ref.uid]
    assert (result.standing, result.by_owner) == (QueueStanding.WAITS, True)
