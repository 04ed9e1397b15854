"""`exclusion` and `hold-exclusion`: the requests of a relocation, and the change of the affinity."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.action import ClusterLevers, Step, Verb
from gangboard.domain.owner import Owner
from gangboard.levers.exclusion import JobExclusion
from gangboard.levers.hold.relocation import HoldExclusion
from gangboard.policy.decision import Decision, DesiredAction, PlanRefusal
from gangboard.policy.exclusions import (
    Exclusion,
    change_affinity,
    excludes,
    read_exclusion,
    write_exclusion,
)
from tests.domain_objects import NOW, a_job, a_jobset, a_role, child_jobs
from tests.gangs import a_gang

Json = dict[str, Any]
HOST = "kubernetes.io/hostname"
BAD = Exclusion(HOST, ("bad",))
NOT_BAD = {"key": HOST, "operator": "NotIn", "values": ["bad"]}
POOL = {"key": "pool", "operator": "In", "values": ["a"]}
ARCH = {"key": "arch", "operator": "Exists"}
POD_AFFINITY: Json = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}}
PREFERRED = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}


def required(*terms: Json) -> Json:
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}


def affinity(*terms: Json, **others: Any) -> Json:
    return {"nodeAffinity": required(*terms), **others}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, affinity({"matchExpressions": [NOT_BAD]})),
        (POD_AFFINITY, affinity({"matchExpressions": [NOT_BAD]}, **POD_AFFINITY)),
        (
            {"nodeAffinity": PREFERRED},
            {"nodeAffinity": {**PREFERRED, **required({"matchExpressions": [NOT_BAD]})}},
        ),
        (
            affinity({"matchExpressions": [POOL]}, {"matchExpressions": [ARCH]}),
            affinity({"matchExpressions": [POOL, NOT_BAD]}, {"matchExpressions": [ARCH, NOT_BAD]}),
        ),
        (
            affinity({"matchFields": [POOL]}),
            affinity({"matchFields": [POOL], "matchExpressions": [NOT_BAD]}),
        ),
    ],
)
def test_an_exclusion_is_in_each_term_and_its_removal_restores_the_affinity(
    before: Json | None, after: Json
) -> None:
    assert change_affinity(before, None, BAD) == after
    assert excludes(after, BAD)
    assert not excludes(before, BAD)
    assert change_affinity(after, BAD, None) == before


def test_a_new_exclusion_replaces_the_old_one() -> None:
    other = Exclusion("rack", ("r1",))
    moved = change_affinity(change_affinity(None, None, BAD), BAD, other)
    assert moved == affinity({"matchExpressions": [other.requirement]})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": 1}', '{"key": "a", "values": []}', "1"])
def test_an_annotation_of_others_is_no_exclusion(text: str) -> None:
    assert read_exclusion(text) is None


def test_the_annotation_is_read_as_written() -> None:
    assert read_exclusion(write_exclusion(BAD)) == BAD


def desired(exclusion: Exclusion | None = BAD) -> DesiredAction:
    return DesiredAction(
        Verb.RELOCATE,
        ClusterLevers(),
        NOW,
        by="ada",
        reason="ecc",
        action="a-1",
        exclusion=exclusion,
    )


def steps_of(decision: Decision | PlanRefusal) -> tuple[Step, ...]:
    assert isinstance(decision, Decision)
    return decision.steps()


def test_a_child_job_is_excluded_before_its_hold_goes() -> None:
    jobset = a_jobset("run", a_role("w", jobs=2, pods=2))
    job = replace(
        child_jobs(jobset)[0], template_affinity=json.dumps(affinity({"matchExpressions": [POOL]}))
    )
    gang = a_gang(jobset, [job])
    steps = steps_of(HoldExclusion().decide(gang, job, desired()))
    assert [step.kind for step in steps] == [
        "create-hold",
        "prove-hold",
        "patch",
        "wait-stopped",
        "exclude",
        "delete-hold",
        "prove-release",
        "restart",
    ]
    operations = json.loads(steps[4].patch)
    place = "/spec/template/spec/affinity"
    assert operations[:4] == [
        {"op": "test", "path": "/metadata/uid", "value": job.meta.ref.uid},
        {"op": "test", "path": "/spec/suspend", "value": True},
        {"op": "test", "path": place, "value": affinity({"matchExpressions": [POOL]})},
        {"op": "add", "path": place, "value": affinity({"matchExpressions": [POOL, NOT_BAD]})},
    ]
    assert not any("generation" in operation["path"] for operation in operations)
    assert json.loads(steps[7].patch)[:2] == [
        {"op": "test", "path": "/metadata/uid", "value": job.meta.ref.uid},
        {"op": "add", "path": "/spec/suspend", "value": False},
    ]


def test_one_patch_excludes_and_resumes_a_job_of_its_own() -> None:
    job = a_job("alone")
    steps = steps_of(JobExclusion().decide(a_gang(job), job, desired()))
    assert [step.kind for step in steps] == ["patch", "wait-stopped", "exclude"]
    operations = json.loads(steps[2].patch)
    assert operations[-1] == {"op": "add", "path": "/spec/suspend", "value": False}


def test_the_removal_takes_the_affinity_and_the_annotation() -> None:
    job: Owner = replace(
        a_job("alone"),
        template_affinity=json.dumps(affinity({"matchExpressions": [NOT_BAD]})),
        exclusion=write_exclusion(BAD),
    )
    steps = steps_of(JobExclusion().decide(a_gang(job), job, desired(None)))
    removed = [op["path"] for op in json.loads(steps[2].patch) if op["op"] == "remove"]
    assert removed == [
        "/spec/template/spec/affinity",
        "/metadata/annotations/gangboard.dev~1exclusion",
    ]
