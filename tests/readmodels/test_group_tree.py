"""Groups of one gang as a tree."""

from __future__ import annotations

from gangboard.pages.gang.groups import order_as_tree
from gangboard.readmodels.groups import GroupOfGangRow


def a_row(kind: str, name: str, *, parent: str = "", controller: str = "") -> GroupOfGangRow:
    return GroupOfGangRow(
        id=name,
        cluster="east",
        api_group="scheduling.k8s.io",
        api_version="v1beta1",
        kind=kind,
        namespace="research",
        name=name,
        uid=f"uid-{kind}-{name}",
        generation=1,
        policy="gang",
        policy_label="",
        policy_text="",
        quorum=None,
        template_name="",
        template_quorum=None,
        workload="",
        parent=parent,
        topology_keys=(),
        priority=None,
        disruption_mode="",
        placed=None,
        placed_face=None,
        templates=(),
        template_word="template",
        controller=controller,
        created_at=None,
        deleting_since=None,
        stale=False,
        domains={},
    )


def drawn(*rows: GroupOfGangRow) -> list[tuple[int, str, str]]:
    return [(row.depth, row.kind, row.name) for row in order_as_tree(rows)]


def test_child_groups_are_below_their_parent() -> None:
    of = "PodGang run"
    rows = (
        a_row("Workload", "run", controller=of),
        a_row("CompositePodGroup", "run", controller=of),
        a_row("PodGang", "run", controller="PodCliqueSet chat"),
        a_row("PodGroup", "left", parent="run", controller=of),
        a_row("PodGroup", "right", parent="run", controller=of),
    )
    assert drawn(*rows) == [
        (0, "PodGang", "run"),
        (1, "Workload", "run"),
        (1, "CompositePodGroup", "run"),
        (2, "PodGroup", "left"),
        (2, "PodGroup", "right"),
    ]


def test_groups_without_a_known_parent_are_roots() -> None:
    """Near miss: the named parent is missing."""
    rows = (a_row("PodGroup", "a", parent="gone"), a_row("PodGroup", "b", controller="Job train"))
    assert drawn(*rows) == [(0, "PodGroup", "a"), (0, "PodGroup", "b")]


def test_a_cycle_shows_every_group_once() -> None:
    rows = (
        a_row("CompositePodGroup", "a", parent="b"),
        a_row("CompositePodGroup", "b", parent="a"),
        a_row("CompositePodGroup", "self", parent="self"),
    )
    result = drawn(*rows)
    assert sorted(name for _, _, name in result) == ["a", "b", "self"]
    assert result[0] == (0, "CompositePodGroup", "self")


def test_a_group_of_another_kind_is_not_a_parent() -> None:
    rows = (a_row("PodGroup", "run"), a_row("PodGroup", "left", parent="run"))
    assert drawn(*rows) == [(0, "PodGroup", "run"), (0, "PodGroup", "left")]


def test_an_unusually_deep_tree_is_drawn_to_a_limit() -> None:
    rows = [a_row("CompositePodGroup", "c0")]
    rows += [a_row("CompositePodGroup", f"c{n}", parent=f"c{n - 1}") for n in range(1, 9)]
    assert [depth for depth, _, _ in drawn(*rows)] == [0, 1, 2, 3, 4, 4, 4, 4, 4]
