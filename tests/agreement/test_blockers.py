"""Blockers on a real scheduler: without a cause, exactly its nodes take pods, and no more."""

from __future__ import annotations

from dataclasses import replace

from gangboard.domain.verdict import FitBlocker
from tests.agreement.arena import Arena, Judgement
from tests.agreement.cases import Ask, Case, NodeSpec
from tests.agreement.kept_cases import made_case, pod_set, small_node
from tests.agreement.objects import TAINT
from tests.agreement.ours import Reading, ours

TWO_GPUS = Ask(gpus=2)
NODES = (
    replace(small_node("taint-0", gpus=2), tainted=True),
    replace(small_node("taint-1", gpus=4), tainted=True),
    replace(small_node("cordon", gpus=2), cordoned=True),
    replace(small_node("both", gpus=2), tainted=True, cordoned=True),
    small_node("full", gpus=2, runs=(TWO_GPUS,)),
)
TOLERATION, UNCORDON, FREE, NOTHING = "untolerated taint", "cordoned", "nvidia.com/gpu", ""


def _without(cause: str, pods: int, number: int) -> Case:
    """The gang of so many pods once a cause is gone."""
    nodes: tuple[NodeSpec, ...] = NODES
    if cause == UNCORDON:
        nodes = tuple(replace(node, cordoned=False) for node in nodes)
    if cause == FREE:
        nodes = tuple(replace(node, runs=()) for node in nodes)
    members = replace(pod_set("w", pods, gpus=2), tolerates=cause == TOLERATION)
    return made_case(nodes, members, quorum=pods, number=number)


def test_a_cause_alone_keeps_out_the_nodes_that_the_scheduler_uses_without_it(
    arena: Arena,
) -> None:
    """One node has four GPUs, so the toleration opens two nodes for three pods."""
    trials = [
        (NOTHING, 1, Judgement.REFUSED),
        *((TOLERATION, 3, Judgement.FITS), (TOLERATION, 4, Judgement.REFUSED)),
        *((UNCORDON, 1, Judgement.FITS), (UNCORDON, 2, Judgement.REFUSED)),
        *((FREE, 1, Judgement.FITS), (FREE, 2, Judgement.REFUSED)),
    ]
    cases = [_without(cause, pods, 900 + number) for number, (cause, pods, _) in enumerate(trials)]
    ((*played,),) = arena.play(cases)
    for (cause, pods, expected), item in zip(trials, played, strict=True):
        assert item.judgement is expected, (cause, pods, item.words)
    placing = ours(Reading(played[0].before), played[0].before.group).unit.placing
    assert placing is not None
    (fit,) = placing.shapes
    alone = {blocker.label: blocker for blocker in fit.blockers if blocker.only_nodes}
    names = [f"kept-900-{name}" for name in ("taint-0", "taint-1")]
    taint = alone[TOLERATION]
    assert (taint.detail, taint.only_nodes, taint.only_pods) == (TAINT, 2, 3)
    assert taint.examples == tuple(names)
    assert _counts(alone[UNCORDON]) == (1, 1)
    assert _counts(alone[FREE]) == (1, None)


def _counts(blocker: FitBlocker) -> tuple[int | None, int | None]:
    return blocker.only_nodes, blocker.only_pods
