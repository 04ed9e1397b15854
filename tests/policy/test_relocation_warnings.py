"""Policies and templates that a person must know before a Job moves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangboard.domain.pod_constraints import (
    PodConstraints,
    Toleration,
)
from gangboard.owners.jobset.policies import Policies
from tests.domain_objects import (
    a_job,
    a_jobset,
    a_role,
    child_jobs,
)
from tests.gangs import a_gang
from tests.policy.test_relocation import (
    a_node,
    a_run,
    around,
    planned,
    pods_on,
)


def test_the_deadline_of_a_job_starts_anew() -> None:
    sentence = "Its activeDeadlineSeconds of 7,200 s starts anew."
    job = a_job("alone", active_pods=2, deadline_seconds=7200)
    pods = pods_on(job, "n0", "n0")
    surroundings = around(a_node("n0", free=0), a_node("n1"), pods=pods)
    assert sentence in planned(a_gang(job), job, surroundings).reactions
    gang, child, _ = a_run(deadline_seconds=7200)
    surroundings = replace(surroundings, pods=pods_on(child, "n0", "n0"))
    assert sentence in planned(gang, child, surroundings).reactions
    gang, child, _ = a_run()
    texts = planned(gang, child, surroundings).reactions
    assert not any("activeDeadlineSeconds" in text for text in texts)


@pytest.mark.parametrize(
    ("policies", "end"),
    [
        (Policies("All", ("driver",)), "(success policy All of driver), and then deletes it."),
        (Policies("Any"), "(success policy Any), and then deletes it."),
        (Policies("Any", ("w",)), "(success policy Any of w), and then deletes it."),
        (Policies("All"), ""),
        (Policies("All", ("w",)), ""),
    ],
)
def test_a_jobset_that_may_complete_meanwhile_is_a_warning(policies: Policies, end: str) -> None:
    roles = (a_role("w", jobs=2, pods=2), a_role("driver"))
    jobset = a_jobset("run", *roles, policies=policies)
    job, *others = child_jobs(jobset, active_pods=2)
    gang = a_gang(jobset, [job, *others])
    surroundings = around(a_node("n0", free=0), a_node("n1"), pods=pods_on(job, "n0", "n0"))
    texts = [text for text in planned(gang, job, surroundings).warnings if "may complete" in text]
    name = job.meta.ref.name
    assert texts == ([f"JobSet run may complete while Job {name} is away {end}"] if end else [])


@pytest.mark.parametrize("number", [8, 9])
def test_many_tolerations_are_a_warning(number: int) -> None:
    gang, job, _ = a_run()
    added = [
        Toleration(f"node.kubernetes.io/{name}", "Exists", effect="NoExecute")
        for name in ("not-ready", "unreachable")
    ]
    own = [Toleration(f"team-{index}", "Exists") for index in range(number)]
    needs = PodConstraints(tolerations=(*own, *added))
    pods = pods_on(job, "n0", "n0", needs=needs)
    plan_ = planned(gang, job, around(a_node("n0", free=0), a_node("n1"), pods=pods))
    texts = [text for text in plan_.warnings if "toleration" in text]
    assert len(texts) == (number > 8)
    assert all(text.startswith("The template of JobSet run has 9 tolerations") for text in texts)
