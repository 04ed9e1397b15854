"""Behaviour of a JobSet with a stopped Job, by its policies.

Sources: jobset-kueue.md §2.1 to §2.3, real-control-plane.md §3, and the controllers of JobSet v0.12.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gangboard.domain.action import ClusterLevers
from gangboard.domain.group import Policy
from gangboard.domain.owner import Dependency, Owner
from gangboard.owners.jobset.policies import FailureRule, Policies
from tests.domain_objects import NOW, a_group, a_jobset, a_role, succeeded
from tests.policy.builders import (
    CLAIM,
    NATIVE,
    READY,
    WITHOUT,
    a_child,
    a_context,
    a_trio,
    make_plan,
    text,
)

PAUSE = replace(WITHOUT, parallelism=True)
NO_RESTART = "JobSet trio fails ({}) and Job trio-w-1 is deleted."


def _consequences(owner: Owner, levers: ClusterLevers = READY, name: str = "trio-w-1") -> str:
    plan = make_plan(a_context(owner), name, "suspend", levers)
    assert plan.allowed, plan.why_not
    return text(plan)


@pytest.mark.parametrize(
    ("levers", "claim", "after"),
    [
        (READY, "", "re-created suspended: the Hold stays"),
        (NATIVE, CLAIM, "re-created running: its suspension is lost"),
        (PAUSE, "", "re-created with the parallelism of its template: the pause is lost"),
    ],
    ids=["hold", "native", "parallelism"],
)
def test_a_restart_keeps_only_the_hold(levers: ClusterLevers, claim: str, after: str) -> None:
    owner = a_trio(independent_claim=claim, counted_restarts=1)
    assert (
        "If another Job fails, JobSet trio restarts (1 of 3 restarts used) and Job trio-w-1 is "
        f"{after}."
    ) in _consequences(owner, levers)


FAILURES: list[tuple[dict[str, Any], str]] = [
    ({"max_restarts": None},
     "If another Job fails, JobSet trio fails (it has no failure policy) and Job trio-w-1 is deleted."),
    ({"max_restarts": 0}, "If another Job fails, " + NO_RESTART.format("it may not restart")),
    ({"counted_restarts": 3},
     "If another Job fails, " + NO_RESTART.format("its 3 restarts are used up")),
    ({"rules": (FailureRule("FailJobSet", ("PodFailurePolicy", "DeadlineExceeded")),)},
     "If another Job fails with PodFailurePolicy or DeadlineExceeded, JobSet trio fails and Job "
     "trio-w-1 is deleted."),
    ({"rules": (FailureRule("FailJobSet", ("DeadlineExceeded",)),)},
     "On any other failure, JobSet trio restarts (0 of 3 restarts used)"),
    ({"rules": (FailureRule("RestartJob"),)},
     "If another Job fails, only that Job is re-created (0 of 3 restarts used); this one is not "
     "touched."),
    ({"rules": (FailureRule("RestartJob"),), "counted_restarts": 3},
     "If another Job fails, " + NO_RESTART.format("its 3 restarts are used up")),
    ({"rules": (FailureRule("RestartJobAndIgnoreMaxRestarts", roles=("w",)),), "max_restarts": 0},
     "If a Job of w fails, only that Job is re-created; this one is not touched."),
    ({"rules": (FailureRule("RestartJobSetAndIgnoreMaxRestarts", patterns=("NCCL",)),)},
     "If another Job fails with a message like NCCL, JobSet trio restarts and Job trio-w-1 is "
     "re-created suspended: the Hold stays."),
    ({"rules": (FailureRule("Hibernate"),)}, "If another Job fails, JobSet trio applies Hibernate."),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "sentence"), FAILURES)
def test_the_failure_policy_is_mentioned(fields: dict[str, Any], sentence: str) -> None:
    fields = dict(fields)
    policies = Policies(failure_rules=fields.pop("rules", ()))
    assert sentence in _consequences(a_trio(policies=policies, **fields))


def test_a_rule_about_all_leaves_no_other_failure() -> None:
    policies = Policies(failure_rules=(FailureRule("RestartJob"),))
    assert "any other failure" not in _consequences(a_trio(policies=policies))


def test_a_rule_about_the_stopped_job_only_is_omitted() -> None:
    rules = (FailureRule("FailJobSet", roles=("driver",)),)
    owner = a_jobset(
        "ft",
        a_role("driver"),
        a_role("w"),
        max_restarts=1,
        policies=Policies(failure_rules=rules),
    )
    assert "Job of driver" not in _consequences(owner, name="ft-driver-0")
    assert "If a Job of driver fails, JobSet ft fails" in _consequences(owner, name="ft-w-0")


SUCCESSES = [
    (Policies(), "JobSet ft cannot complete while it is held (success policy All)."),
    (Policies(ttl_seconds=3600),
     "JobSet ft cannot complete while it is held (success policy All), so its "
     "ttlSecondsAfterFinished of 3,600 s does not begin."),
    (Policies(success_roles=("w",)),
     "JobSet ft cannot complete while it is held (success policy All of w)."),
    (Policies(success_roles=("driver",), ttl_seconds=86400),
     "JobSet ft completes when every Job of driver does (success policy All of driver); then Job "
     "ft-w-0 is deleted, and JobSet ft itself 86,400 s later (ttlSecondsAfterFinished)."),
    (Policies(success_operator="Any"),
     "JobSet ft completes when one Job does (success policy Any); then Job ft-w-0 is deleted."),
    (Policies(success_operator="Any", success_roles=("w",)),
     "JobSet ft cannot complete while it is held (success policy Any of w)."),
    (Policies(success_operator="Any", success_roles=("driver",)),
     "JobSet ft completes when one Job of driver does (success policy Any of driver); then Job "
     "ft-w-0 is deleted."),
]  # fmt: skip


@pytest.mark.parametrize(("policies", "sentence"), SUCCESSES)
def test_the_success_policy_and_the_ttl_are_mentioned(policies: Policies, sentence: str) -> None:
    owner = a_jobset("ft", a_role("driver"), a_role("w"), policies=policies)
    assert sentence in make_plan(a_context(owner), "ft-w-0", "suspend").reactions


def _chain(*, made: tuple[str, ...], status: str = "Ready", origin: str = "dependsOn") -> Any:
    """driver ← workers ← eval, of which only the Jobs of the parts `made` exist."""
    owner = a_jobset(
        "ft",
        a_role("driver", pods=1),
        a_role("workers", jobs=2, depends_on=(Dependency("driver", status, origin),)),
        a_role("eval", depends_on=(Dependency("workers", status, origin),)),
        policies=Policies(in_order=origin == "startupPolicy"),
    )
    context = a_context(owner)
    return replace(context, jobs=tuple(job for job in context.jobs if job.role_name in made))


ABSENT = "3 Jobs of workers and eval are not created while it is held: workers and eval depend on driver."
LATER = (
    "After a restart or a resume of JobSet ft the Jobs of workers and eval do not start while it is "
    "held: workers and eval depend on driver."
)


@pytest.mark.parametrize("origin", ["dependsOn", "startupPolicy"])
def test_parts_that_wait_for_it_are_named(origin: str) -> None:
    """A dependency gates the creation of Jobs and their resume, not what runs already."""
    absent = make_plan(_chain(made=("driver",), origin=origin), "ft-driver-0", "suspend").warnings
    assert ABSENT in absent
    assert LATER not in absent
    objects = make_plan(
        _chain(made=("driver", "workers", "eval"), origin=origin), "ft-driver-0", "suspend"
    )
    assert LATER in objects.warnings
    assert ABSENT not in objects.warnings


def test_roles_that_wait_for_running_jobs_do_not_wait_for_the_held_job() -> None:
    plan = make_plan(_chain(made=("driver", "workers")), "ft-driver-0", "suspend")
    assert "not made" not in text(plan)
    plan = make_plan(_chain(made=("driver", "workers")), "ft-workers-1", "suspend")
    assert (
        "1 Job of eval is not created while it is held: eval depends on workers." in plan.warnings
    )


def test_a_paused_job_counts_as_ready_and_never_completes() -> None:
    """JobSet counts `0 >= min(0, completions)` pods as ready (jobset-kueue.md §2.5)."""
    ready = make_plan(_chain(made=("driver",)), "ft-driver-0", "suspend", PAUSE)
    assert "not made" not in text(ready)
    complete = make_plan(
        _chain(made=("driver",), status="Complete"), "ft-driver-0", "suspend", PAUSE
    )
    assert "3 Jobs of workers and eval are not created while it is paused" in text(complete)


def test_a_coordinator_gets_a_warning() -> None:
    owner = a_trio(policies=Policies(coordinator="trio-w-1"))
    sentence = (
        "The coordinator's address of JobSet trio points at this Job: nothing answers there while "
        "it is held."
    )
    assert sentence in _consequences(owner)
    assert "coordinator" not in _consequences(owner, name="trio-w-0")


def test_the_last_running_job_gets_a_warning() -> None:
    owner = a_trio()
    stopped = [a_child(owner, name, suspended=True) for name in ("trio-w-0", "trio-w-2")]
    plan = make_plan(a_context(owner, *stopped), "trio-w-1", "suspend")
    assert (
        "It is the last Job of JobSet trio that is not stopped: nothing of it will run, while the "
        "JobSet does not count as suspended."
    ) in plan.warnings
    assert "last Job" not in _consequences(owner)


def test_the_owner_is_suspended_instead_of_its_only_job() -> None:
    owner = a_jobset("one", a_role("w", pods=4), policies=Policies(), max_restarts=2)
    plan = make_plan(a_context(owner), "one-w-0", "suspend")
    assert (
        "It is the only unfinished Job of JobSet one: to stop all of it, suspend the JobSet."
    ) in plan.warnings
    assert "another Job" not in text(plan)


@pytest.mark.parametrize(
    ("levers", "claim", "state", "later"),
    [
        (READY, "", "held", ", and after a restart or a resume of JobSet trio no pod of the group "
         "is placed"),
        (PAUSE, "", "paused", ", and after a resume of JobSet trio no pod of the group is placed"),
        (NATIVE, CLAIM, "suspended", ""),
    ],
)  # fmt: skip
def test_a_shared_group_that_can_not_be_full_again(
    levers: ClusterLevers, claim: str, state: str, later: str
) -> None:
    """Observed on 1.37.0: the replacement of a lost sibling is never scheduled."""
    context = _sharing(a_trio(independent_claim=claim), quorum=6)
    plan = make_plan(context, "trio-w-1", "suspend", levers)
    assert (
        "It shares PodGroup ring with 2 other Jobs, whose quorum is 6 pods; 4 would remain. A lost "
        f"sibling can never be replaced while this Job is {state}{later}."
    ) in plan.warnings


def _sharing(owner: Owner, quorum: int | None, **group: Any) -> Any:
    context = a_context(owner, groups=(a_group("ring", quorum=quorum, **group),))
    return replace(context, jobs=tuple(replace(job, group_name="ring") for job in context.jobs))


@pytest.mark.parametrize(("quorum", "group"), [(4, {}), (None, {}), (6, {"policy": Policy.BASIC})])
def test_a_shared_group_that_stays_full_is_no_matter(quorum: int | None, group: Any) -> None:
    plan = make_plan(_sharing(a_trio(), quorum, **group), "trio-w-1", "suspend")
    assert "PodGroup" not in text(plan)


def test_finished_siblings_count_for_no_quorum() -> None:
    context = _sharing(a_trio(), quorum=4)
    done = replace(context.jobs[0], finish=succeeded(), succeeded_pods=2)
    plan = make_plan(replace(context, jobs=(done, *context.jobs[1:])), "trio-w-1", "suspend")
    assert "with 1 other Job, whose quorum is 4 pods; 2 would remain" in text(plan)


def test_an_unknown_group_is_mentioned() -> None:
    plan = make_plan(replace(_sharing(a_trio(), quorum=6), groups=()), "trio-w-1", "suspend")
    assert "its quorum is not known" in text(plan)


def test_a_restart_in_place_waits_for_all_pods() -> None:
    """The barrier is lifted when all pods of the spec exist (in_place_restart.go, v0.12)."""
    owner = a_trio(policies=Policies(restart_strategy="InPlaceRestart"))
    assert (
        "JobSet trio restarts in place: after a failure its containers run on only when all 6 pods "
        "are there, which they are not while Job trio-w-1 is held."
    ) in _consequences(owner)
    assert "in place" not in _consequences(a_trio(policies=Policies(restart_strategy="Recreate")))


@pytest.mark.parametrize(
    ("in_order", "when"), [(False, "within a second"), (True, "once its pods are gone")]
)
def test_a_forced_suspend_shows_when_it_is_reverted(in_order: bool, when: str) -> None:
    owner = a_trio(policies=Policies(in_order=in_order))
    assert f"will likely undo it {when}" in _consequences(owner, replace(WITHOUT, forced=True))


def test_the_end_of_a_hold_is_mentioned() -> None:
    plan = make_plan(a_context(), "trio-w-1", "suspend", until=NOW + timedelta(hours=6))
    assert "gangboard removes the Hold and resumes it at 2026-11-21 18:00 UTC." in plan.reactions


def test_unread_policies_are_not_mentioned() -> None:
    """The policies of the owner were not read, so there is no sentence about them."""
    reported = _consequences(a_trio(policies=None))
    assert "fail" not in reported
    assert "complete" not in reported
