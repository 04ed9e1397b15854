"""When and why the capacity of a cluster is unknown."""

from __future__ import annotations

import pytest

from gangboard.decode.list_watch_decoder import DecodeProblem
from gangboard.decode.nodes import NODE
from gangboard.decode.pods import POD
from gangboard.domain.api_resource import WatchState
from gangboard.facts.cluster_view import kubernetes_minor
from gangboard.polling.resource_watch import WatchedResource
from gangboard.polling.visibility import why_capacity_unknown
from tests.domain_objects import NOW, ago


def visibility(
    nodes: WatchedResource | None = None, pods: WatchedResource | None = None
) -> dict[str, WatchedResource]:
    return {NODE.key: nodes or resource_state(NODE.key), POD.key: pods or resource_state(POD.key)}


def resource_state(
    key: str, state: str = "ok", *, current: bool = True, contact: float = 1
) -> WatchedResource:
    return WatchedResource(
        NODE if key == NODE.key else POD,
        version="v1",
        state=WatchState(state),
        listed_at=ago(60),
        contact_at=ago(contact),
        is_current=current,
    )


@pytest.mark.parametrize(
    ("state", "current", "contact", "clause"),
    [
        ("ok", True, 1, ""),
        ("failing", True, 60, ""),
        ("failing", True, 130, "failing"),
        ("failing", False, 1, "failing"),
        ("forbidden", True, 1, "forbidden"),
        ("not-served", False, 1, "not served"),
        ("listing", False, 1, "not read yet"),
        ("ok", False, 1, "not read yet"),
        ("unknown-version", True, 1, "served in versions that this release cannot read"),
    ],
)
@pytest.mark.parametrize("key", ["nodes", "pods"])
def test_the_reason_for_unknown_capacity_is_shown(
    key: str, state: str, current: bool, contact: float, clause: str
) -> None:
    watched = resource_state(key, state, current=current, contact=contact)
    reason = why_capacity_unknown(visibility(**{key: watched}), NOW)
    assert reason == (f"{key}: {clause}" if clause else "")


def test_one_unreadable_node_makes_the_capacity_unknown() -> None:
    watched = resource_state(NODE.key)
    watched.add_problem(DecodeProblem("", "n7", "uid", "Node n7 is read only in part.", False))
    assert why_capacity_unknown(visibility(watched), NOW) == ""
    watched.add_problem(DecodeProblem("", "n7", "uid", "Node n7 cannot be read."))
    assert why_capacity_unknown(visibility(watched), NOW) == "nodes: 1 cannot be read"
    assert watched.remove_problem(("", "n7"))
    assert why_capacity_unknown(visibility(watched), NOW) == ""


@pytest.mark.parametrize(
    ("text", "minor"),
    [
        ("v1.37.0", (1, 37)),
        ("v1.35.2+k3s1", (1, 35)),
        ("v1.36.1-gke.1000", (1, 36)),
        ("1.37", (1, 37)),
        ("", None),
        ("unknown", None),
    ],
)
def test_the_version_of_the_server_is_shown(text: str, minor: tuple[int, int] | None) -> None:
    assert kubernetes_minor(text) == minor
