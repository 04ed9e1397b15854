"""Counts and memory of a gang's members."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.health import Health
from gangboard.domain.resources import decimal_text
from gangboard.domain.verdict import UnitMemory, Verdict
from gangboard.facts.cluster_view import Unobserved
from gangboard.facts.gang import Gang
from tests.domain_objects import (
    NOW,
    Made,
    a_group,
    a_job,
    a_jobset,
    a_pod,
    a_role,
    ago,
    child_jobs,
    pods_of,
    requests,
)
from tests.gangs import assemble


def gang(root: Made, *objects: Made, **fields: Any) -> Gang:
    return assemble(root, objects, **{"now": NOW, "gang_api_version": "v1beta1", **fields})  # type: ignore[arg-type]


# Numbers


@pytest.mark.parametrize(
    ("amounts", "count", "text"),
    [
        ("8", 1, "8"),
        ("0.5", 1, "0.5"),
        ("0.5", 4, "2"),
        ("0.1", 3, "0.3"),
        ("100", 10, "1000"),
        ("1E+3", 1, "1000"),
        ("1E-3", 1, "0.001"),
        ("0", 4, "0"),
        ("68719476736", 64, "4398046511104"),
    ],
)
def test_requests_are_exact_decimal_strings(amounts: str, count: int, text: str) -> None:
    shape = requests(cpu=amounts)
    verdict = assess(gang(a_job(pods=count, requests=shape)))
    assert verdict.requests == {"cpu": text}
    assert decimal_text(shape["cpu"] * count) == text


def test_requests_are_summed_over_all_parts() -> None:
    jobset = a_jobset(
        "run",
        a_role("driver", pods=1, requests=requests(cpu="2", memory="1024")),
        a_role("workers", jobs=2, pods=4, requests=requests(cpu="0.5", gpu="1")),
    )
    assert assess(gang(jobset)).requests == {"cpu": "6", "memory": "1024", "nvidia.com/gpu": "8"}


def test_restarts_of_a_jobset_are_those_that_count() -> None:
    jobset = a_jobset("run", restarts=5, counted_restarts=1, max_restarts=3)
    verdict = assess(gang(jobset))
    assert (verdict.restarts, verdict.max_restarts) == (1, 3)
    verdict = assess(gang(a_job(retries=2, max_retries=6)))
    assert (verdict.restarts, verdict.max_restarts) == (2, 6)


def test_the_priority_class_is_of_the_owner_or_of_all_pods() -> None:
    job = a_job()
    low, high = (a_pod(name, of=job, priority_class=name) for name in ("low", "high"))
    assert assess(gang(a_job(priority_class="urgent"), low)).priority == "urgent"
    assert assess(gang(job, low)).priority == "low"
    assert assess(gang(job, low, high)).priority == ""


def test_the_priority_without_a_class_is_the_number_of_all_pods() -> None:
    job = a_job()

    def priority_of(*numbers: int | None) -> str:
        pods = [a_pod(f"train-{i}", of=job, priority=of) for i, of in enumerate(numbers)]
        return assess(gang(job, *pods)).priority

    assert priority_of(1000, 1000) == "1000"
    assert priority_of(-5) == "-5"
    assert priority_of(0, 0) == "", "nobody gave it one"
    assert priority_of(None) == priority_of(5, 7) == priority_of() == ""
    named = a_pod("train-1", of=job, priority_class="low", priority=5)
    assert assess(gang(job, a_pod(of=job, priority=5), named)).priority == ""


def test_the_priority_number_is_the_highest_of_the_pods() -> None:
    job = a_job(priority_class="urgent")
    pods = [a_pod(f"train-{i}", of=job, priority=of) for i, of in enumerate((None, -7, -3))]
    assert assess(gang(job, *pods)).priority_value == -3
    assert assess(gang(job, a_pod(of=job))).priority_value == 0
    assert assess(gang(job)).priority_value is None, "no pod says what the class is worth"


# Memory


def memory_of(verdict: Verdict, name: str = "train") -> UnitMemory:
    return verdict.memory[name]


def test_a_count_that_stays_keeps_its_time() -> None:
    job = a_job()
    first = assess(gang(job, *pods_of(job, 1))).memory
    assert memory_of(assess(gang(job, *pods_of(job, 1)))) == UnitMemory(1, NOW)
    later = NOW + timedelta(seconds=20)
    same = assess(gang(job, *pods_of(job, 1), memory=first, now=later))
    assert memory_of(same).created_since == NOW
    extra = assess(gang(job, *pods_of(job, 2), memory=first, now=later))
    assert (memory_of(extra).created, memory_of(extra).created_since) == (2, later)


def test_the_last_time_at_quorum_is_remembered() -> None:
    job, later = a_job(pods=3), NOW + timedelta(seconds=60)
    group = a_group("train-5f", of=job, quorum=2)
    two = pods_of(job, 2, on="n0", group=group)
    memory = assess(gang(job, group, *two)).memory
    assert memory["train"].whole_at == NOW
    assert memory["train"].reached_size_at is None
    item = assess(gang(job, group, two[0], memory=memory, now=later)).memory
    assert item["train"].whole_at == NOW
    three = pods_of(job, 3, on="n0", group=group)
    full = assess(gang(job, group, *three, memory=item, now=later)).memory
    assert (full["train"].whole_at, full["train"].reached_size_at) == (later, later)


def test_a_gang_without_a_quorum_is_whole_at_its_size() -> None:
    job = a_job(pods=2)
    assert memory_of(assess(gang(job, *pods_of(job, 1, on="n0")))).whole_at is None
    assert memory_of(assess(gang(job, *pods_of(job, 2, on="n0")))).whole_at == NOW


def test_a_suspended_job_without_desired_pods_was_not_whole() -> None:
    jobset = a_jobset("run")
    suspended = child_jobs(jobset, suspended=True)
    assert assess(gang(jobset, *suspended)).memory["run-workers-0"].whole_at is None


def test_memory_is_unchanged_while_objects_are_unobserved() -> None:
    job = a_job()
    before = {"train": UnitMemory(2, ago(50), ago(50), ago(50))}
    unobserved = (Unobserved("pods", "forbidden", "pods is forbidden."),)
    verdict = assess(gang(job, memory=before, unobserved=unobserved))
    assert verdict.memory == before
    assert verdict.finding.code == "not-observed"


def test_a_unit_that_went_is_remembered_for_a_day() -> None:
    jobset = a_jobset("run")
    before = {
        "run-workers-7": UnitMemory(2, ago(3600), ago(3600)),
        "run-workers-8": UnitMemory(2, ago(90_000), ago(90_000)),
    }
    assert set(assess(gang(jobset, *child_jobs(jobset), memory=before)).memory) == {
        "run-workers-0",
        "run-workers-7",
    }


def test_the_running_members_of_a_whole_gang_are_remembered() -> None:
    """A queue of ten with two at a time: the requested number grows with each pod that is done."""
    defaults: dict[str, Any] = {"completions": 10, "parallelism": 2, "created_at": ago(9000)}
    job = a_job(pods=2, **defaults)
    two = pods_of(job, 2, on="n0")
    memory = assess(gang(job, *two)).memory
    assert memory["train"].whole_count == 2
    later = a_job(pods=3, succeeded_pods=1, **defaults)
    verdict = assess(gang(later, two[0], memory=memory))
    assert verdict.finding.code == "pods-not-created"
    assert verdict.finding.health is Health.STARTING
    assert verdict.memory["train"].whole_count == 2
    next_pod = a_pod("train-2", of=later, on="n0")
    assert assess(gang(later, two[0], next_pod, memory=memory)).memory["train"].whole_count == 3


def test_late_observations_do_not_belong_to_the_next_attempt() -> None:
    """The pods of the first attempt still ran in an assessment that already contained the Job of the second."""
    before = a_jobset("run")
    (old,) = child_jobs(before, created_at=ago(3000))
    memory = assess(gang(before, old, *pods_of(old, 2, on="n0"))).memory
    assert memory["run-workers-0"].whole_at == NOW
    restarted = a_jobset("run", restarts=1, max_restarts=3, restarting=True)
    (new,) = child_jobs(restarted, created_at=ago(2), attempt="1")
    starting = [a_pod(f"p{n}", of=new, on="n0", ready=False) for n in range(2)]
    later = NOW + timedelta(seconds=9)
    finding = assess(gang(restarted, new, *starting, memory=memory, now=later)).finding
    assert (finding.code, finding.message) == (
        "restarting",
        "Restart 1 of 3: 0 of 2 pods are ready.",
    )


def test_the_last_time_a_member_was_gated_is_remembered() -> None:
    job = a_job(pods=1)
    gated = assess(gang(job, *pods_of(job, 1, gates=("example.com/gate",)))).memory
    assert gated["train"].gated_at == NOW
    later = NOW + timedelta(seconds=60)
    free = assess(gang(job, *pods_of(job, 1), memory=gated, now=later)).memory
    assert free["train"].gated_at == NOW
