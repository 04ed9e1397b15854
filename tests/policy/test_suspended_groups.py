"""What a suspend does to Workloads and PodGroups, by kind and version, and what stays taken.

Observed rows: real-owners.md §4 (Job), real-owners-2.md §1.2, 2.2 and 3 (MPIJob, PyTorchJob, KAI), gang-owners.md §5.4
(Volcano). Rows by design: upstream-2026-11-b.md §1.5.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.group import Group, GroupClaim
from gangboard.domain.owner import Owner
from gangboard.facts.gang import Gang
from gangboard.policy.suspended_groups import GroupConsequences, consequences_for_owner
from tests.domain_objects import a_group, a_job, a_meta, a_workload, child_jobs
from tests.gangs import a_gang
from tests.policy.builders import CLAIM, NATIVE, READY, a_context, a_trio, make_plan, text

Minor = tuple[int, int]
RACE = "The scheduler can judge new pods by the deleted group of the same name (kubernetes#139914)."


def an_owner(group: str, kind: str, version: str = "v1", **fields: Any) -> Owner:
    return Owner(meta=a_meta(group, kind, "run", version=version), desired=2, **fields)


JOB = a_job("run")
JOBSET = an_owner("jobset.x-k8s.io", "JobSet", "v1alpha2")
TRAINJOB = an_owner("trainer.kubeflow.org", "TrainJob", "v1alpha1")
RAYCLUSTER = an_owner("ray.io", "RayCluster")
LATER_RAYCLUSTER = replace(RAYCLUSTER, detail={"KubeRay": "v1.8.0"})
MPIJOB = an_owner("kubeflow.org", "MPIJob", "v2beta1")
PYTORCHJOB = an_owner("kubeflow.org", "PyTorchJob")
VOLCANO_JOB = an_owner("batch.volcano.sh", "Job", "v1alpha1")
SPARK = an_owner("sparkoperator.k8s.io", "SparkApplication")


def gang_of(owner: Owner, minor: Minor | None, *groups: Group, **fields: Any) -> Gang:
    workloads = tuple(group for group in groups if group.meta.ref.kind == "Workload")
    rest = tuple(group for group in groups if group not in workloads)
    return a_gang(owner=owner, groups=rest, workloads=workloads, kubernetes=minor, **fields)


def core_groups(owner: Owner, *claims: GroupClaim) -> tuple[Group, Group]:
    return a_workload("w", of=owner), a_group("g", quorum=2, of=owner, claims=claims)


def group_of_api(api: str, owner: Owner) -> Group:
    meta = a_meta(api, "PodGroup", "g", of=owner)
    return replace(a_group("g", quorum=2), meta=meta)


def whole(owner: Owner, minor: Minor | None, *groups: Group) -> GroupConsequences:
    return consequences_for_owner(gang_of(owner, minor, *groups), job_by_job=False)


UNKNOWN = ("It is not known whether its Workload and PodGroup stay.",)
BY_DESIGN = (
    "Its Workload stays (KEP-5547, not observed).",
    "Its PodGroup is deleted (KEP-5547, not observed).",
    "A resume creates a new one.",
)


@pytest.mark.parametrize(
    ("owner", "minor", "reactions"),
    [
        (JOB, (1, 36), ("Its Workload and PodGroup stay.",)),
        (JOB, (1, 37), ("Its Workload and PodGroup stay.",)),
        (JOB, (1, 38), BY_DESIGN),
        (JOB, (1, 39), BY_DESIGN),
        (JOB, (1, 35), UNKNOWN),
        (JOB, None, UNKNOWN),
        (
            JOBSET,
            (1, 37),
            (
                "Its Workload and PodGroup are deleted (jobset#1250, not observed).",
                "A resume creates new ones with the same names.",
            ),
        ),
        (TRAINJOB, (1, 37), ("Its Workload and PodGroup stay (trainer#3219, not observed).",)),
        (
            RAYCLUSTER,
            (1, 36),
            (
                "Its Workload and PodGroup are deleted (kuberay#4962, not observed).",
                "A resume creates new ones.",
            ),
        ),
        (LATER_RAYCLUSTER, (1, 36), UNKNOWN),
        (SPARK, (1, 37), UNKNOWN),
    ],
)
def test_core_groups_by_kind_and_version(
    owner: Owner, minor: Minor | None, reactions: tuple[str, ...]
) -> None:
    found = whole(owner, minor, *core_groups(owner))
    assert found.reactions == reactions
    assert found.warnings == ((RACE,) if owner is JOBSET else ())


DELETED = ("Its PodGroup is deleted.", "A resume creates a new one.")


@pytest.mark.parametrize(
    ("owner", "api", "reactions"),
    [
        (MPIJOB, "scheduling.x-k8s.io", DELETED),
        (MPIJOB, "scheduling.volcano.sh", DELETED),
        (PYTORCHJOB, "scheduling.volcano.sh", DELETED),
        (VOLCANO_JOB, "scheduling.volcano.sh", DELETED),
        # The scheduler's own controller creates these, whoever the owner is.
        (PYTORCHJOB, "scheduling.run.ai", ("Its PodGroup stays.",)),
        (JOBSET, "scheduling.run.ai", ("Its PodGroup stays.",)),
        (TRAINJOB, "scheduling.x-k8s.io", ("It is not known whether its PodGroup stays.",)),
        (RAYCLUSTER, "scheduling.volcano.sh", ("It is not known whether its PodGroup stays.",)),
    ],
)
def test_groups_of_other_schedulers(owner: Owner, api: str, reactions: tuple[str, ...]) -> None:
    assert whole(owner, (1, 37), group_of_api(api, owner)) == GroupConsequences(reactions)


CLAIMS = (GroupClaim("gpu", claim="g-gpu-x7"), GroupClaim("nic", template="nics"))


@pytest.mark.parametrize(
    ("minor", "reaction", "warning"),
    [
        (
            (1, 37),
            "Its Workload and PodGroup stay.",
            "Device claims stay taken while it is suspended: g-gpu-x7 and nics.",
        ),
        ((1, 38), "Device claims are released: g-gpu-x7 and nics.", ""),
        (
            None,
            UNKNOWN[0],
            "It is not known whether device claims stay taken: g-gpu-x7 and nics.",
        ),
    ],
)
def test_device_claims_of_a_group(minor: Minor | None, reaction: str, warning: str) -> None:
    found = whole(JOB, minor, *core_groups(JOB, *CLAIMS))
    assert reaction in found.reactions
    assert found.warnings == ((warning,) if warning else ())


def test_a_group_without_an_owner_stays_and_that_of_a_stranger_is_not_known() -> None:
    lone, foreign = a_group("lone"), a_group("foreign", of=a_job("other"))
    assert whole(JOB, (1, 37), lone).reactions == ("Its PodGroup stays.",)
    assert whole(JOB, (1, 37), foreign).reactions == (
        "It is not known whether its PodGroup stays.",
    )


def test_groups_of_its_jobs_follow_the_job_controller() -> None:
    trio = a_trio()
    groups = [a_group(f"g{index}", of=job) for index, job in enumerate(child_jobs(trio))]
    gang = a_context(trio, groups=tuple(groups), kubernetes=(1, 36))
    plan = make_plan(gang, "trio", "suspend")
    assert "Its 3 PodGroups stay." in plan.reactions
    assert "PodGroup" not in text(make_plan(gang, "trio", "resume"))
    # One Job: only its own group.
    assert "Its PodGroup stays." in make_plan(gang, "trio-w-1", "suspend").reactions


def test_groups_of_the_owner_stay_while_only_its_jobs_are_suspended() -> None:
    trio = a_trio(independent_claim=CLAIM)
    gang = a_context(trio, groups=(a_group("g", quorum=2, of=trio),), kubernetes=(1, 37))
    assert "Its PodGroup stays." in make_plan(gang, "trio", "suspend", NATIVE).reactions
    assert "PodGroup" not in text(make_plan(gang, "trio-w-1", "suspend", NATIVE))
    whole_gang = replace(gang, owner=replace(trio, independent_claim=""))
    assert RACE in make_plan(whole_gang, "trio", "suspend").warnings


def test_a_pause_is_no_suspend() -> None:
    trio = a_trio()
    groups = tuple(a_group(f"g{index}", of=job) for index, job in enumerate(child_jobs(trio)))
    levers = replace(READY, hold=READY.hold.MISSING, parallelism=True)
    plan = make_plan(
        a_context(trio, groups=groups, kubernetes=(1, 36)), "trio-w-1", "suspend", levers
    )
    assert plan.lever == "parallelism"
    assert "PodGroup" not in text(plan)


def test_a_gang_without_groups_has_no_sentence() -> None:
    assert whole(JOB, (1, 37)) == GroupConsequences()
