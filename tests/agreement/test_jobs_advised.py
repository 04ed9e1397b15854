"""Drawn gangs of Jobs and JobSets, refused by a real cluster and helped as the advice says."""

from __future__ import annotations

from collections import Counter

from gangboard.domain.advice import Advice, AdviceKind, ChangeMethod
from gangboard.domain.pod_constraints import Taint
from tests.agreement.arena import Arena
from tests.agreement.cases import Ask, Case, NodeSpec, PodSetSpec
from tests.agreement.jobs import (
    JobCase,
    Kind,
    asked_for,
    changed,
    gang_objects,
    is_helpable,
    make_job_case,
)
from tests.agreement.jobs_figures import faults, lines, outcome_text
from tests.agreement.jobs_play import play
from tests.agreement.reckoning import most

SEED, NUMBERS = 2601, (0, 1, 2, 3, 5, 8, 9, 10, 14, 16, 21, 22, 29, 34)
"""Two of each kind, and those of which own members once stood in the way."""
DRAWN = 30


def test_advice_frees_the_gangs_of_controllers(arena: Arena) -> None:
    outcomes = list(play(arena, [make_job_case(SEED, number) for number in NUMBERS]))
    print(*lines(outcomes), *filter(None, map(outcome_text, outcomes)), sep="\n")
    result = faults(outcomes)
    assert not result, "\n".join(result)


def test_the_draw_of_jobs_is_fair_and_repeatable() -> None:
    cases = [make_job_case(11, number) for number in range(DRAWN)]
    assert cases[:5] == [make_job_case(11, number) for number in range(5)]
    counts = Counter(case.kind for case in cases)
    assert all(counts[kind] >= 2 for kind in Kind), counts
    misfits = [case for case in cases if most(case.case) < case.case.quorum]
    assert len(misfits) >= 0.75 * DRAWN
    assert sum(map(is_helpable, misfits)) >= 0.85 * len(misfits)
    assert sum(bool(case.leaving) for case in cases) >= 0.15 * DRAWN
    assert not any(case.case.is_spread for case in cases)


def test_advice_is_followed_to_the_letter() -> None:
    """A user's change of the manifest after reading the sentence."""
    job = gang_objects(_drawn(Kind.EXPLICIT, PodSetSpec("w", 4, Ask(gpus=4))), "ns", "run")
    text = (
        "Lower the parallelism, completions and minCount of Job run from 4 to 2: that many fit now"
    )
    advice = Advice(AdviceKind.SIZE, text, method=ChangeMethod.IN_PLACE, count=2)
    (created,) = changed(job, advice, "")
    assert (created["spec"]["parallelism"], created["spec"]["completions"]) == (2, 2)
    assert created["spec"]["scheduling"]["schedulingPolicy"] == {"gang": {"minCount": 2}}
    assert job[0]["spec"]["parallelism"] == 4

    workers = _drawn(Kind.JOBSET, PodSetSpec("d", 1, Ask()), PodSetSpec("w", 6, Ask(gpus=4)))
    jobset = gang_objects(workers, "ns", "run")
    assert asked_for(jobset[0]) == 7
    text = "Lower the replicas of replicatedJobs[w] of JobSet run from 3 to 1: that many fit now"
    fewer = changed(
        jobset, Advice(AdviceKind.SIZE, text, method=ChangeMethod.RECREATE, count=1), "w"
    )
    assert asked_for(fewer[0]) == 1 + 2
    taint = Taint("dedicated", value="infra", effect="NoSchedule")
    tolerating = changed(jobset, Advice(AdviceKind.TOLERATE, "", taint=taint), "w")
    driver, result = (
        part["template"]["spec"]["template"]["spec"]
        for part in tolerating[0]["spec"]["replicatedJobs"]
    )
    assert "tolerations" not in driver
    entry = {"key": "dedicated", "operator": "Equal", "value": "infra", "effect": "NoSchedule"}
    assert result["tolerations"] == [entry]


def _drawn(kind: Kind, *pod_sets: PodSetSpec) -> JobCase:
    node = NodeSpec("kept-n0", 8000, 16384, 4, 110, "ssd")
    size = sum(pod_set.count for pod_set in pod_sets)
    return JobCase(Case(0, 0, (node,), pod_sets, size), kind, 3 if kind is Kind.JOBSET else 1)
