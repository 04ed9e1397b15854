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


def of(name: str, model: str, used: int = 0, gpu: int = 4) -> NodeInfo:
    return node(name, gpu, used, labels={"model": model})


def advice_for_labels(*nodes: NodeInfo, **selected: str) -> list[Advice]:
    """Advice about two pods of 4 GPUs that select these labels."""
    job = a_job("train", pods=2, requests=requests(gpu="4"))
    needs = PodConstraints(node_selector=tuple(sorted((selected or {"model": "b200"}).items())))
    room = ClusterCapacity(tuple(nodes))
    unit = unit_of(job, *pods_of(job, 2, needs=needs), facts={"room": room, "kubernetes": (1, 37)})
    result = advise(replace(unit, placing=placing_of(unit)))
    return [one for one in result if one.change is AdviceKind.SELECT]


def test_the_values_that_do_are_named() -> None:
    (result,) = advice_for_labels(
        of("a", "h100"), of("b", "h100"), of("c", "a100"), of("d", "a100")
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


def test_a_value_with_too_little_room_is_not() -> None:
    """Of a100 there is one node, of l4 none has a GPU."""
    nodes = (of("a", "h100"), of("b", "h100"), of("c", "a100"), of("d", "l4", gpu=0))
    assert [one.values for one in advice_for_labels(*nodes)] == [("h100",)]


def test_one_that_only_fits_when_empty_is_said_to() -> None:
    (result,) = advice_for_labels(of("a", "h100", used=4), of("b", "h100"))
    assert result.text == (
        "Select model=h100 instead of model=b200, which no node has: then both pods fit when empty "
        "(needs re-creating)."
    )


def test_nothing_where_no_value_would_do() -> None:
    assert advice_for_labels(of("a", "h100"), of("b", "a100")) == []


def test_nothing_where_the_label_is_on_no_node_or_names_nodes() -> None:
    nodes = (of("a", "h100"), of("b", "h100"))
    assert advice_for_labels(*nodes, tier="gold") == []
    assert advice_for_labels(*nodes, **{HOSTNAME: "gone"}) == []


def test_nothing_where_two_labels_are_missing() -> None:
    assert advice_for_labels(of("a", "h100"), of("b", "h100"), model="b200", tier="gold") == []
