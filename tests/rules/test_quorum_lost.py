"""`quorum-lost`: k/k#142330, and one Job of a shared group held (observed on 1.37.0)."""

from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.health import Health
from gangboard.domain.owner import GangRequest
from gangboard.facts.unit import Unit
from tests.domain_objects import (
    a_group,
    a_hold,
    a_job,
    a_jobset,
    a_pod,
    a_role,
    child_jobs,
    placed,
    pods_of,
)
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of, whole_memory
from tests.sentence_values import values_in


def finishing(quorum: int = 4, version: str = "v1beta1") -> Unit:
    """Two of four have succeeded, one runs, one failed and its replacement waits."""
    job = a_job("train", pods=4, group_name="ring", retries=1)
    done = [
        a_pod(f"train-{index}", of=job, group="ring", on="n0", phase="Succeeded")
        for index in (0, 1)
    ]
    runs = a_pod("train-2", of=job, group="ring", on="n1")
    waits = a_pod("train-3", of=job, group="ring")
    group = a_group("ring", quorum=quorum, version=version, placed=placed())
    return unit_of(job, group, *done, runs, waits, memory=whole_memory())


def held(*, by_hold: bool = False, **fields: Any) -> Unit:
    """A JobSet whose three Jobs share a group; one is suspended, a sibling lost a pod."""
    jobset = a_jobset("run", a_role("workers", jobs=3, group_name="ring"))
    first, second, three = child_jobs(jobset)
    pods = (
        *pods_of(first, 2, on="n0"),
        a_pod("run-workers-1-0", of=second, group="ring", on="n1"),
        a_pod("run-workers-1-1", of=second, group="ring"),
    )
    group = a_group("ring", placed=placed(), **{"quorum": 6, **fields})
    jobs = (first, second, replace(three, suspended=True))
    holds = (a_hold(three),) if by_hold else ()
    return unit_of(jobset, *jobs, *holds, group, *pods, memory=whole_memory())


def steps(unit: Unit) -> tuple[str, ...]:
    """Return the sentences of its next steps, without their commands."""
    return tuple(step.text for step in require_finding("quorum-lost", unit).advice)


def test_members_that_succeeded_do_not_count() -> None:
    finding = require_finding("quorum-lost", finishing())
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "1 pod can never start: the group needs 4 live pods and can have only 2; 2 have succeeded."
    )
    assert steps(finishing()) == ("Lower minCount of PodGroup ring to 2 (no restart).",)


def test_a_lost_quorum_precedes_lost_members() -> None:
    assert first_code(finishing()) == "quorum-lost"
    assert first_code(held()) == "quorum-lost"


def test_members_that_are_held_do_not_exist() -> None:
    finding = require_finding("quorum-lost", held())
    assert values_in(finding.message) == "1 6 4 2 run-workers-2"
    assert steps(held()) == (
        "Resume Job run-workers-2.",
        "Lower minCount of PodGroup ring to 4 (no restart).",
    )


def test_a_hold_has_to_be_released() -> None:
    """With `suspend: false` alone its policy turns the resume back (real-control-plane.md §3)."""
    assert require_finding("quorum-lost", held(by_hold=True)).advice_texts[0] == (
        "Release Hold run-workers-2 of Job run-workers-2."
    )


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha3", "v2"])
def test_a_podgroup_since_137_can_be_changed(version: str) -> None:
    assert steps(held(version=version))[1:] == (
        "Lower minCount of PodGroup ring to 4 (no restart).",
    )


def test_a_podgroup_of_136_cannot_be_changed() -> None:
    assert require_finding("quorum-lost", held(version="v1alpha2")).advice_texts == (
        "Resume Job run-workers-2.",
    )


def test_a_quorum_that_can_still_be_reached() -> None:
    assert evaluate("quorum-lost", finishing(quorum=2)) is None
    assert evaluate("quorum-lost", held(quorum=4)) is None


def test_a_gang_without_waiting_pods_keeps_its_quorum() -> None:
    unit = finishing()
    calm = replace(unit, pods=unit.pods[:3])
    assert evaluate("quorum-lost", calm) is None


def test_a_gang_without_finished_pods_is_below_its_quorum() -> None:
    job = a_job("train", pods=4, group_name="ring")
    unit = unit_of(job, a_group("ring", quorum=4), *pods_of(job, 2))
    assert evaluate("quorum-lost", unit) is None
    assert first_code(unit) == "below-quorum"


def test_schedulers_of_other_apis_count_finished_members() -> None:
    unit = finishing()
    assert unit.group is not None
    ref = replace(unit.group.meta.ref, group="scheduling.volcano.sh")
    other = replace(unit, group=replace(unit.group, meta=replace(unit.group.meta, ref=ref)))
    assert evaluate("quorum-lost", other) is None


def test_a_member_whose_index_failed_for_good_is_missing_to_the_quorum() -> None:
    """Index 3 is not retried (backoffLimitPerIndex), and index 2 waits to be placed with it."""
    failed = {"failed_indexes": "3", "failed_index_count": 1}
    defaults: dict[str, Any] = {**failed, "retries": 1, "max_retries": None}
    job = a_job("train", pods=4, group_name="ring", **defaults)
    unit = unit_of(job, a_group("ring", quorum=4), *pods_of(job, 3))
    assert first_code(unit) == "quorum-lost"
    assert require_finding("quorum-lost", unit).message == (
        "3 pods can never start: the group needs 4 live pods and can have only 3; 1 failed for "
        "good (backoffLimitPerIndex)."
    )


def resumed(request: GangRequest | None, minor: tuple[int, int] = (1, 37)) -> Unit:
    """One of four is done, the Job was suspended and resumed: three wait, and its group needs four."""
    job = a_job("sweep", pods=4, group_name="ring", succeeded_pods=1, gang_request=request)
    done = a_pod("sweep-0", of=job, group="ring", on="n0", phase="Succeeded")
    waiting = [a_pod(f"sweep-{index}", of=job, group="ring") for index in (1, 2, 3)]
    group = a_group("ring", quorum=4, of=job)
    return unit_of(job, group, done, *waiting, facts={"kubernetes": minor})


@pytest.mark.parametrize("minor", [(1, 37), (1, 38), (1, 39)])
@pytest.mark.parametrize("derived", [True, False])
def test_the_quorum_of_a_job_is_lowered_in_its_spec(derived: bool, minor: tuple[int, int]) -> None:
    unit = resumed(GangRequest("gang", 4, derived=derived), minor)
    assert steps(unit) == ("Set minCount of Job sweep to 3 (no restart).",)


def test_the_quorum_of_a_job_of_136_cannot_be_lowered() -> None:
    assert (
        require_finding("quorum-lost", resumed(GangRequest("gang", 4), (1, 36))).advice_texts == ()
    )


def test_a_larger_job_requests_a_larger_quorum() -> None:
    """The quorum of a Job that states none is its parallelism: one pod more needs one more."""
    derived = resumed(GangRequest("gang", 4, derived=True))
    stated = resumed(GangRequest("gang", 4))
    assert "more" not in " ".join(require_finding("below-quorum", derived).advice_texts)
    assert "Scale Job sweep up by 1 pod" in " ".join(
        require_finding("below-quorum", stated).advice_texts
    )
