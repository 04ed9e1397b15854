"""Advice where no node has a label that members select: which values of it there are."""

from __future__ import annotations

from dataclasses import replace

from gangboard.domain.advice import Advice, AdviceKind, ChangeMethod
from gangboard.domain.capacity import ClusterCapacity, NodeInfo
from gangboard.domain.pod_constraints import HOSTNAME, PodConstraints
from gangboard.placement.advice.ranking import advise
from gangboard.placement.unit_placement import placing_of
from tests.domain_objects import a_job, pods_of, requests
from tests.placement.making import node
from tests.rules.evaluation import unit_of


def model_node(name: str, model: str, used: int = 0, gpu: int = 4) -> NodeInfo:
    return node(name, gpu, used, labels={"model": model})


def advice_for_labels(*nodes: NodeInfo, **selected: str) -> list[Advice]:
    """Advice about two pods of 4 GPUs that select these labels."""
    job = a_job("train", pods=2, requests=requests(gpu="4"))
    needs = PodConstraints(node_selector=tuple(sorted((selected or {"model": "b200"}).items())))
    room = ClusterCapacity(tuple(nodes))
    unit = unit_of(job, *pods_of(job, 2, needs=needs), facts={"room": room, "kubernetes": (1, 37)})
    result = advise(replace(unit, placing=placing_of(unit)))
    return [item for item in result if item.change is AdviceKind.SELECT]


def test_the_values_that_do_are_named() -> None:
    (result,) = advice_for_labels(
        model_node("a", "h100"),
        model_node("b", "h100"),
        model_node("c", "a100"),
        model_node("d", "a100"),
    )
    assert result.text == (
        "Select model=a100 or model=h100 instead of model=b200, which no node has: then both pods "
        "fit (needs re-creating)."
    )
    assert (result.label, result.values, result.method) == (
        "model",
        ("a100", "h100"),
        ChangeMethod.RECREATE,
    )


def test_a_label_value_with_too_little_capacity_is_not_advised() -> None:
    """There is one a100 node, and the l4 nodes have no GPU."""
    nodes = (
        model_node("a", "h100"),
        model_node("b", "h100"),
        model_node("c", "a100"),
        model_node("d", "l4", gpu=0),
    )
    assert [item.values for item in advice_for_labels(*nodes)] == [("h100",)]


def test_a_label_value_that_fits_only_when_empty_is_marked() -> None:
    (result,) = advice_for_labels(model_node("a", "h100", used=4), model_node("b", "h100"))
    assert result.text == (
        "Select model=h100 instead of model=b200, which no node has: then both pods fit when empty "
        "(needs re-creating)."
    )


def test_no_label_is_advised_if_no_value_helps() -> None:
    assert advice_for_labels(model_node("a", "h100"), model_node("b", "a100")) == []


def test_no_label_is_advised_if_it_is_absent_or_unique_per_node() -> None:
    nodes = (model_node("a", "h100"), model_node("b", "h100"))
    assert advice_for_labels(*nodes, tier="gold") == []
    assert advice_for_labels(*nodes, **{HOSTNAME: "gone"}) == []


def test_no_label_is_advised_if_two_are_missing() -> None:
    assert (
        advice_for_labels(
            model_node("a", "h100"), model_node("b", "h100"), model="b200", tier="gold"
        )
        == []
    )
