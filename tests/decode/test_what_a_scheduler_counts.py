"""The free capacity of a node is exactly that of the real scheduler."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.decode.nodes import NODE
from gangboard.decode.pods import POD
from gangboard.domain.pod_constraints import HostPort
from gangboard.placement.usage import Usage
from tests.controlplane.client import Client, Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import Fleets, Namespaces
from tests.controlplane.nodes import make_nodes, node
from tests.controlplane.objects import pod
from tests.decode.reading import model

GI = 1024**3


def container(name: str, limits: Json | None = None, **requests: str) -> Json:
    resources = {"requests": requests, **({"limits": limits} if limits else {})}
    return {"name": name, "image": "registry.example/a:1", "resources": resources}


def sidecar(name: str, **requests: str) -> Json:
    return {**container(name, None, **requests), "restartPolicy": "Always"}


def given(cpu: str, asked_in_vain: bool = False) -> Json:
    running = {"running": {"startedAt": "2026-10-02T08:00:00Z"}}
    status: Json = {
        "phase": "Running",
        "containerStatuses": [
            {"name": "a", "ready": True, "restartCount": 0, "image": "a", "imageID": "a",
             "state": running, "allocatedResources": {"cpu": cpu},
             "resources": {"requests": {"cpu": cpu}}},
        ],
    }  # fmt: skip
    if asked_in_vain:
        pending = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
        status["conditions"] = [pending]
    return status


# Name → spec of the existing pod, its status if the kubelet is played, the resource, and the
# documented amount such a pod uses (thousandths of a core, bytes).
CASES: dict[str, tuple[Json, Json | None, str, int]] = {
    "containers": ({"containers": [container("a", cpu="500m"), container("b", cpu="1")]},
                   None, "cpu", 1500),
    "initialization": ({"containers": [container("a", cpu="1")],
                        "initContainers": [container("i", cpu="3"), container("j", cpu="2")]},
                       None, "cpu", 3000),
    # KEP-753: max(1 + 2, 5 before the sidecar, 4 + 2 after it).
    "sidecar": ({"containers": [container("a", cpu="1")],
                 "initContainers": [container("i", cpu="5"), sidecar("s", cpu="2"),
                                    container("j", cpu="4")]},
                None, "cpu", 6000),
    "overhead": ({"containers": [container("a", cpu="1")], "runtimeClassName": "heavy"},
                 None, "cpu", 1250),
    "whole-pod": ({"containers": [container("a", cpu="1")],
                   "resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "6"}}},
                  None, "cpu", 4000),
    "whole-pod-limit": ({"containers": [container("a", cpu="1")],
                         "resources": {"limits": {"cpu": "6", "memory": "2Gi"}}},
                        None, "memory", 2 * GI),
    "limit": ({"containers": [container("a", limits={"cpu": "2"})]}, None, "cpu", 2000),
    # Three tenths of a byte are one byte.
    "fractions": ({"containers": [container(name, memory="100m") for name in "abc"]},
                  None, "memory", 1),
    "shrinking": ({"containers": [container("a", cpu="1")]}, given("3"), "cpu", 3000),
    "resized-in-vain": ({"containers": [container("a", cpu="6")]}, given("2", True), "cpu", 2000),
}  # fmt: skip
ROOM = {"cpu": 8000, "memory": 32 * GI}


def settled(client: Client, name: str, namespace: str) -> bool | None:
    """Whether the scheduler has given the pod its node, or said that it cannot."""
    result = client.get("v1", "Pod", name, namespace)
    if result["spec"].get("nodeName"):
        return True
    conditions = result["status"].get("conditions", [])
    refused = any(
        condition["type"] == "PodScheduled" and condition["status"] == "False"
        for condition in conditions
    )
    return False if refused else None


def place(
    client: Client, where: str, name: str, on: str, spec: Json, labels: Json | None = None
) -> bool:
    """Create a pod that only that node can host; return whether it got it."""
    selector = {"kubernetes.io/hostname": on}
    options: Any = {"hands_off": True, "node_selector": selector, "spec": spec}
    options["labels"] = labels or {}
    client.create(pod(name, where, **options))
    return bool(
        wait(
            lambda: None if (verdicts := settled(client, name, where)) is None else (verdicts,),
            what=f"a word about {name}",
        )[0]
    )


def probe(resource: str, amount: int) -> Json:
    text = f"{amount}m" if resource == "cpu" else str(amount)
    return {"containers": [container("probe", None, **{resource: text})]}


def usage_of(client: Client, namespace: str) -> Usage:
    usage = Usage()
    for result in client.list("v1", "Node"):
        usage.put_node(model(NODE, result))
    for result in client.list("v1", "Pod", namespace):
        usage.put_pod(model(POD, result))
    return usage


@pytest.fixture
def heavy(controlplane_137: ControlPlane) -> Any:
    """A RuntimeClass whose pods take a quarter of a core more."""
    client = controlplane_137.client
    client.create(
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": "heavy"},
            "handler": "heavy",
            "overhead": {"podFixed": {"cpu": "250m"}},
        }
    )
    yield
    client.delete("node.k8s.io/v1", "RuntimeClass", "heavy")


@pytest.mark.usefixtures("heavy")
def test_the_free_amount_fits_and_one_more_unit_does_not(
    controlplane_137: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    client, nodes = no_nodes(controlplane_137), namespace(controlplane_137)
    make_nodes(client, [node(f"{case}-{end}") for case in CASES for end in ("fits", "over")])
    for case, (spec, status, _, _) in CASES.items():
        for end in ("fits", "over"):
            assert place(client, nodes, f"{case}-{end}", f"{case}-{end}", spec)
            if status is not None:
                client.patch_status("v1", "Pod", f"{case}-{end}", status, nodes)
    usage = usage_of(client, nodes)
    rooms = {room.name: room for room in usage.capacity().nodes}
    for case, (_, _, resource, taken) in CASES.items():
        room = rooms[f"{case}-fits"]
        assert (case, room.allocatable[resource]) == (case, ROOM[resource])
        assert (case, room.now.amounts[resource]) == (case, taken)
        left = room.allocatable[resource] - room.now.amounts[resource]
        fits = place(client, nodes, f"{case}-exact", f"{case}-fits", probe(resource, left))
        over = place(client, nodes, f"{case}-more", f"{case}-over", probe(resource, left + 1))
        assert (case, fits, over) == (case, True, False)


def test_ports_with_host_network_are_host_ports(
    controlplane_137: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    client, nodes = no_nodes(controlplane_137), namespace(controlplane_137)
    make_nodes(client, [node("n1")])
    listening = {**container("a", cpu="1"), "ports": [{"containerPort": 8080}]}
    beside = {**sidecar("s", cpu="1"), "ports": [{"containerPort": 9}]}
    spec = {"containers": [listening], "initContainers": [beside], "hostNetwork": True}
    assert place(client, nodes, "first", "n1", spec)
    (room,) = usage_of(client, nodes).capacity().nodes
    assert room.now.host_ports == {HostPort(8080), HostPort(9)}
    for number, name in ((8080, "main"), (9, "side")):
        taken = {**container("a", cpu="1"), "ports": [{"containerPort": 1, "hostPort": number}]}
        assert not place(client, nodes, name, "n1", {"containers": [taken]})
    free = {**container("a", cpu="1"), "ports": [{"containerPort": 8080}]}
    assert place(client, nodes, "inside", "n1", {"containers": [free]})


def test_anti_affinity_allows_one_pod_of_each_set_per_node(
    controlplane_137: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    client, where = no_nodes(controlplane_137), namespace(controlplane_137)
    make_nodes(client, [node("n1")])
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "train"}},
        "matchLabelKeys": ["rank"],
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spec = {"containers": [container("a", cpu="1")], "affinity": affinity}

    def put(name: str, rank: str) -> bool:
        return place(client, where, name, "n1", spec, {"app": "train", "rank": rank})

    assert [put("a", "0"), put("b", "0"), put("c", "1")] == [True, False, True]
    read = [model(POD, client.get("v1", "Pod", name, where)) for name in "abc"]
    first, second, third = (item.needs.anti_affinity for item in read)
    assert len(first) == len(third) == 1
    assert first == second != third
    (room,) = usage_of(client, where).capacity().nodes
    assert room.now.anti_affinity == room.now.matched_terms == dict.fromkeys((*first, *third), 1)


def test_term_matches_all_pods_with_these_labels_in_its_namespaces(
    controlplane_137: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    """Both ways: who has the term stays away from who matches, and the other way round."""
    client, nodes = no_nodes(controlplane_137), namespace(controlplane_137)
    elsewhere = namespace(controlplane_137)
    make_nodes(client, [node(name) for name in ("n1", "n2")])
    selector = {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["mine"]}]}

    def spec(**extra: Any) -> Json:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector, **extra}
        rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        return {"containers": [container("a", cpu="1")], "affinity": rule}

    plain = {"containers": [container("a", cpu="1")]}
    mine = {"app": "mine"}
    # It does not match itself: two share a node. A pod without labels matches NotIn.
    assert place(client, nodes, "a", "n1", spec(), mine)
    assert place(client, nodes, "b", "n1", spec(), mine)
    assert not place(client, nodes, "c", "n1", plain)
    assert place(client, elsewhere, "d", "n1", plain)
    # All namespaces: the pod of the other one is in the way now, and the own are not.
    assert not place(client, nodes, "e", "n1", spec(namespaceSelector={}), mine)
    assert place(client, nodes, "f", "n2", spec(namespaces=[elsewhere]), mine)
    assert not place(client, elsewhere, "g", "n2", plain)
    assert place(client, nodes, "h", "n2", plain)
    usage = usage_of(client, nodes)
    for result in client.list("v1", "Pod", elsewhere):
        usage.put_pod(model(POD, result))
    first, second = usage.capacity().nodes
    names = f"{nodes}/app notin (mine)", f"{elsewhere}/app notin (mine)"
    every = "/app notin (mine) and namespaces with any labels"
    assert {term.name: count for term, count in first.now.anti_affinity.items()} == {names[0]: 2}
    assert {term.name: count for term, count in first.now.matched_terms.items()} == {
        names[1]: 1, every: 1
    }  # fmt: skip
    assert {term.name: count for term, count in second.now.anti_affinity.items()} == {names[1]: 1}
    assert {term.name: count for term, count in second.now.matched_terms.items()} == {
        names[0]: 1, every: 1
    }  # fmt: skip
