"""The real LeaderWorkerSet 0.9: its objects, and the labels of its pods."""

from __future__ import annotations

import pytest

from tests.controlplane.client import Client, Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import Fleets, Namespaces
from tests.controlplane.leaderworkersets import LWS, disaggregatedset, leaderworkerset
from tests.controlplane.nodes import make_nodes, node

pytestmark = pytest.mark.controlplane
_PREFIX = "leaderworkerset.sigs.k8s.io"


def _members(client: Client, namespace: str) -> dict[str, tuple[str, str]]:
    """Return pod → (its LeaderWorkerSet, its group) by its labels."""
    result = {}
    for pod in client.list("v1", "Pod", namespace):
        labels = pod["metadata"]["labels"]
        name, group = labels[f"{_PREFIX}/name"], labels[f"{_PREFIX}/group-index"]
        result[pod["metadata"]["name"]] = (name, group)
    return result


def test_each_replica_gets_a_group_of_pods(
    controlplane_kueue: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    client, where = no_nodes(controlplane_kueue), namespace(controlplane_kueue)
    make_nodes(client, [node("n0")])
    client.create(leaderworkerset("run", where, replicas=2, size=3))
    expected = {
        "run-0": ("run", "0"), "run-0-1": ("run", "0"), "run-0-2": ("run", "0"),
        "run-1": ("run", "1"), "run-1-1": ("run", "1"), "run-1-2": ("run", "1"),
    }  # fmt: skip
    wait(lambda: _members(client, where) == expected, what="six pods in two groups")
    controllers = {
        pod["metadata"]["name"]: pod["metadata"]["ownerReferences"][0]
        for pod in client.list("v1", "Pod", where)
    }
    assert {controller["kind"] for controller in controllers.values()} == {"StatefulSet"}
    assert controllers["run-0-1"]["name"] == "run-0"


def test_a_disaggregated_set_creates_a_set_for_each_role(
    controlplane_kueue: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    client, where = no_nodes(controlplane_kueue), namespace(controlplane_kueue)
    make_nodes(client, [node("n0")])
    spec = leaderworkerset("", where, replicas=1, size=2)["spec"]
    client.create(disaggregatedset("serve", where, {"prefill": spec, "decode": spec}))

    def roles() -> list[str]:
        return sorted(map(_role, client.list(LWS, "LeaderWorkerSet", where)))

    wait(lambda: roles() == ["decode", "prefill"], what="two LeaderWorkerSets", seen=roles)
    for created in client.list(LWS, "LeaderWorkerSet", where):
        (owner,) = created["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == (
            "DisaggregatedSet",
            "serve",
            True,
        )
    wait(lambda: len(_members(client, where)) == 4, what="two pods of each role")


def _role(created: Json) -> str:
    role: str = created["metadata"]["labels"]["disaggregatedset.x-k8s.io/role"]
    return role
