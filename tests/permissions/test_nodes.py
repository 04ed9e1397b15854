"""The actor's role for nodes in a real API server: a cordon with its mark, its end, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from gangboard.policy.cordons import cordon, uncordon
from gangboard.policy.lever_permissions import PermissionOptions
from tests.controlplane.client import ApiError, Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import delete_nodes, make_nodes, node, with_annotations
from tests.permissions.installed import DENIED, Installed, installed, trial_of_actor
from tests.permissions.steps import send

pytestmark = pytest.mark.controlplane

NODE = "cordoned-by-tests"
MARK = "gangboard.dev/cordoned-by"
OPTIONS = PermissionOptions(not_served=frozenset({"workloads.kueue.x-k8s.io"}), cordon=True)


@pytest.fixture(scope="module", params=["137", "136"])
def with_nodes(request: pytest.FixtureRequest) -> Iterator[Installed]:
    """The accounts with the right to cordon, and a node."""
    plane: ControlPlane = request.getfixturevalue(f"controlplane_{request.param}")
    with installed(plane, OPTIONS) as installation:
        make_nodes(
            installation.admin, [with_annotations(node(NODE, cpu="4", labels={"team": "a"}))]
        )
        try:
            wait(lambda: _may_patch(installation), what="the role for nodes to be in force")
            yield installation
        finally:
            delete_nodes(installation.admin, [NODE])


def _may_patch(installation: Installed) -> bool:
    try:
        installation.actor.patch("v1", "Node", NODE, {"metadata": {"labels": {"x": "y"}}})
    except ApiError as error:
        return DENIED in error.message
    raise AssertionError("the actor changed a label of a node")


def patched(installation: Installed, body: Json) -> Json:
    return installation.actor.patch("v1", "Node", NODE, body)


def test_the_actor_cordons_with_its_mark_and_ends_its_own_cordon(with_nodes: Installed) -> None:
    answer = send(with_nodes.actor, cordon(NODE, "a-1"))
    assert answer["spec"]["unschedulable"] is True
    assert answer["metadata"]["annotations"][MARK] == "a-1"
    # Not twice: the patch tests that nobody has cordoned the node.
    with pytest.raises(ApiError, match="422"):
        send(with_nodes.actor, cordon(NODE, "a-2"))
    with pytest.raises(ApiError, match="422"):
        send(with_nodes.actor, uncordon(NODE, "a-2"))
    answer = send(with_nodes.actor, uncordon(NODE, "a-1"))
    assert "unschedulable" not in answer["spec"]
    assert MARK not in answer["metadata"]["annotations"]


def test_every_other_change_of_a_node_is_refused(with_nodes: Installed) -> None:
    marked = {"metadata": {"annotations": {MARK: "a-1"}}, "spec": {"unschedulable": True}}
    taint = {"key": "x", "effect": "NoSchedule"}
    for body, says in (
        ({"spec": {"taints": [taint]}}, "not spec.taints"),
        ({"spec": {"podCIDR": "10.0.0.0/24"}}, "not spec.podCIDR"),
        ({"spec": {"providerID": "x"}}, "not spec.providerID"),
        ({"metadata": {"labels": {"x": "y"}}}, "not metadata.labels"),
        ({"metadata": {"labels": {"team": None}}}, "not metadata.labels"),
        ({"metadata": {"finalizers": ["example.com/kept"]}}, "not metadata.finalizers"),
        ({"metadata": {"annotations": {"example.com/x": "y"}}}, "not annotations"),
        ({"spec": {"unschedulable": True}}, "only with the annotation"),
        ({"metadata": {"annotations": {MARK: "a-1"}}}, "only with the annotation"),
        ({**marked, "spec": {"unschedulable": True, "taints": [taint]}}, "not spec.taints"),
    ):
        with_nodes.admin.patch("v1", "Node", NODE, body, dry_run=True)
        with pytest.raises(ApiError) as caught:
            patched(with_nodes, body)
        assert caught.value.status == 403, (body, caught.value)
        assert DENIED in caught.value.message, (body, caught.value)
        assert says in caught.value.message, (body, caught.value)


def test_a_cordon_of_an_admin_stays(with_nodes: Installed) -> None:
    with_nodes.admin.patch("v1", "Node", NODE, {"spec": {"unschedulable": True}})
    try:
        for body in (
            {"spec": {"unschedulable": None}},
            {"spec": {"unschedulable": False}},
            # Not with a mark of its own either.
            {"metadata": {"annotations": {MARK: "a-1"}}},
        ):
            with pytest.raises(ApiError, match=r"only with the annotation"):
                patched(with_nodes, body)
    finally:
        with_nodes.admin.patch("v1", "Node", NODE, {"spec": {"unschedulable": None}})


def test_the_actor_cannot_list_or_delete_nodes(with_nodes: Installed) -> None:
    actor = with_nodes.actor
    for attempt in (
        lambda: actor.list("v1", "Node"),
        lambda: actor.delete("v1", "Node", NODE),
        lambda: actor.request(
            "PATCH",
            f"/api/v1/nodes/{NODE}/status",
            json.loads('{"status":{"phase":"x"}}'),
            content_type="application/merge-patch+json",
        ),
    ):
        with pytest.raises(ApiError, match=r"403 Forbidden.* cannot "):
            attempt()
    assert actor.get("v1", "Node", NODE)["metadata"]["name"] == NODE


def test_a_trial_of_the_actor_names_the_lever(with_nodes: Installed) -> None:
    trial = trial_of_actor(with_nodes.plane, wanted=OPTIONS)
    (lever,) = (item for item in trial.levers if item.lever == "hold-cordon")
    assert lever.is_usable, trial.sentence
