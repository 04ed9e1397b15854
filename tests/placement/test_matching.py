"""Selectors, affinity, taints and ports, as the API documents them."""

from __future__ import annotations

import pytest

from gangboard.domain.capacity import NodeInfo, Shape
from gangboard.domain.pod_constraints import HostPort, Requirement, Taint, Term, Toleration
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.matching import ports_clash, tolerates, undecidable, untolerated
from gangboard.placement.node_snapshot import NodeSnapshot
from tests.placement import single_node
from tests.placement.making import CORDON, node, port, shape

LABELLED = node("n1", labels={"pool": "a", "rank": "5", "empty": ""})


def is_selected(info: NodeInfo, requested: Shape) -> bool:
    """Whether the columns and the oracle select the node."""
    result = bool(feasible_nodes_of(NodeSnapshot([info]), requested).eligible()[0])
    assert result == single_node.is_selected(info, requested)
    return result


@pytest.mark.parametrize(
    ("key", "operator", "values", "expected"),
    [
        ("pool", "In", ("a", "b"), True),
        ("pool", "In", ("b",), False),
        ("absent", "In", ("a",), False),
        ("pool", "NotIn", ("b",), True),
        ("pool", "NotIn", ("a", "b"), False),
        ("absent", "NotIn", ("a",), True),
        ("pool", "Exists", (), True),
        ("empty", "Exists", (), True),
        ("absent", "Exists", (), False),
        ("pool", "DoesNotExist", (), False),
        ("absent", "DoesNotExist", (), True),
        ("rank", "Gt", ("4",), True),
        ("rank", "Gt", ("5",), False),
        ("rank", "Lt", ("6",), True),
        ("rank", "Lt", ("5",), False),
        ("rank", "Gt", ("-1",), True),
        ("rank", "Gt", ("4.5",), False),
        ("rank", "Gt", ("1_0",), False),
        ("rank", "Lt", ("9223372036854775808",), False),
        ("rank", "Gt", (), False),
        ("pool", "Gt", ("1",), False),
        ("absent", "Lt", ("1",), False),
    ],
)
def test_match_expressions_select_nodes(
    key: str, operator: str, values: tuple[str, ...], expected: bool
) -> None:
    affinity = (Term((Requirement(key, operator, values),)),)
    assert is_selected(LABELLED, shape(affinity=affinity)) is expected


def test_terms_are_alternatives_of_conjunctions() -> None:
    a = Requirement("pool", "In", ("a",))
    b = Requirement("pool", "In", ("b",))
    assert is_selected(LABELLED, shape(affinity=(Term((b,)), Term((a,)))))
    assert not is_selected(LABELLED, shape(affinity=(Term((a, b)),)))


def test_an_empty_term_matches_no_node() -> None:
    assert not is_selected(LABELLED, shape(affinity=(Term(),)))
    assert not is_selected(LABELLED, shape(affinity=()))
    assert is_selected(LABELLED, shape(affinity=None))


def test_the_name_of_the_node_is_a_field() -> None:
    mine = Requirement("metadata.name", "In", ("n1",))
    assert is_selected(LABELLED, shape(affinity=(Term(fields=(mine,)),)))
    other = Requirement("metadata.name", "NotIn", ("n1",))
    assert not is_selected(LABELLED, shape(affinity=(Term(fields=(other,)),)))


def test_selector_and_affinity_must_both_match() -> None:
    affinity = (Term((Requirement("rank", "Exists"),)),)
    assert is_selected(LABELLED, shape(node_selector={"pool": "a"}, affinity=affinity))
    assert not is_selected(LABELLED, shape(node_selector={"pool": "b"}, affinity=affinity))
    assert not is_selected(LABELLED, shape(node_selector={"absent": ""}))


GPU_TAINT = Taint("gpu", "NoSchedule", "yes")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration("gpu", "Equal", "yes", "NoSchedule"), True),
        (Toleration("gpu", "", "yes", "NoSchedule"), True),
        (Toleration("gpu", "Equal", "yes"), True),
        (Toleration("gpu", "Equal", "no", "NoSchedule"), False),
        (Toleration("gpu", "Equal", "", "NoSchedule"), False),
        (Toleration("gpu", "Exists", "", "NoSchedule"), True),
        (Toleration("gpu", "Exists", "", "NoExecute"), False),
        (Toleration("other", "Exists"), False),
        (Toleration("", "Exists"), True),
        (Toleration("", "Exists", "", "NoExecute"), False),
        (Toleration("gpu", "Gt", "1"), False),
    ],
)
def test_tolerations_match_taints(toleration: Toleration, expected: bool) -> None:
    assert tolerates(toleration, GPU_TAINT) is expected


@pytest.mark.parametrize(
    ("effect", "keeps_away"),
    [("NoSchedule", True), ("NoExecute", True), ("PreferNoSchedule", False)],
)
def test_which_effects_keep_a_pod_away(effect: str, keeps_away: bool) -> None:
    tainted = node("n1", taints=(Taint("gpu", effect),))
    assert bool(untolerated(tainted, shape())) is keeps_away


def test_a_cordon_counts_with_and_without_its_taint() -> None:
    for item in (
        node("n1", unschedulable=True),
        node("n1", unschedulable=True, taints=(CORDON,)),
        node("n1", taints=(CORDON,)),
    ):
        assert untolerated(item, shape()) == [CORDON]
        tolerant = shape(tolerations=(Toleration(CORDON.key, "Exists", "", "NoSchedule"),))
        assert untolerated(item, tolerant) == []


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (port(80), port(80), True),
        (port(80), port(81), False),
        (port(80), port(80, "UDP"), False),
        (port(80), port(80, ""), True),
        (port(80, address="10.0.0.1"), port(80, address="10.0.0.2"), False),
        (port(80, address="10.0.0.1"), port(80, address="0.0.0.0"), True),
        (port(80, address="10.0.0.1"), port(80), True),
    ],
)
def test_host_ports_clash_symmetrically(one: HostPort, other: HostPort, expected: bool) -> None:
    assert ports_clash([one], [other]) is expected
    assert ports_clash([other], [one]) is expected


def test_unsupported_operators_are_named() -> None:
    assert undecidable(shape(tolerations=(Toleration("rank", "Gt", "5"),))) == [
        "the toleration operator Gt"
    ]
    strange = Term((Requirement("a", "Like", ("b",)),), (Requirement("spec.x", "In", ("y",)),))
    assert undecidable(shape(affinity=(strange,), undecidable=("a driver",))) == [
        "a driver",
        "the node affinity operator Like",
        "node affinity to the field spec.x by In",
    ]
