"""`lost-members`: captured on 1.37.0 as `job-member-lost` (the group stays True)."""

from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.group import Group
from gangboard.domain.health import Health
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import UnitMemory
from gangboard.facts.unit import Unit
from gangboard.plugins.reasons import unit_rules
from tests.domain_objects import (
    Made,
    a_condition,
    a_group,
    a_job,
    a_jobset,
    a_pod,
    a_role,
    ago,
    an_event,
    child_jobs,
    placed,
    pods_of,
)
from tests.placement.making import CORDON, node
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of, whole_memory
from tests.rules.waiting_gangs import capacity_of, pod_requests, with_placement
from tests.sentence_values import values_in

CORDONED = "0/4 nodes are available: 1 node(s) were unschedulable, 3 Insufficient nvidia.com/gpu."


def lost(*objects: Made, quorum: int = 4, job: Any = None, **fields: Any) -> Unit:
    created = job or a_job("train", pods=4, group_name="ring", retries=1)
    group = a_group("ring", quorum=quorum, placed=placed())
    return unit_of(created, group, *pods_of(created, 3, on="n0"), *objects, **fields)


def replacement(**fields: Any) -> Made:
    return a_pod("train-3-new", group="ring", created_at=ago(20), **fields)


def test_the_replacement_does_not_fit() -> None:
    unit = lost(replacement(text=CORDONED))
    finding = require_finding("lost-members", unit)
    assert finding.health is Health.DEGRADED
    assert finding.message == (
        "3 of 4 members run. 1 pod does not fit on any node: 3 Insufficient nvidia.com/gpu, "
        "1 node(s) were unschedulable."
    )
    assert first_code(unit) == "lost-members"


def test_the_replacement_is_refused_by_a_quota() -> None:
    job = a_job("train", pods=4, group_name="ring")
    event = an_event(job, "FailedCreate", texts.QUOTA)
    unit = lost(event, job=job, memory=whole_memory())
    assert require_finding("lost-members", unit).message == (
        "3 of 4 members run. ResourceQuota “q” refuses the rest: pods 2 of 2 used."
    )
    assert first_code(unit) == "lost-members"


def cells(*pods: Made, **fields: Any) -> Unit:
    """The second of two Jobs of one pod each, of a JobSet without groups."""
    jobset = a_jobset("run", a_role("cells", jobs=2, pods=1))
    first, second = child_jobs(jobset)
    unit = {"jobs": (second,), "desired": 1, "name": second.meta.ref.name, "noun": "Job", **fields}
    return unit_of(jobset, first, second, *pods, **unit)


def test_all_pods_of_a_job_are_lost_while_another_job_runs() -> None:
    """Without groups the gang is what runs: it is below its size, and a member still runs."""
    jobset = a_jobset("run", a_role("cells", jobs=2, pods=1))
    first, second = child_jobs(jobset)
    existing = a_pod("run-cells-0-0", of=first, on="n0")
    new = a_pod("run-cells-1-0", of=second, text=CORDONED, created_at=ago(20))
    unit = cells(existing, new, memory=whole_memory(), pods=(new,))
    assert first_code(unit) == "lost-members"
    assert require_finding("lost-members", unit).message.startswith(
        "Job run-cells-1: 0 of 1 members run, 1 of 2 of JobSet run. 1 pod does not fit on any node: "
    )
    # If no member runs, the stage the gang is back in decides.
    assert first_code(cells(new, memory=whole_memory(), pods=(new,))) == "unschedulable"
    # A gang that never ran has lost no members.
    assert first_code(cells(existing, new, pods=(new,))) == "partly-placed"


def test_running_members_of_a_gang_with_surplus_pods() -> None:
    """The JobSet requests one pod now, but two exist, so the sentence has no total."""
    jobset = a_jobset("run", a_role("cells", jobs=2, pods=1), desired=1)
    first, second = child_jobs(jobset)
    existing = a_pod("run-cells-0-0", of=first, on="n0")
    new = a_pod("run-cells-1-0", of=second, text=CORDONED, created_at=ago(20))
    unit = unit_of(
        jobset, first, second, existing, new, memory=whole_memory(),
        jobs=(second,), pods=(new,), desired=1, name="run-cells-1", noun="Job",
    )  # fmt: skip
    assert require_finding("lost-members", unit).message.startswith(
        "0 of 1 members run. 1 pod does not fit on any node: "
    )


def test_preempted_members_are_counted() -> None:
    target = a_condition("DisruptionTarget", reason="PreemptionByScheduler", since=ago(5))
    leaving = a_pod("train-3", group="ring", on="n1", deleting_since=ago(5), disruption=target)
    finding = require_finding("lost-members", lost(leaving, memory=whole_memory()))
    assert finding.message == (
        "3 of 4 members run. 1 was preempted by the scheduler at 2026-11-21 11:59 UTC. 1 pod is "
        "still being deleted."
    )


def test_the_size_counts_without_a_group() -> None:
    job = a_job("train", pods=4)
    pods = pods_of(job, 3, on="n0")
    unit = unit_of(job, *pods, a_pod("new", of=job, text=CORDONED), memory=whole_memory())
    assert first_code(unit) == "lost-members"
    assert first_code(unit_of(job, *pods, a_pod("new", of=job, text=CORDONED))) == "partly-placed"


def test_a_quorum_below_the_size_is_mentioned() -> None:
    job = a_job("train", pods=6, group_name="ring")
    unit = lost(replacement(text=CORDONED), job=job, memory=whole_memory())
    assert require_finding("lost-members", unit).message.startswith(
        "3 of 6 members run (quorum 4). "
    )


def test_a_gang_at_its_quorum_is_below_its_size() -> None:
    unit = lost(replacement(text=CORDONED), quorum=3, memory=whole_memory())
    assert evaluate("lost-members", unit) is None
    assert first_code(unit) == "below-size"


def test_the_stage_decides_when_no_member_runs() -> None:
    job = a_job("train", group_name="ring")
    group = a_group("ring", quorum=2, placed=placed())
    pods = [a_pod(f"train-{n}", of=job, group="ring", text=CORDONED) for n in (0, 1)]
    unit = unit_of(job, group, *pods, memory=whole_memory())
    assert evaluate("lost-members", unit) is None
    assert first_code(unit) == "unschedulable"


def test_a_gang_that_never_ran_has_lost_no_members() -> None:
    job = a_job("train", pods=4, group_name="ring")
    pods = (*pods_of(job, 3, on="n0"), replacement(text=CORDONED))
    assert first_code(unit_of(job, a_group("ring", quorum=4), *pods)) == "unschedulable"


def test_a_member_that_became_unready_is_lost() -> None:
    unit = lost(a_pod("train-3", group="ring", on="n1", ready=False), memory=whole_memory())
    assert (
        require_finding("lost-members", unit).message == "3 of 4 members run. 1 pod is not ready."
    )


def test_an_unimpeded_retry_is_a_retry() -> None:
    crashed = a_pod("train-3", group="ring", on="n1", phase="Failed", ready=False)
    unit = lost(crashed, replacement(on="n1", ready=False), memory=whole_memory(70))
    assert evaluate("lost-members", unit) is None
    assert first_code(unit) == "restarting"


def test_a_restarted_jobset_starts_over() -> None:
    jobset = a_jobset("run", restarts=1, max_restarts=3, restarting=True)
    (job,) = child_jobs(jobset, created_at=ago(10))
    pods = (a_pod("a", of=job, on="n0"), a_pod("b", of=job, on="n1", ready=False))
    unit = unit_of(jobset, job, *pods, memory=whole_memory(15))
    assert first_code(unit) == "restarting"


def test_the_reason_is_in_the_sentence_and_the_second_finding() -> None:
    """The node of the lost member is cordoned, the others are full."""
    job = a_job("train", pods=4)
    cordoned = node("n3", unschedulable=True, taints=(CORDON,))
    room = capacity_of(*(node(f"n{index}", used=4) for index in range(3)), cordoned)
    running = [a_pod(f"train-{n}", of=job, on=f"n{n}", requests=pod_requests(4)) for n in range(3)]
    waiting = a_pod(
        "train-3-new", of=job, text=CORDONED, requests=pod_requests(4), created_at=ago(20)
    )
    unit = with_placement(
        unit_of(job, *running, waiting, facts={"room": room}, memory=whole_memory())
    )
    assert require_finding("lost-members", unit).message == (
        "3 of 4 members run. 1 pod needs 4 GPUs, and none is free on the 3 usable "
        "nodes; 1 more node is cordoned."
    )
    # Without a quorum, too, the reason is what is told beside the loss.
    behind = [rule.code for rule in unit_rules() if not rule.overrides and rule.find(unit)]
    assert behind[0] == "insufficient-resources"


def test_creation_of_the_replacement_is_refused() -> None:
    """Two of two are used, and one pod lacks."""
    job = a_job("train", pods=3, group_name="ring")
    event = an_event(job, "FailedCreate", texts.QUOTA, last_seen=ago(5))
    group = a_group("ring", quorum=3, placed=placed())
    unit = unit_of(job, group, event, *pods_of(job, 2, on="n0"), memory=whole_memory())
    assert values_in(*require_finding("lost-members", unit).advice_texts) == "1"


def a_queue(*, done: int, **fields: Any) -> Any:
    """A Job of ten pods with two at a time, of which so many have succeeded."""
    defaults = {"pods": done + 2, "completions": 10, "parallelism": 2, "indexed": False}
    return a_job("train", **{**defaults, "succeeded_pods": done, "created_at": ago(9000), **fields})


def was_whole(count: int, *, created: int = 2) -> UnitMemory:
    """The memory of a unit of which so many ran, or were done, when it was whole last."""
    return UnitMemory(created=created, created_since=ago(3000), whole_at=ago(5), whole_count=count)


def test_a_work_queue_continues() -> None:
    """One of two is done: three are requested now, and no member was lost."""
    job = a_queue(done=1)
    runs, done = a_pod("train-1", of=job, on="n0"), a_pod("train-0", of=job, phase="Succeeded")
    creation_failures = unit_of(job, runs, done, memory=was_whole(2))
    assert evaluate("lost-members", creation_failures) is None
    assert first_code(creation_failures) == "pods-not-created"
    assert require_finding("pods-not-created", creation_failures).health is Health.STARTING
    new = a_pod("train-2", of=job, on="n1", ready=False, created_at=ago(2))
    objects = unit_of(job, runs, done, new, memory=was_whole(2))
    assert first_code(objects) == "starting"
    assert require_finding("starting", objects).message == (
        "2 of 3 pods are placed; 1 has succeeded, 1 is not ready yet."
    )


def test_a_pod_of_the_queue_that_went_away_unfinished_is_a_loss() -> None:
    job = a_queue(done=1)
    runs, done = a_pod("train-1", of=job, on="n0"), a_pod("train-0", of=job, phase="Succeeded")
    unit = unit_of(job, runs, done, memory=was_whole(3))
    assert require_finding("lost-members", unit).message == (
        "1 of 3 members runs, 1 has succeeded. 1 pod has not been created yet."
    )


def test_a_scaled_up_job_has_lost_no_members() -> None:
    job = a_job("train", pods=4, created_at=ago(9000))
    new = [a_pod(f"new-{n}", of=job, on="n1", ready=False, created_at=ago(2)) for n in range(2)]
    unit = unit_of(job, *pods_of(job, 2, on="n0"), *new, memory=was_whole(2))
    assert first_code(unit) == "starting"
    less = unit_of(job, *pods_of(job, 1, on="n0"), *new, memory=was_whole(2))
    assert first_code(less) == "lost-members"


def test_memory_of_an_older_release_is_compared_with_the_demand() -> None:
    job = a_job("train", pods=4)
    unit = unit_of(job, *pods_of(job, 3, on="n0"), memory=whole_memory())
    assert first_code(unit) == "lost-members"


def indexed(*pods: Pod, group: Group | None = None, **fields: Any) -> Unit:
    """An Indexed Job of four with backoffLimitPerIndex 0, of which index 3 failed."""
    defaults = {"failed_indexes": "3", "failed_index_count": 1, "retries": 1, "max_retries": None}
    job = a_job("train", **{"pods": 4, **defaults, **fields})
    groups = [group] if group is not None else []
    return unit_of(job, *groups, *pods, facts={"memory_since": ago(3600)})


DEAD = a_pod("train-3", index=3, on="n0", phase="Failed", ready=None, created_at=ago(3600))
ALIVE = tuple(a_pod(f"train-{n}", index=n, on="n0", created_at=ago(3600)) for n in range(3))
GIVEN_UP = (
    "3 of 4 members run. Index 3 failed and is not retried; the Job fails when the others end."
)


@pytest.mark.parametrize("dead", [(DEAD,), ()], ids=["failed pod", "collected"])
def test_an_index_that_failed_for_good(dead: tuple[Pod, ...]) -> None:
    """The sentence mentions neither a retry nor a pod that the Job controller will create."""
    unit = indexed(*ALIVE, *dead)
    finding = require_finding("lost-members", unit)
    assert (finding.health, finding.message, finding.advice_texts) == (
        Health.DEGRADED,
        GIVEN_UP,
        (),
    )
    assert ("status.failedIndexes", "3") in [(item.label, item.value) for item in finding.evidence]
    assert first_code(unit) == "lost-members"
    assert evaluate("pods-not-created", unit) is None
    assert evaluate("running", unit) is None
    assert evaluate("restarting", unit) is None


def test_a_success_policy_may_do_without_it() -> None:
    assert (
        values_in(require_finding("lost-members", indexed(*ALIVE, has_success_policy=True)).message)
        == "3 4 3"
    )


def test_several_indexes_that_failed_for_good() -> None:
    unit = indexed(*ALIVE[:2], failed_indexes="2,3", failed_index_count=2, retries=2)
    assert require_finding("lost-members", unit).message == (
        "2 of 4 members run. Indexes 2,3 failed and are not retried; the Job fails when the "
        "others end."
    )


def test_the_others_are_done_or_end() -> None:
    unit = indexed(succeeded_pods=3)
    assert require_finding("lost-members", unit).message == (
        "0 of 4 members run, 3 have succeeded. Index 3 failed and is not retried; the Job fails "
        "when the others end."
    )


def test_a_gang_at_its_quorum_without_that_index() -> None:
    members = tuple(replace(pod, group_name="ring") for pod in ALIVE)
    unit = indexed(*members, group=a_group("ring", quorum=3, placed=placed()))
    assert first_code(unit) == "below-size"
    assert require_finding("below-size", unit).message == GIVEN_UP.replace(
        " run.", " run (quorum 3)."
    )


def test_another_index_is_retried() -> None:
    """Index 2 failed once and may fail again: its pod comes back."""
    back = a_pod("train-2-b", index=2, on="n0", ready=False, created_at=ago(5))
    unit = indexed(*ALIVE[:2], back, retries=2)
    assert first_code(unit) == "restarting"


def test_a_job_continues_with_other_indexes() -> None:
    """Two of ten at a time: the next index takes the place of the failed one."""
    unit = indexed(*ALIVE[:2], pods=2, completions=10)
    assert first_code(unit) == "running"


def test_members_wait_for_different_causes() -> None:
    """Pod by pod: one has a gate, one was refused, one was not tried yet."""
    job = a_job("train", pods=4)
    condition = a_condition("PodScheduled", "False", reason="SchedulingGated", message=texts.GATED)
    gated = a_pod("train-1", of=job, gates=("g/a",), scheduled=condition)
    refused, untried = a_pod("train-2", of=job, text=texts.GPU_SHORT), a_pod("train-3", of=job)
    unit = unit_of(job, *pods_of(job, 1, on="n0"), gated, refused, untried, memory=whole_memory())
    assert require_finding("lost-members", unit).message == (
        "1 of 4 members runs. 1 pod waits for scheduling gate g/a. 1 pod does not fit on any "
        "node: 4 Insufficient nvidia.com/gpu. 1 pod waits for the scheduler."
    )


def test_members_of_a_gang_are_refused_together() -> None:
    waiting = [
        a_pod(f"new-{n}", group="ring", created_at=ago(20), text=text)
        for n, text in enumerate((texts.GPU_SHORT, ""))
    ]
    job = a_job("train", pods=4, group_name="ring")
    group = a_group("ring", quorum=4, placed=placed())
    unit = unit_of(job, group, *pods_of(job, 2, on="n0"), *waiting, memory=whole_memory())
    assert " 2 pods do not fit on any node: " in require_finding("lost-members", unit).message
