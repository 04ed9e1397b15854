"""Pods that only wait for another pod of their group; texts as kubernetes#141025 and #142315 propose them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangboard.facts.lost_members import missing_reason
from gangboard.facts.scheduler_text import clean, node_reasons
from gangboard.facts.unit import Unit
from tests.domain_objects import a_condition, a_group, a_job, a_pod, placed
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of

SCHEDULABLE = "pod is schedulable but gang scheduling failed (PodGroup team-a/ring): see the group"
NOT_EVALUATED = "pod was not evaluated: gang scheduling aborted early (PodGroup team-a/ring)"
LINES = (
    "minCount (3) is not yet satisfied: 1 scheduled, 1 remaining\n"
    "1/2 pods placed in this cycle, 3 nodes in placement.\n"
    "Saturated nodes (1): n0\n"
    "Excluded nodes (2): n1, n2\n"
)


def gang(*message: str, group_says: str = "", quorum: int | None = None, running: int = 0) -> Unit:
    """A gang with so many running pods and one pod for each text."""
    job = a_job("train", pods=running + len(message), group_name="ring")
    condition = placed("False", group_says, "Unschedulable") if group_says else None
    group = a_group("ring", quorum=quorum, placed=condition)
    pods = [a_pod(f"train-{n}", of=job, group="ring", on=f"n{n}") for n in range(running)]
    pods += [
        a_pod(f"train-{running + n}", of=job, group="ring", text=text)
        for n, text in enumerate(message)
    ]
    return unit_of(job, group, *pods)


def test_innocent_pods_are_not_counted_as_short() -> None:
    unit = gang(SCHEDULABLE, texts.GPU_SHORT, NOT_EVALUATED, quorum=3)
    assert [pod.meta.ref.name for pod in unit.refused] == ["train-1"]
    finding = require_finding("unschedulable", unit)
    assert finding.message == (
        "The scheduler cannot place 1 pod: 0/4 nodes are available: 4 Insufficient nvidia.com/gpu."
    )
    assert first_code(unit) == "unschedulable"


def test_a_near_miss_has_no_innocent_pods() -> None:
    unit = gang(texts.GPU_SHORT, texts.GPU_SHORT, texts.GPU_SHORT, quorum=3)
    assert len(unit.refused) == 3
    assert "cannot place 3 pods" in require_finding("unschedulable", unit).message


def test_the_group_explains_innocent_pods() -> None:
    unit = gang(SCHEDULABLE, NOT_EVALUATED, group_says=LINES, quorum=3)
    assert unit.refused == ()
    message = require_finding("unschedulable", unit).message
    assert message.startswith(
        "The scheduler cannot place the group of 2 pods: minCount (3) is not yet satisfied"
    )
    assert "\n" not in message
    assert "schedulable but" not in message


def test_the_group_text_precedes_the_text_of_innocent_pods() -> None:
    message = require_finding(
        "unschedulable", gang(SCHEDULABLE, group_says="pod group is unschedulable", quorum=2)
    ).message
    assert message.endswith("group of 1 pod: pod group is unschedulable.")


def test_pod_by_pod_an_innocent_pod_is_not_partly_placed() -> None:
    split = gang(SCHEDULABLE, texts.GPU_SHORT, running=1)
    assert require_finding("partly-placed", split).message.startswith(
        "1 pod does not fit on any node: 4 Insuff"
    )
    assert evaluate("partly-placed", gang(SCHEDULABLE, running=1)) is None


def test_the_cause_next_to_a_loss_excludes_innocent_pods() -> None:
    both = missing_reason(gang(SCHEDULABLE, texts.GPU_SHORT, quorum=3, running=1))
    assert both.startswith("1 pod does not fit on any node: 4 Insufficient nvidia.com/gpu")
    none = missing_reason(gang(SCHEDULABLE, NOT_EVALUATED, group_says=LINES, quorum=3, running=1))
    assert none.startswith("2 pods wait for the rest of the group: minCount (3) is not yet")


def test_several_lines_become_one_sentence_without_their_counts() -> None:
    assert clean(LINES) == (
        "minCount (3) is not yet satisfied: 1 scheduled, 1 remaining; "
        "1/2 pods placed in this cycle, 3 nodes in placement; "
        "Saturated nodes (1): n0; Excluded nodes (2): n1, n2"
    )
    assert node_reasons(clean(LINES)) == ()
    with_nodes = f"0/3 nodes are available: 3 Insufficient cpu.\n{LINES.split(chr(10), 2)[2]}"
    assert node_reasons(clean(with_nodes)) == (("Insufficient cpu", 3),)


@pytest.mark.parametrize("status", ["True", "False", "Unknown"])
def test_an_unknown_group_condition_changes_nothing(status: str) -> None:
    unit = gang(texts.GPU_SHORT, texts.GPU_SHORT, group_says=texts.GROUP_SHORT, quorum=2)
    assert unit.group is not None
    satisfied = a_condition("PodGroupSatisfied", status, reason="BelowMinCount", message="2 < 3")
    reported = replace(unit.group, conditions=(*unit.group.conditions, satisfied))
    other = unit_of(unit.owner, reported, *unit.pods)
    assert first_code(other) == first_code(unit) == "unschedulable"
    assert (
        require_finding("unschedulable", other).message
        == require_finding("unschedulable", unit).message
    )
