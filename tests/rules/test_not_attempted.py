"""`not-attempted`: no scheduler has the pods' `schedulerName` (observed on 1.37.0)."""

from dataclasses import replace
from typing import Any

from gangboard.domain.health import Health
from gangboard.domain.verdict import UnitMemory
from gangboard.facts.unit import Unit
from tests.domain_objects import (
    Made,
    a_condition,
    a_group,
    a_job,
    a_jobset,
    a_pod,
    a_role,
    a_unit,
    ago,
    child_jobs,
    facts_of,
    placed,
)
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of


def silent(age: float = 600, *objects: Made, count: int = 2, **pod: Any) -> Unit:
    job = a_job("train", group_name="ring")
    fields = {"scheduler_name": "nobody", "created_at": ago(age), **pod}
    pods = [a_pod(f"train-{n}", of=job, group="ring", **fields) for n in range(count)]
    return unit_of(job, *(objects or (a_group("ring", quorum=2),)), *pods)


def test_the_scheduler_is_named() -> None:
    finding = require_finding("not-attempted", silent())
    assert finding.code == "not-attempted"
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "2 pods wait, with no report from scheduler nobody for over a minute."
    )
    assert first_code(silent()) == "not-attempted"


def test_a_minute_is_given() -> None:
    finding = require_finding("not-attempted", silent(59))
    assert (finding.code, finding.health) == ("starting", Health.STARTING)
    assert finding.message == "2 pods wait for a first report from scheduler nobody."
    assert finding.recheck_at == ago(-1)
    assert require_finding("not-attempted", silent(60)).code == "not-attempted"


def test_the_scheduler_tries_no_gang_below_its_quorum() -> None:
    unit = silent(600, count=1)
    assert evaluate("not-attempted", unit) is None
    assert first_code(unit) == "below-quorum"


def test_a_message_about_one_pod_is_an_attempt() -> None:
    unit = silent(text=texts.GPU_SHORT)
    assert evaluate("not-attempted", unit) is None


def test_a_message_about_the_group_is_an_attempt() -> None:
    group = a_group("ring", quorum=2, placed=placed("False", texts.GROUP_SHORT))
    assert evaluate("not-attempted", silent(600, group)) is None


def test_an_earlier_placement_of_the_group_is_no_attempt_for_new_pods() -> None:
    """True is terminal in 1.37, so it does not cover pods that were created later."""
    assert first_code(silent(600, a_group("ring", quorum=2, placed=placed()))) == "not-attempted"


def test_a_pod_at_the_gate_of_135_was_tried() -> None:
    unit = silent(nominated_node="n0")
    assert evaluate("not-attempted", unit) is None
    assert first_code(unit) == "starting"


def test_pods_without_a_group() -> None:
    job = a_job("train", pods=1)
    assert first_code(unit_of(job, a_pod("train-0", of=job))) == "not-attempted"


def test_a_missing_group_is_the_closer_cause() -> None:
    job = a_job("train", group_name="ring")
    pods = [a_pod(f"train-{n}", of=job, group="ring") for n in range(2)]
    assert first_code(unit_of(job, *pods)) == "podgroup-missing"


def test_the_scheduler_has_to_run_or_to_be_another() -> None:
    assert require_finding("not-attempted", silent()).advice_texts == (
        "Start scheduler nobody if it does not run, or give the pods the schedulerName of one that "
        "does (needs re-creating).",
    )


def test_another_scheduler_has_placed_pods_of_the_same_gang() -> None:
    jobset = a_jobset("run", a_role("driver", pods=1), a_role("workers"))
    driver, workers = child_jobs(jobset)
    up = a_pod("run-driver-0-0", of=driver, on="n0")
    typo = [a_pod(f"w{n}", of=workers, scheduler_name="defualt-scheduler") for n in (0, 1)]
    facts = facts_of(jobset, driver, workers, up, *typo)
    unit = a_unit(facts, jobs=(workers,), pods=tuple(typo), desired=2, name="run-workers-0")
    assert require_finding("not-attempted", unit).advice_texts == (
        "Give the pods schedulerName default-scheduler, which has placed 1 other pod of JobSet run "
        "(needs re-creating), or start scheduler defualt-scheduler if it does not run.",
    )


def test_a_tree_of_groups_can_be_the_cause() -> None:
    group = a_group("ring", quorum=2, parent_name="tree")
    assert require_finding("not-attempted", silent(600, group)).advice_texts == ()


def ungated(last_gated: float | None, **facts: Any) -> Unit:
    """Pods whose gates are gone: the word that the API server wrote when it made them stays."""
    gated = a_condition("PodScheduled", "False", reason="SchedulingGated", since=ago(600))
    unit = silent(scheduled=gated)
    memory = UnitMemory(gated_at=None if last_gated is None else ago(last_gated))
    return replace(unit, memory=memory, gang=replace(unit.gang, **facts))


def test_a_message_about_a_removed_gate_is_no_attempt() -> None:
    finding = require_finding("not-attempted", ungated(60))
    assert (finding.code, finding.since) == ("not-attempted", ago(60))
    assert finding.message == (
        "2 pods wait, with no report from scheduler nobody for over a minute."
    )
    assert [item.value for item in finding.evidence if item.label == "PodScheduled"] == [
        "SchedulingGated"
    ]
    assert first_code(ungated(60)) == "not-attempted"


def test_a_minute_is_given_from_when_the_gates_went() -> None:
    finding = require_finding("not-attempted", ungated(59))
    assert (finding.code, finding.recheck_at) == ("starting", ago(-1))


def test_gates_that_went_before_the_first_look() -> None:
    assert require_finding("not-attempted", ungated(None, memory_since=ago(59))).code == "starting"
    assert (
        require_finding("not-attempted", ungated(None, memory_since=ago(60))).code
        == "not-attempted"
    )
    assert require_finding("not-attempted", ungated(None, memory_since=None)).code == "starting"


def test_an_existing_gate_is_another_reason() -> None:
    gated = a_condition("PodScheduled", "False", reason="SchedulingGated")
    unit = silent(scheduled=gated, gates=("example.com/gate",))
    assert evaluate("not-attempted", unit) is None
    assert first_code(unit) == "scheduling-gated"
