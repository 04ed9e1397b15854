"""Jobs of one gang that are suspended together: the set is judged, not each of its Jobs.

jobset-kueue.md §2.1 to §2.3, and the controllers of JobSet v0.12.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.action import ClusterLevers, Verb
from gangboard.domain.owner import Dependency, Owner
from gangboard.facts.gang import Gang
from gangboard.owners.jobset.policies import FailureRule, Policies
from gangboard.policy.selection import Selection, evaluate_selection
from tests.domain_objects import NOW, a_group, a_jobset, a_role, succeeded
from tests.policy.builders import (
    CLAIM,
    NATIVE,
    READY,
    WITHOUT,
    a_child,
    a_context,
    a_hold,
    a_standalone,
    a_trio,
    an_entry,
    make_plan,
    text,
)

NOTHING_RUNS = (
    "Nothing of JobSet trio will run any more, and the JobSet does not count as suspended."
)
TRIO = ("trio-w-0", "trio-w-1", "trio-w-2")


def judge(
    context: Gang, *names: str, levers: ClusterLevers = READY, verb: Verb = Verb.SUSPEND
) -> Selection | None:
    return evaluate_selection(context, levers, {f"uid-{name}" for name in names}, verb, NOW)


def sentences_about(context: Gang, *names: str, levers: ClusterLevers = READY) -> tuple[str, ...]:
    selection = judge(context, *names, levers=levers)
    assert selection is not None
    return selection.sentences


def is_whole(context: Gang, *names: str, levers: ClusterLevers = READY) -> bool:
    selection = judge(context, *names, levers=levers)
    return selection is not None and selection.owner_plan is not None


class TestNothingRuns:
    def test_all_jobs_of_a_gang_come_first_and_the_owner_is_offered(self) -> None:
        selection = judge(a_context(), *TRIO)
        assert selection is not None
        assert selection.sentences[0] == NOTHING_RUNS
        assert selection.owner_plan is not None
        assert (selection.owner_plan.lever, selection.owner_plan.subject.name) == (
            "suspend",
            "trio",
        )

    def test_one_unselected_job_keeps_running(self) -> None:
        selection = judge(a_context(), "trio-w-0", "trio-w-2")
        assert selection is not None
        assert "will run" not in " ".join(selection.sentences)
        assert selection.owner_plan is None

    @pytest.mark.parametrize(
        "fields",
        [{"suspended": True}, {"parallelism": 0}, {"finish": succeeded()}],
        ids=["suspended", "no pods asked for", "finished"],
    )
    def test_a_job_that_does_not_run_need_not_be_chosen(self, fields: dict[str, Any]) -> None:
        owner = a_trio()
        context = a_context(owner, a_child(owner, "trio-w-1", **fields))
        assert NOTHING_RUNS in sentences_about(context, "trio-w-0", "trio-w-2")
        assert is_whole(context, "trio-w-0", "trio-w-2")
        assert "will run" not in " ".join(sentences_about(context, "trio-w-0"))

    def test_a_held_job_does_not_run(self) -> None:
        owner = a_trio()
        context = a_context(owner, a_child(owner, "trio-w-1", suspended=True), holds=(a_hold(),))
        assert NOTHING_RUNS in sentences_about(context, "trio-w-0", "trio-w-2")

    def test_a_set_without_running_jobs_stops_no_job(self) -> None:
        owner = a_trio(suspended=True)
        stopped = [a_child(owner, name, suspended=True) for name in TRIO]
        assert "will run" not in " ".join(sentences_about(a_context(owner, *stopped), *TRIO))
        assert not is_whole(a_context(owner, *stopped), *TRIO)

    def test_jobs_of_a_suspended_owner_stop_anyway(self) -> None:
        owner = a_trio(suspended=True)
        assert "will run" not in " ".join(sentences_about(a_context(owner), *TRIO))

    def test_a_missing_job_without_a_selected_dependency_can_still_start(self) -> None:
        owner = a_jobset("ft", a_role("w", jobs=2), a_role("eval"))
        context = a_context(owner)
        objects = replace(context, jobs=tuple(job for job in context.jobs if job.role_name == "w"))
        selection = judge(objects, "ft-w-0", "ft-w-1")
        assert selection is not None
        assert selection.sentences[0] == (
            "All that runs of JobSet ft is stopped; only Jobs of eval can still start."
        )
        assert selection.owner_plan is None

    @pytest.mark.parametrize(("status", "starts"), [("Ready", True), ("Complete", False)])
    def test_a_job_that_waits_for_another_part_starts_unless_that_is_stopped(
        self, status: str, starts: bool
    ) -> None:
        """A Job at parallelism 0 counts as ready and never completes (jobset-kueue.md §2.5)."""
        owner = a_jobset(
            "ft", a_role("w"), a_role("eval", depends_on=(Dependency("w", status),)), a_role("x")
        )
        context = a_context(
            owner,
            a_child(owner, "ft-eval-0", suspended=True),
            a_child(owner, "ft-x-0", finish=succeeded()),
        )
        pausing = replace(WITHOUT, parallelism=True)
        can_start = "can still start" in " ".join(
            sentences_about(context, "ft-w-0", levers=pausing)
        )
        assert can_start is starts
        assert "can still start" not in " ".join(sentences_about(context, "ft-w-0"))


class TestOwner:
    def test_is_offered_by_its_queue(self) -> None:
        context = a_context(a_trio(queue="lq"), entries=(an_entry(),))
        selection = judge(context, *TRIO)
        assert selection is not None
        assert selection.owner_plan is not None
        assert selection.owner_plan.lever == "kueue-active"

    def test_is_not_offered_where_it_cannot_be_suspended(self) -> None:
        context = a_context(a_trio(queue="lq"))
        assert NOTHING_RUNS in sentences_about(context, *TRIO)
        assert not is_whole(context, *TRIO), "its Workload is not known"

    def test_jobs_suspended_individually_are_no_better(self) -> None:
        context = a_context(a_trio(independent_claim=CLAIM))
        assert NOTHING_RUNS in sentences_about(context, *TRIO, levers=NATIVE)
        assert not is_whole(context, *TRIO, levers=NATIVE)


class TestForced:
    """A lever that is not proved: JobSet resumes such a Job after 72 to 95 ms (observed)."""

    FORCED = replace(WITHOUT, forced=True)
    SHORT = (
        "Forced: jobset will likely undo each {}, and its pods are replaced. The rest holds only "
        "while it lasts."
    )

    @pytest.mark.parametrize(
        ("in_order", "when"), [(False, "within a second"), (True, "once its pods are gone")]
    )
    def test_the_set_is_judged_together_as_temporary(self, in_order: bool, when: str) -> None:
        context = a_context(a_trio(policies=Policies(in_order=in_order)))
        sentences = sentences_about(context, *TRIO, levers=self.FORCED)
        assert sentences[:2] == (self.SHORT.format(when), NOTHING_RUNS)
        assert is_whole(context, *TRIO, levers=self.FORCED), "the owner's own lever lasts"

    def test_a_partial_selection_leaves_running_jobs(self) -> None:
        selection = judge(a_context(), "trio-w-0", "trio-w-2", levers=self.FORCED)
        assert selection is not None
        assert NOTHING_RUNS not in selection.sentences
        assert selection.owner_plan is None

    def test_a_set_lasts_if_the_jobset_does_not_revert_jobs(self) -> None:
        context = a_context(a_trio(independent_claim=CLAIM))
        sentences = sentences_about(context, *TRIO, levers=replace(NATIVE, forced=True))
        assert sentences[0] == NOTHING_RUNS


class TestNothingToSay:
    def test_a_resume_is_not_judged_as_a_set(self) -> None:
        assert judge(a_context(), *TRIO, verb=Verb.RESUME) is None

    def test_a_selected_owner_is_not_judged_as_a_set(self) -> None:
        assert judge(a_context(), "trio", *TRIO) is None
        assert judge(a_standalone(), "train") is None

    def test_a_set_without_levers_is_not_judged(self) -> None:
        assert judge(a_context(), *TRIO, levers=WITHOUT) is None
        assert judge(a_context(), "another") is None

    def test_those_that_cannot_be_stopped_are_not_counted(self) -> None:
        """One of them is going: it runs on until it is gone."""
        owner = a_trio()
        context = a_context(owner, a_child(owner, "trio-w-1", deleting_since=NOW))
        selection = judge(context, *TRIO)
        assert selection is not None
        assert [job.meta.ref.name for job in selection.jobs] == ["trio-w-0", "trio-w-2"]
        assert NOTHING_RUNS not in selection.sentences


SUCCESSES = [
    (Policies(), ("ft-w-0", "ft-w-1"),
     "JobSet ft cannot complete while they are held (success policy All)."),
    (Policies(ttl_seconds=3600), ("ft-w-0", "ft-driver-0"),
     "JobSet ft cannot complete while they are held (success policy All), so its "
     "ttlSecondsAfterFinished of 3,600 s does not begin."),
    (Policies(success_roles=("driver",)), ("ft-w-0", "ft-w-1"),
     "JobSet ft completes when every Job of driver does (success policy All of driver); then these "
     "2 Jobs are deleted."),
    (Policies(success_operator="Any"), ("ft-w-0", "ft-w-1"),
     "JobSet ft completes when one Job does (success policy Any); then these 2 Jobs are deleted."),
    (Policies(success_operator="Any"), ("ft-w-0", "ft-w-1", "ft-driver-0"),
     "JobSet ft cannot complete while they are held (success policy Any)."),
    (Policies(success_operator="Any", success_roles=("w",)), ("ft-w-0", "ft-w-1"),
     "JobSet ft cannot complete while they are held (success policy Any of w)."),
    (Policies(success_operator="Any", success_roles=("w",)), ("ft-w-0", "ft-driver-0"),
     "JobSet ft completes when one Job of w does (success policy Any of w); then these 2 Jobs are "
     "deleted."),
]  # fmt: skip


@pytest.mark.parametrize(("policies", "chosen", "sentence"), SUCCESSES)
def test_success_is_judged_for_the_set(
    policies: Policies, chosen: tuple[str, ...], sentence: str
) -> None:
    owner = a_jobset("ft", a_role("driver"), a_role("w", jobs=2), policies=policies)
    assert sentence in sentences_about(a_context(owner), *chosen)


def _chain() -> Owner:
    """driver ← workers ← eval."""
    return a_jobset(
        "ft",
        a_role("driver"),
        a_role("workers", jobs=2, depends_on=(Dependency("driver", "Ready"),)),
        a_role("eval", depends_on=(Dependency("workers", "Ready"),)),
    )


def test_only_unselected_jobs_that_wait_for_the_set_are_named() -> None:
    result = " ".join(
        sentences_about(a_context(_chain()), "ft-driver-0", "ft-workers-0", "ft-workers-1")
    )
    assert (
        "After a restart or a resume of JobSet ft the Jobs of eval do not start while they are "
        "held: eval depends on workers."
    ) in result
    assert "workers depend" not in result


def test_a_part_of_which_some_jobs_are_outside_is_named() -> None:
    result = " ".join(sentences_about(a_context(_chain()), "ft-driver-0", "ft-workers-0"))
    assert "the Jobs of workers and eval do not start while they are held" in result


def _sharing(quorum: int) -> Gang:
    context = a_context(a_trio(), groups=(a_group("ring", quorum=quorum),))
    return replace(context, jobs=tuple(replace(job, group_name="ring") for job in context.jobs))


def test_a_shared_group_is_judged_by_all_that_leave_it() -> None:
    """The quorum is 4 of 6 pods: one Job may stop, two may not."""
    assert "PodGroup" not in " ".join(sentences_about(_sharing(4), "trio-w-0"))
    assert (
        "2 of them share PodGroup ring with 1 other Job, whose quorum is 4 pods; 2 would remain. A "
        "lost sibling can never be replaced while these Jobs are held, and after a restart or a "
        "resume of JobSet trio no pod of the group is placed."
    ) in sentences_about(_sharing(4), "trio-w-0", "trio-w-1")
    assert "PodGroup" not in " ".join(sentences_about(_sharing(2), "trio-w-0", "trio-w-1"))
    assert "PodGroup" not in " ".join(sentences_about(_sharing(4), *TRIO)), "no sibling is left"


class TestEachOfThem:
    """The plan for one Job that is chosen together with others."""

    def _plan_text(self, owner: Owner, name: str, *chosen: str) -> str:
        uids = frozenset(f"uid-{item}" for item in chosen)
        plan = make_plan(a_context(owner), name, Verb.SUSPEND, chosen=uids)
        assert plan.allowed
        return text(plan)

    def test_sentences_about_the_set_are_not_repeated(self) -> None:
        owner = a_jobset("one", a_role("w"), policies=Policies(), max_restarts=2)
        assert "cannot complete" in self._plan_text(owner, "one-w-0")
        assert "It is the only unfinished Job" in self._plan_text(owner, "one-w-0")
        together = self._plan_text(owner, "one-w-0", "one-w-0")
        assert "cannot complete" not in together
        assert "only unfinished" not in together

    def test_another_failing_job_is_an_unselected_one(self) -> None:
        assert "If another Job fails" in self._plan_text(a_trio(), "trio-w-1", *TRIO[1:])
        assert "fails" not in self._plan_text(a_trio(), "trio-w-1", *TRIO)

    def test_a_rule_about_a_part_that_is_stopped_as_a_whole_is_left_out(self) -> None:
        rules = (FailureRule("FailJobSet", roles=("w",)),)
        owner = a_jobset(
            "ft", a_role("driver"), a_role("w", jobs=2), max_restarts=1,
            policies=Policies(failure_rules=rules),
        )  # fmt: skip
        assert "If a Job of w fails" in self._plan_text(owner, "ft-w-0", "ft-w-0")
        assert "Job of w" not in self._plan_text(owner, "ft-w-0", "ft-w-0", "ft-w-1")
