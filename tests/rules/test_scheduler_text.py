"""The scheduler's texts: how they are shortened, and which one is quoted."""

import pytest

from gangboard.facts.scheduler_text import (
    best_scheduler_message,
    clean,
    node_reasons,
    scheduler_messages,
)
from tests.domain_objects import a_group, a_job, a_pod, ago, placed
from tests.rules import texts
from tests.rules.evaluation import unit_of


@pytest.mark.parametrize(
    ("raw", "left"),
    [
        (texts.GPU_SHORT, "0/4 nodes are available: 4 Insufficient nvidia.com/gpu"),
        (texts.GPU_SHORT_NO_VICTIMS, "0/4 nodes are available: 4 Insufficient nvidia.com/gpu"),
        (
            texts.NO_MATCH_136,
            "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector",
        ),
        (texts.GROUP_SHORT, "minCount (6) cannot be satisfied: 4 scheduled, 1 remaining"),
        (texts.POD_OF_GROUP, "minCount (6) cannot be satisfied: 4 scheduled, 1 remaining"),
        (texts.GROUP_136, "pod group is unschedulable"),
        (texts.WAITS_136, "waiting for minCount pods from a gang to be scheduled"),
        ("pod group is unschedulable", "pod group is unschedulable"),
        (
            "0/3 placements are available, reported placement status: pod group is unschedulable",
            "0/3 placements are available, reported placement status: pod group is unschedulable",
        ),
        (
            "pod group is unschedulable, minCount (4) cannot be satisfied: 1 scheduled, 2 "
            "remaining, ",
            "minCount (4) cannot be satisfied: 1 scheduled, 2 remaining",
        ),
        (
            "pod group is unschedulable, minCount (4) cannot be satisfied: 1 scheduled, 2 "
            "remaining, pod group preemption: not supported with topology constraints",
            "minCount (4) cannot be satisfied: 1 scheduled, 2 remaining",
        ),
        (
            "0/2 nodes are available: 2 Insufficient cpu. preemption: not eligible due to "
            "preemptionPolicy=Never.",
            "0/2 nodes are available: 2 Insufficient cpu. preemption: not eligible due to "
            "preemptionPolicy=Never",
        ),
        (
            "pod group is unschedulable, ongoing preemption on nominated nodes",
            "ongoing preemption on nominated nodes",
        ),
        ("", ""),
    ],
)
def test_empty_messages_are_dropped(raw: str, left: str) -> None:
    assert clean(raw) == left


@pytest.mark.parametrize(
    ("said", "best"),
    [
        ([texts.POD_OF_GROUP, texts.GPU_SHORT], texts.GPU_SHORT),
        ([texts.WAITS_136, texts.NO_MATCH_136], texts.NO_MATCH_136),
        ([texts.PERMIT_TIMEOUT, texts.GPU_SHORT, texts.PERMIT_TIMEOUT], texts.GPU_SHORT),
        ([texts.PERMIT_TIMEOUT, texts.POD_OF_GROUP], texts.PERMIT_TIMEOUT),
        (
            [texts.GPU_SHORT, "no nodes available to schedule pods", texts.GPU_SHORT],
            texts.GPU_SHORT,
        ),
    ],
)
def test_the_most_specific_text_is_quoted(said: list[str], best: str) -> None:
    pods = [a_pod(f"p{index}", group="ring", text=text) for index, text in enumerate(said)]
    group = a_group("ring", quorum=6, placed=placed("False", texts.GROUP_SHORT))
    unit = unit_of(a_job(pods=6), group, *pods)
    message = best_scheduler_message(scheduler_messages(unit, "Unschedulable"))
    assert message is not None
    assert message.raw == best


def test_the_group_speaks_when_its_pods_do_not() -> None:
    group = a_group("ring", quorum=2, placed=placed("False", texts.GROUP_SHORT))
    pods = [a_pod(f"p{index}", group=group) for index in range(2)]
    unit = unit_of(a_job(), group, *pods)
    message = best_scheduler_message(scheduler_messages(unit, "Unschedulable"))
    assert message is not None
    assert message.source == group.meta.ref


def test_a_condition_from_before_the_resume_is_stale() -> None:
    """1.36.3 leaves False with its old text on a gang that was suspended while it waited."""
    group = a_group("ring", quorum=2, placed=placed("False", texts.GROUP_136))
    pods = [a_pod(f"p{index}", group=group, created_at=ago(5)) for index in range(2)]
    assert scheduler_messages(unit_of(a_job(), group, *pods), "Unschedulable") == ()


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        (
            "0/6 nodes are available: 1 node(s) were unschedulable, 2 node(s) had untolerated "
            "taint(s), 3 Insufficient nvidia.com/gpu. preemption: 0/6 nodes are available: 6 "
            "Preemption is not helpful for scheduling.",
            (
                ("node(s) were unschedulable", 1),
                ("node(s) had untolerated taint(s)", 2),
                ("Insufficient nvidia.com/gpu", 3),
            ),
        ),
        (
            '0/6 nodes are available: persistentvolumeclaim "data-0" not found.',
            (('persistentvolumeclaim "data-0" not found', 0),),
        ),
        (texts.GROUP_SHORT, ()),
        # More digits than a number has are none: Python refuses to read more than 4,300.
        (
            f"0/6 nodes are available: {'9' * 5000} Insufficient nvidia.com/gpu.",
            ((f"{'9' * 5000} Insufficient nvidia.com/gpu", 0),),
        ),
    ],
)
def test_reasons_with_their_numbers_of_nodes(
    text: str, reasons: tuple[tuple[str, int], ...]
) -> None:
    assert node_reasons(clean(text)) == reasons


def test_a_pod_that_is_not_why_its_group_waits_is_quoted_last() -> None:
    """Texts as kubernetes#142315 and #141025 propose them, in several lines."""
    innocent = "pod is schedulable but gang scheduling failed (PodGroup team-a/ring)"
    guilty = (
        "minCount (2) is not yet satisfied: 1 scheduled, 1 remaining\n1/2 pods placed in this cycle"
    )
    job = a_job("train", group_name="ring")
    group = a_group("ring", quorum=2, placed=placed("False", guilty, "Unschedulable"))
    pods = [a_pod(f"train-{n}", of=job, group="ring", text=innocent) for n in (0, 1)]
    best = best_scheduler_message(scheduler_messages(unit_of(job, group, *pods), "Unschedulable"))
    assert best is not None
    assert best.source == group.meta.ref
    assert "\n" not in best.text
