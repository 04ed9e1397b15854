"""Reasons of other schedulers why nodes take no pod. Missing resources come first, so no quote cuts them off."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.group import Group
from gangboard.domain.pod import Pod
from gangboard.facts.scheduler_text import quote_refusal
from tests.domain_objects import NOW, a_job, a_pod
from tests.gangs import assemble
from tests.groups import test_coscheduling as coscheduling
from tests.groups import test_kai as kai
from tests.groups import test_yunikorn as yunikorn
from tests.groups import volcano_objects as volcano
from tests.groups.other_schedulers import member
from tests.rules.evaluation import require_finding, unit_of

TAINT = (
    "node(s) had untolerated taint {node.example.com/reserved-for-team: language-models-of-2026}"
)
LACK = "17 Insufficient nvidia.com/gpu"
LIST = f"8 {TAINT}, {LACK}"
KAI_LACK = "17 node(s) didn't have enough resources: GPUs"
KAI_LIST = f"no nodes with enough resources were found: 8 {TAINT}. \n{KAI_LACK}"
Sentence = Callable[[], str]


def of_coscheduling() -> str:
    text = f"0/25 nodes are available: {LIST}. preemption: 0/25 nodes are available."
    pods = [coscheduling.member(f"p{n}", text=text) for n in range(3)]
    return coscheduling.verdict_of(coscheduling.ring(), *pods).finding.message


def of_volcano() -> str:
    refused = volcano.REFUSED.replace(
        "0/1 nodes are unavailable: 1 Insufficient cpu", _unavailable()
    )
    group = volcano.ring("Inqueue", volcano.condition("Unschedulable", "20", refused))
    return volcano.finding_summary(
        group, pods=_refused_by_volcano(group), queues=[volcano.queue()]
    )[2]


def of_volcano_in_other_words() -> str:
    """Without the counts of tasks, the whole text is quoted."""
    condition = volcano.condition(
        "Unschedulable", "20", f"pod group is not ready: {_unavailable()}"
    )
    group = volcano.ring("Inqueue", condition)
    return volcano.finding_summary(
        group, pods=_refused_by_volcano(group), queues=[volcano.queue()]
    )[2]


def of_volcano_after_a_loss() -> str:
    group = volcano.ring("Unknown", volcano.condition("Scheduled", "10"))
    late = member(group, "p9", "volcano", text=_unavailable())
    pods = [*volcano.members(group, 2, on="n0"), late]
    return volcano.finding_summary(group, pods=pods, queues=[volcano.queue()])[2]


def of_yunikorn() -> str:
    pods = yunikorn.members(scheduled=yunikorn.refused())
    return yunikorn.finding_of(pods, yunikorn.event_of(pods[0], _repeated())).message


def of_placeholders() -> str:
    pods = yunikorn.members()
    held = a_pod(
        "tg-etl-7-workers-x",
        group="etl-7",
        group_kind=yunikorn.KIND,
        scheduler_name="yunikorn",
        is_placeholder=True,
        scheduled=yunikorn.refused(),
    )
    creating = "Application etl-7 creating placeholders"
    events = (
        yunikorn.event_of(pods[0], creating, "GangScheduling"),
        yunikorn.event_of(held, _repeated()),
    )
    gang = assemble(a_job("etl", pods=2), pods, now=NOW, events=events, placeholders=[held])
    return assess(gang).finding.message


def of_an_unknown_scheduler() -> str:
    job = a_job("train", pods=2)
    text = f"0/25 nodes are available: {LIST}."
    pods = [
        a_pod(f"train-{n}", of=job, text=text, scheduler_name="ours", other_scheduler=True)
        for n in (0, 1)
    ]
    return require_finding("unschedulable", unit_of(job, *pods)).message


def _unavailable() -> str:
    return f"0/25 nodes are unavailable: {LIST}"


def _repeated() -> str:
    return f"Unschedulable request 'uid-p0': {TAINT} (8x); Insufficient nvidia.com/gpu (17x); "


def _refused_by_volcano(group: Group) -> list[Pod]:
    return volcano.members(group, text="pod group is not ready")


@pytest.mark.parametrize(
    ("sentence", "begins"),
    [
        (of_coscheduling, f": 0/25 nodes are available: {LACK}, 8 node(s) had untolerated"),
        (of_volcano, f": 0/25 nodes are unavailable: {LACK}, 8 node(s) had untolerated"),
        (of_volcano_in_other_words, f": 0/25 nodes are unavailable: {LACK}, 8 node(s) had"),
        (of_volcano_after_a_loss, f": 0/25 nodes are unavailable: {LACK}, 8 node(s) had"),
        (of_yunikorn, ": Insufficient nvidia.com/gpu (17x); node(s) had untolerated taint"),
        (of_placeholders, ": Insufficient nvidia.com/gpu (17x); node(s) had untolerated taint"),
        (of_an_unknown_scheduler, f": 0/25 nodes are available: {LACK}, 8 node(s) had"),
    ],
)
def test_a_missing_resource_precedes_a_long_taint(sentence: Sentence, begins: str) -> None:
    assert begins in sentence()


def test_a_missing_resource_precedes_a_long_taint_in_kai() -> None:
    cause = kai.NO_ROOM.partition("due to: ")[0] + f"due to: {KAI_LIST}"
    said = kai.condition("PodSchedulingErrors", cause)
    message = kai.finding_summary(kai.a_group(said), queues=[kai.a_queue()])[2]
    assert f": no nodes with enough resources were found: {KAI_LACK}, 8 node(s)" in message


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("0/3 nodes are available: 1 Too many pods, 2 Insufficient cpu.",
         "0/3 nodes are available: 2 Insufficient cpu, 1 Too many pods"),
        # In its order: no resource is missing.
        ("0/3 nodes are available: 2 node(s) were unschedulable, 1 Too many pods.",
         "0/3 nodes are available: 2 node(s) were unschedulable, 1 Too many pods"),
        # A part of the cluster keeps its name, and a long text before the list does not.
        ("In hyperNode s0: 0/3 nodes are unavailable: 3 Insufficient cpu.",
         "In hyperNode s0: 0/3 nodes are unavailable: 3 Insufficient cpu"),
        (f"{'waits for its other members, ' * 4}0/3 nodes are available: 3 Insufficient cpu",
         "0/3 nodes are available: 3 Insufficient cpu"),
        # No list of reasons.
        ("quota exceeded; ask your admin", "quota exceeded; ask your admin"),
        ("0/3 nodes are available: persistentvolumeclaim \"data\" not found",
         "0/3 nodes are available: persistentvolumeclaim \"data\" not found"),
        ("error: 3 retries, 2 Insufficient rights", "error: 3 retries, 2 Insufficient rights"),
        ("", ""),
    ],
)  # fmt: skip
def test_only_lists_of_reasons_are_put_in_order(text: str, quoted: str) -> None:
    assert quote_refusal(text) == quoted


def test_a_long_error_of_a_scheduler_keeps_its_end() -> None:
    text = f"{'running the plugin failed: ' * 8}the driver gpu.example.com has no socket"
    assert quote_refusal(text).endswith("the driver gpu.example.com has no socket")
