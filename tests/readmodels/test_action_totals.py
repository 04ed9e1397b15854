"""How many pods end with a suspend, and how many accelerators become free."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangboard.domain.action import ActionTarget
from gangboard.domain.health import Health
from gangboard.domain.objects import Controller, ObjectRef
from gangboard.domain.verdict import MemberState
from gangboard.pages.confirm.queries import read_totals
from gangboard.pages.confirm.rows import ActionTotals
from gangboard.store.gangs import pack_detail, unpack_detail
from gangboard.store.models import Gang
from tests.domain_objects import a_job, requests
from tests.factories import make_cluster, store_object
from tests.stored_jobsets import JOBS, make_jobset

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("totals", "sentence"),
    [
        (ActionTotals(2, 16.0), "2 pods end; 16 accelerators become free."),
        (ActionTotals(1, 1.0), "1 pod ends; 1 accelerator becomes free."),
        (ActionTotals(200, 1600.0), "200 pods end; 1,600 accelerators become free."),
        (ActionTotals(4, 0.0), "4 pods end; no accelerator becomes free."),
        (ActionTotals(4, None), "4 pods end; the number of freed accelerators is unknown."),
    ],
)
def test_totals_are_a_sentence(totals: ActionTotals, sentence: str) -> None:
    assert totals.sentence == sentence


def a_pod(job: str, node: str, state: Health = Health.RUNNING) -> MemberState:
    ref = ObjectRef("", "Pod", "research", f"{job}-{node}", f"pod-{job}-{node}")
    return MemberState(ref, job, node, state, "ready")


@pytest.fixture
def gang() -> Gang:
    """Jobs 0 and 1 with 8 GPUs a pod; of 1 one pod waits and one has succeeded. Job 2 asks for cpu only."""
    cluster = make_cluster()
    gang = make_jobset(cluster)
    for index, requested in enumerate(("8", "8", "")):
        job = a_job(
            f"llama-workers-{index}",
            uid=f"{gang.uid}-job-{index}",
            namespace=gang.namespace,
            of=Controller(gang.api_group, gang.kind, gang.name, gang.uid),
            requests=requests(cpu="4", **({"nvidia.com/gpu": requested} if requested else {})),
        )
        gang.cluster.watchedobject_set.filter(uid=job.meta.ref.uid).delete()
        store_object(cluster, JOBS, job)
    pods = (
        a_pod("llama-workers-0", "a"),
        a_pod("llama-workers-0", "b"),
        a_pod("llama-workers-1", "c"),
        a_pod("llama-workers-1", "", Health.WAITING),
        a_pod("llama-workers-1", "d", Health.SUCCEEDED),
        a_pod("llama-workers-2", "e"),
    )
    gang.detail = pack_detail(replace(unpack_detail(bytes(gang.detail)), members=pods))
    gang.save()
    return gang


def target(gang: Gang, uid: str, namespace: str = "research") -> ActionTarget:
    return ActionTarget(gang.cluster.name, "batch", "Job", namespace, "any", uid)


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        ((0,), ActionTotals(2, 16.0)),
        ((1,), ActionTotals(2, 8.0)),
        ((2,), ActionTotals(1, 0.0)),
        ((0, 1), ActionTotals(4, 24.0)),
    ],
)
def test_totals_add_up_the_jobs_of_a_gang(
    gang: Gang, jobs: tuple[int, ...], expected: ActionTotals
) -> None:
    targets = [target(gang, f"{gang.uid}-job-{index}") for index in jobs]
    assert read_totals(targets) == expected


def test_the_owner_includes_its_jobs_and_counts_once(gang: Gang) -> None:
    owner = target(gang, gang.uid)
    assert read_totals([owner]) == ActionTotals(5, 24.0)
    assert read_totals([owner, target(gang, f"{gang.uid}-job-0")]) == ActionTotals(5, 24.0)


def test_an_object_outside_the_gang_has_no_totals(gang: Gang) -> None:
    assert read_totals([target(gang, "nobody")]) is None
    assert read_totals([target(gang, gang.uid, "elsewhere")]) is None


def test_unknown_accelerators_are_not_zero(gang: Gang) -> None:
    gang.cluster.watchedobject_set.filter(uid=f"{gang.uid}-job-0").delete()
    assert read_totals([target(gang, gang.uid)]) == ActionTotals(5, None)
    assert read_totals([target(gang, f"{gang.uid}-job-1")]) == ActionTotals(2, 8.0)
