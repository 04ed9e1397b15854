"""`partly-placed`: captured on 1.37.0 for plain pods, a JobSet and a basic group."""

from typing import Any

from gangboard.domain.health import Health
from gangboard.facts.unit import Unit
from tests.domain_objects import a_group, a_job, a_jobset, a_pod, a_role, child_jobs, placed
from tests.placement.making import node
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of, whole_memory
from tests.rules.waiting_gangs import capacity_of, evidence_values, pod_requests, ungrouped_gang
from tests.sentence_values import values_in


def split(placed_pods: int = 4, quorum: int | None = None, group: bool = False) -> Unit:
    """A Job of six pods, some of which are on a node; for the others there is no room."""
    job = a_job("train", pods=6, group_name="ring" if group else "")
    name = "ring" if group else ""
    pods = [a_pod(f"train-{n}", of=job, group=name, on=f"n{n}") for n in range(placed_pods)]
    pods += [
        a_pod(f"train-{n}", of=job, group=name, text=texts.GPU_SHORT_NO_VICTIMS)
        for n in range(placed_pods, 6)
    ]
    groups = [a_group("ring", quorum=quorum, placed=placed())] if group else []
    return unit_of(job, *groups, *pods)


def test_four_of_six() -> None:
    finding = require_finding("partly-placed", split())
    assert finding.health is Health.DEGRADED
    assert finding.message == (
        "2 pods do not fit on any node: 4 Insufficient nvidia.com/gpu; 4 of 6 pods are placed."
    )
    assert [item.value for item in finding.evidence] == ["4 of 6", texts.GPU_SHORT_NO_VICTIMS]
    assert first_code(split()) == "partly-placed"


def test_a_basic_group_does_not_keep_pods_together() -> None:
    assert first_code(split(group=True)) == "partly-placed"


def test_a_gang_at_its_quorum_is_below_its_size() -> None:
    unit = split(quorum=2, group=True)
    assert evaluate("partly-placed", unit) is None
    assert first_code(unit) == "below-size"


def test_a_gang_without_placed_pods_is_unschedulable() -> None:
    assert first_code(split(placed_pods=0)) == "unschedulable"


def test_a_gang_that_was_whole_has_lost_members() -> None:
    unit = split()
    job = unit.owner
    assert first_code(unit_of(job, *unit.pods, memory=whole_memory())) == "lost-members"


def test_the_rest_has_not_been_tried() -> None:
    job = a_job("train")
    pods = (a_pod("train-0", of=job, on="n0"), a_pod("train-1", of=job))
    assert first_code(unit_of(job, *pods)) == "not-attempted"


def workers_wait(**fields: Any) -> Unit:
    """The workers of a JobSet of which the driver runs: three pods in all."""
    jobset = a_jobset("run", a_role("driver", pods=1), a_role("workers"), **fields)
    driver, workers = child_jobs(jobset)
    waiting = [a_pod(f"w{n}", of=workers, text=texts.GPU_SHORT) for n in range(2)]
    return unit_of(
        jobset,
        driver,
        workers,
        a_pod("d", of=driver, on="n0"),
        *waiting,
        jobs=(workers,),
        pods=tuple(waiting),
        desired=2,
        name="run-workers-0",
        noun="Job",
    )


def test_another_job_of_the_gang_holds_a_node() -> None:
    """Captured as `jobset-unschedulable`: the driver runs, no worker finds room."""
    unit = workers_wait()
    assert (
        values_in(require_finding("partly-placed", unit).message)
        == "run-workers-0 2 4 nvidia.com/gpu 1 3"
    )
    assert first_code(unit) == "partly-placed"


def test_a_partly_placed_gang_with_surplus_pods() -> None:
    """The JobSet requests two pods now, but three exist, so the sentence has no total."""
    assert require_finding("partly-placed", workers_wait(desired=2)).message.endswith(
        "; 1 pod of the JobSet is placed."
    )


def test_the_shortage_of_the_remaining_pods_is_explained() -> None:
    room = capacity_of(*(node(f"n{index}", used=4) for index in range(4)))
    finding = require_finding(
        "partly-placed", ungrouped_gang(6, pod_requests(4), room, on=("n0", "n1", "n2", "n3"))
    )
    assert finding.health is Health.DEGRADED
    assert values_in(finding.message) == "2 8 4 4 6"
    assert evidence_values(finding, "nvidia.com/gpu") == ["8 needed, 0 free now, 16 when empty"]
    assert evidence_values(finding, "scheduler says") == [texts.GPU_SHORT]


def test_the_scheduler_is_quoted_if_nodes_are_forbidden() -> None:
    unit = ungrouped_gang(6, pod_requests(4), capacity_of(why="nodes: forbidden"), on=("n0",))
    assert "Insufficient nvidia.com/gpu" in require_finding("partly-placed", unit).message
