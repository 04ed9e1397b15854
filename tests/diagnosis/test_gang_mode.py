"""Which pods of a JobSet are in one gang, compared with its request, and the domains of its groups."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.diagnosis.gang_mode import gang_mode_of, group_domains
from gangboard.diagnosis.gang_units import units_of
from gangboard.domain.owner import GangForm, GangRequest, Owner
from gangboard.domain.verdict import GangMode
from tests.domain_objects import (
    NOW,
    Made,
    a_group,
    a_job,
    a_jobset,
    a_node,
    a_role,
    child_jobs,
    pods_of,
)
from tests.gangs import assemble

ASKED = "All its pods are one gang (spec.scheduling)"


def asking(form: GangForm | None) -> dict[str, Any]:
    return {} if form is None else {"gang_request": GangRequest("gang", form=form, words=ASKED)}


def training(form: GangForm | None = None, **fields: Any) -> Owner:
    """One driver of one pod, two workers of three."""
    driver, workers = a_role("driver", pods=1), a_role("workers", jobs=2, pods=3)
    return a_jobset("run", driver, workers, **asking(form), **fields)


def grouped(jobset: Owner, *groups: Any, **fields: Any) -> GangMode | None:
    """Return the mode of a JobSet whose Jobs are in these groups, in their order; None for in none."""
    jobs = child_jobs(jobset)
    pods = [
        pod
        for job, group in zip(jobs, groups, strict=True)
        for pod in pods_of(job, job.desired, **({"group": group} if group else {}))
    ]
    existing = {group.meta.ref.uid: group for group in groups if group}
    return mode_of(jobset, *jobs, *pods, *existing.values(), **fields)


def mode_of(root: Made, *objects: Made, **fields: Any) -> GangMode | None:
    facts = assemble(root, objects, now=NOW, **{"gang_api_version": "v1beta1", **fields})  # type: ignore[arg-type]
    return gang_mode_of(facts, units_of(facts))


def mode_summary(mode: GangMode | None) -> tuple[str, str, bool]:
    assert mode is not None
    return mode.mode, mode.reason, mode.differs


def test_all_jobs_share_a_group() -> None:
    jobset = training(GangForm.WHOLE)
    ring = a_group("ring", quorum=7, of=jobset)
    mode = grouped(jobset, ring, ring, ring)
    assert mode_summary(mode) == ("whole", "All its Jobs are one gang of 7 pods.", False)
    assert mode is not None
    assert (mode.label, mode.asked) == ("One gang", ASKED)


def test_all_jobs_share_a_group_with_a_smaller_quorum() -> None:
    jobset = training(GangForm.WHOLE)
    ring = a_group("ring", quorum=5, of=jobset)
    reason = "All its Jobs are one gang of 7 pods, of which 5 are enough."
    assert mode_summary(grouped(jobset, ring, ring, ring))[1] == reason


def test_a_group_of_each_replicated_job() -> None:
    jobset = training(GangForm.PER_ROLE)
    first, other = a_group("one", quorum=1, of=jobset), a_group("other", quorum=6, of=jobset)
    mode = grouped(jobset, first, other, other)
    reason = "Each ReplicatedJob is a gang of its own: driver (1 pod) and workers (6 pods)."
    assert mode_summary(mode) == ("per-role", reason, False)
    assert mode is not None
    assert mode.label == "A gang per ReplicatedJob"


def test_each_job_has_created_its_own_group() -> None:
    jobset = training()
    objects = [
        a_group(f"g-{job.meta.ref.name}", quorum=job.desired, of=job) for job in child_jobs(jobset)
    ]
    assert mode_summary(grouped(jobset, *objects)) == (
        "per-job",
        "Each of its 3 Jobs is a gang of its own.",
        False,
    )


def test_groups_created_by_jobs_are_per_job_for_roles_of_one_job() -> None:
    jobset = a_jobset("run", a_role("a", pods=2), a_role("b", pods=2))
    of_jobs = [a_group(f"g-{job.meta.ref.name}", quorum=2, of=job) for job in child_jobs(jobset)]
    of_roles = [
        a_group(f"g-{job.meta.ref.name}", quorum=2, of=jobset) for job in child_jobs(jobset)
    ]
    assert mode_summary(grouped(jobset, *of_jobs))[:2] == (
        "per-job",
        "Each of its 2 Jobs is a gang of its own (2 pods).",
    )
    assert mode_summary(grouped(jobset, *of_roles))[0] == "per-role"


def test_a_single_gang_was_requested_and_each_job_has_its_own() -> None:
    jobset = training(GangForm.WHOLE)
    objects = [
        a_group(f"g-{job.meta.ref.name}", quorum=job.desired, of=job) for job in child_jobs(jobset)
    ]
    assert mode_summary(grouped(jobset, *objects))[::2] == ("per-job", True)


def test_some_jobs_are_in_a_gang_and_the_rest_is_scheduled_pod_by_pod() -> None:
    jobset = training(GangForm.CUSTOM)
    workers = a_group("workers", quorum=6, of=jobset)
    assert mode_summary(grouped(jobset, None, workers, workers)) == (
        "custom",
        "1 gang: workers (6 pods); driver pod by pod.",
        False,
    )


def test_a_group_that_spans_some_replicated_jobs() -> None:
    roles = a_role("init", pods=1), a_role("leader", pods=1), a_role("workers", jobs=2, pods=2)
    jobset = a_jobset("run", *roles)
    alone, together = a_group("a", quorum=1, of=jobset), a_group("b", quorum=5, of=jobset)
    assert mode_summary(grouped(jobset, alone, together, together, together))[:2] == (
        "custom",
        "2 gangs: init (1 pod); leader and workers (5 pods).",
    )


def test_no_group_at_all() -> None:
    assert mode_summary(grouped(training(), None, None, None)) == (
        "pod-by-pod",
        "Its pods are scheduled one by one.",
        False,
    )


def test_a_requested_gang_has_no_group() -> None:
    assert mode_summary(grouped(training(GangForm.WHOLE), None, None, None))[::2] == (
        "pod-by-pod",
        True,
    )


def test_basic_groups_are_no_gang() -> None:
    jobset = training()
    loose = a_group("loose", of=jobset)
    assert mode_summary(grouped(jobset, loose, loose, loose))[:2] == (
        "pod-by-pod",
        "Its pods are scheduled one by one in groups without a quorum.",
    )


def test_unreadable_groups_have_no_mode() -> None:
    mode = grouped(training(GangForm.WHOLE), None, None, None, groups_unobserved=True)
    assert mode_summary(mode)[::2] == ("unknown", False)


def test_a_missing_group_has_no_mode() -> None:
    jobset = training()
    jobs = child_jobs(jobset)
    pods = [pod for job in jobs for pod in pods_of(job, job.desired, group="gone")]
    assert mode_summary(mode_of(jobset, *jobs, *pods)) == (
        "unknown",
        "Its pods name group gone, which does not exist.",
        False,
    )


def test_a_suspended_jobset_has_neither_gang_nor_pods() -> None:
    jobset = training(GangForm.WHOLE, suspended=True)
    assert mode_summary(mode_of(jobset, *child_jobs(jobset, suspended=True))) == (
        "unknown",
        "It has no gang and no pods now.",
        False,
    )


@pytest.mark.parametrize("root", [a_job("train", pods=2)])
def test_owners_without_jobs_have_no_mode(root: Owner) -> None:
    assert mode_of(root, *pods_of(root, 2)) is None


def test_the_domain_of_a_group_is_where_its_pods_are() -> None:
    jobset = training()
    jobs = child_jobs(jobset)
    ring = a_group("ring", quorum=7, of=jobset, topology_keys=("rack", "zone"))
    nodes = {
        "n0": a_node("n0", labels={"rack": "r1", "zone": "z1"}),
        "n1": a_node("n1", labels={"rack": "r2", "zone": "z1"}),
    }
    pods = [*pods_of(jobs[1], 3, group=ring, on="n0"), *pods_of(jobs[2], 3, group=ring, on="n1")]
    facts = assemble(jobset, (*jobs, *pods, ring), now=NOW, nodes=nodes)
    assert group_domains(facts) == {"uid-ring": {"rack": "r1 and r2", "zone": "z1"}}


def test_a_group_without_a_pod_on_a_node_has_no_domain_yet() -> None:
    jobset = training()
    jobs = child_jobs(jobset)
    ring = a_group("ring", quorum=7, of=jobset, topology_keys=("rack",))
    facts = assemble(jobset, (*jobs, *pods_of(jobs[1], 3, group=ring), ring), now=NOW)
    assert group_domains(facts) == {}
