"""Holds from the cluster to the Gang page: held, armed only, or on a missing Job."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.hold import Hold
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueEntry
from gangboard.domain.verdict import Evidence, JobState, Verdict
from tests.domain_objects import (
    NOW,
    a_hold,
    a_job,
    a_jobset,
    a_role,
    ago,
    an_entry,
    child_jobs,
    pods_of,
    succeeded,
)
from tests.gangs import a_gang, assemble

JOBSET = a_jobset("run", a_role("workers", jobs=2))
RUNNING, HELD = child_jobs(JOBSET)
HELD = replace(HELD, suspended=True)


def verdict(*objects: Owner | Pod | Hold | QueueEntry, **owner: Any) -> Verdict:
    """Return the verdict on the JobSet and these objects. The first Job's pods run."""
    return assess(
        assemble(
            replace(JOBSET, **owner),
            [RUNNING, *pods_of(RUNNING, 2, on="n0"), *objects],
            now=NOW,
        )
    )


def job(result: Verdict, name: str = "run-workers-1") -> JobState:
    return next(item for item in result.jobs if item.ref.name == name)


def idle(result: Verdict) -> list[str]:
    return [item.value for item in result.finding.evidence if item.label == "Hold without effect"]


def test_a_held_job_shows_its_hold() -> None:
    until = NOW.replace(hour=18)
    result = verdict(HELD, a_hold(HELD, until=until))
    state = job(result)
    assert (state.suspended, state.held, state.hold) == (True, True, "run-workers-1")
    assert (state.held_since, state.held_by) == (ago(300), "alice")
    assert (state.held_reason, state.held_until) == ("disk of n3", until)
    assert result.finding.code == "job-suspended"
    assert idle(result) == []
    sibling = job(result, "run-workers-0")
    assert (sibling.held, sibling.hold, sibling.held_since) == (False, "", None)


def test_suspended_without_a_hold_is_not_held() -> None:
    state = job(verdict(HELD))
    assert (state.suspended, state.held, state.hold, state.held_by) == (True, False, "", "")


def test_armed_is_not_held() -> None:
    """A Hold by itself suspends no Job, and without its policy it has no effect."""
    second = replace(HELD, suspended=False)
    result = verdict(second, *pods_of(second, 2, on="n1"), a_hold(second))
    state = job(result)
    assert (state.suspended, state.held, state.hold) == (False, False, "run-workers-1")
    assert result.finding.code == "running"
    assert result.finding.evidence[-1] == Evidence(
        "Hold without effect",
        "Hold run-workers-1 by alice (disk of n3): Job run-workers-1 is not suspended; "
        "it is armed only, or its policy is not in force",
        a_hold(second).meta.ref,
    )


def test_a_hold_on_a_missing_or_finished_job() -> None:
    done = replace(HELD, suspended=False, finish=succeeded())
    nowhere = a_hold(HELD, name="typo", job_name="run-worker-1", by="", reason="")
    assert idle(verdict(done, a_hold(done), nowhere)) == [
        "Hold run-workers-1 by alice (disk of n3): Job run-workers-1 has ended",
        "Hold typo: there is no Job run-worker-1 now",
    ]
    assert not job(verdict(done, a_hold(done))).held


def test_holds_of_a_finished_gang_are_not_mentioned() -> None:
    assert idle(verdict(HELD, a_hold(RUNNING), finish=succeeded())) == []


def test_the_older_of_two_holds_on_a_job_counts() -> None:
    later = a_hold(HELD, name="a-second", by="bob", created_at=ago(60))
    state = job(verdict(HELD, later, a_hold(HELD)))
    assert (state.hold, state.held_by) == ("run-workers-1", "alice")


@pytest.mark.parametrize(
    "fields",
    [{"owner_uid": "uid-before"}, {"job_name": "run-workers-0"}, {"namespace": "team-b"}],
)
def test_a_hold_is_on_the_job_that_the_policy_would_compare(fields: dict[str, Any]) -> None:
    assert a_gang(JOBSET, [HELD], holds=(a_hold(HELD),)).hold_of(HELD) is not None
    assert a_gang(JOBSET, [HELD], holds=(a_hold(HELD, **fields),)).hold_of(HELD) is None


def test_a_job_without_a_controller_is_never_held() -> None:
    lone = a_job("lone", suspended=True)
    hold = a_hold(lone, owner_uid="")
    assert a_gang(lone, [lone], holds=(hold,)).hold_of(lone) is None


def test_holds_and_entries_are_facts_of_the_gang() -> None:
    hold, entry = a_hold(HELD), an_entry(JOBSET)
    facts = assemble(JOBSET, [HELD, entry, hold], now=NOW, holds_known=False)
    assert (facts.holds, facts.entries) == ((hold,), (entry,))
    assert not facts.cluster.holds_known
    assert facts.groups == facts.workloads == ()
