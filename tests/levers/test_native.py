"""`native` needs two things: a request for independent Jobs, and a build that was seen to honour it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangboard.domain.action import ClusterLevers
from gangboard.levers.native import Native
from tests.domain_objects import a_jobset, a_role, child_jobs
from tests.gangs import a_gang

LEVER = Native()

CLAIM = "jobset.sigs.k8s.io/reconciliation-mode: Independent"


@pytest.mark.parametrize(
    ("claim", "honoured", "why"),
    [
        ("", True, "JobSet run would resume it"),
        (
            CLAIM,
            False,
            f"JobSet run asked for Independent ({CLAIM}), but this controller (abc) was not seen to honour it",
        ),
        (CLAIM, True, ""),
    ],
)
def test_the_cause_of_an_unavailable_lever(claim: str, honoured: bool, why: str) -> None:
    owner = replace(a_jobset("run", a_role("w", jobs=2, pods=2)), independent_claim=claim)
    gang = a_gang(owner, child_jobs(owner))
    levers = ClusterLevers(native_honoured=honoured, build="abc")
    refusal = LEVER.why_not(gang, gang.jobs[0], levers)
    assert (refusal.why if refusal is not None else "") == why
    assert LEVER.applies_job_by_job(gang, levers) is not bool(why)


def test_the_row_of_a_cluster_names_the_kinds_that_have_it() -> None:
    unobserved = LEVER.readiness(ClusterLevers(build="0123456789abcdef"), "JobSet", "")
    assert unobserved.sentence == (
        "For JobSets that ask for Independent: this build of JobSet (0123456789ab) was not seen to "
        "honour it."
    )
    assert not unobserved.usable
    assert LEVER.readiness(ClusterLevers(native_honoured=True), "JobSet", "").usable
