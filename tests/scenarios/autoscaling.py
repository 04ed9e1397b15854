"""Nodes on their way where autoscalers have objects; the tests play Karpenter and cluster-autoscaler.

They do what Karpenter does in its order (pkg/controllers/provisioning, nodeclaim/lifecycle): a claim, then
`Nominated` of the pods, then conditions; an impossible claim gets a message and is deleted. Where no
NodeClaims are served, `scaling` has the same with events alone.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

from tests.controlplane.client import Client, Json, wait
from tests.scenarios.making import loose, taint
from tests.scenarios.scaling import waiting_pods
from tests.scenarios.scenario import Played, Room, Scenario, Stage, Step, patiently

MANIFEST = Path(__file__).with_suffix(".yaml")
API = "karpenter.sh/v1"
REQUEST = "autoscaling.x-k8s.io/v1"
PODS = 2
STARTUP = taint("node.example.com/starting")
"""Startup taint of a node without network. A NodeClaim names it in `startupTaints`."""


def install_autoscaling(client: Client) -> None:
    """Create the resources NodeClaim and ProvisioningRequest, without an autoscaler."""
    client.create_all(yaml.safe_load_all(MANIFEST.read_text()))
    wait(lambda: _are_served(client), what="NodeClaims and ProvisioningRequests to be served")


def _are_served(client: Client) -> bool:
    groups = {group["name"] for group in client.request("GET", "/apis")["groups"]}
    return {"karpenter.sh", "autoscaling.x-k8s.io"} <= groups


def _claim(name: str) -> Json:
    return {
        "apiVersion": API,
        "kind": "NodeClaim",
        "metadata": {"name": name, "labels": {"karpenter.sh/nodepool": "large"}},
        "spec": {
            "requirements": [],
            "resources": {"requests": {"cpu": "24"}},
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "large"},
        },
    }


def _nominate(stage: Stage) -> None:
    """Create a claim for all waiting pods, with an event on each. The claim is not launched yet."""
    stage.client.create(_claim(stage.pool))
    _set(stage, Launched="", Registered="", Initialized="")
    _say(stage)


def _say(stage: Stage) -> None:
    patiently(lambda: len(waiting_pods(stage)) == PODS, f"{PODS} refused pods in {stage.namespace}")
    for pod in waiting_pods(stage):
        text = f"Pod should schedule on: nodeclaim/{stage.pool}"
        stage.tell(pod, "Nominated", text, "karpenter")


def _set(stage: Stage, node: str = "", **conditions: str) -> None:
    """Set the conditions of the claim: to True, or to Unknown with `Reason: message`."""
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    result = []
    for name, word in conditions.items():
        reason, _, message = (word or _AWAITED).partition(": ")
        status = {"status": "True", "reason": name, "message": ""}
        if word != "True":
            status = {"status": "Unknown", "reason": reason, "message": message}
        result.append({"type": name, "lastTransitionTime": now, **status})
    named = {"nodeName": node} if node else {}
    stage.client.patch_status(API, "NodeClaim", stage.pool, {"conditions": result, **named})


_AWAITED = "AwaitingReconciliation: object is awaiting reconciliation"
_NO_NODE = "NodeNotFound: Node not registered with cluster"
_STARTING = 'StartupTaintsExist: StartupTaint "node.example.com/starting:NoSchedule" still exists'


def _launch(stage: Stage) -> None:
    _set(stage, Launched="True", Registered=_NO_NODE, Initialized="")


def _fail(stage: Stage) -> None:
    text = (
        "LaunchFailed: creating instance, VcpuLimitExceeded: you have requested more vCPU capacity"
    )
    _set(stage, Launched=text, Registered="", Initialized="")


def _register(stage: Stage) -> None:
    """Let the nodes come, each with the taint that keeps pods away until it has started."""
    stage.add_nodes(Room(cpu="16", taints=[STARTUP]), Room(cpu="16", taints=[STARTUP]))
    _set(stage, node=stage.node("2"), Launched="True", Registered="True", Initialized=_STARTING)


def _initialize(stage: Stage) -> None:
    for at in ("2", "3"):
        stage.client.patch("v1", "Node", stage.node(at), {"spec": {"taints": None}})
    _set(stage, node=stage.node("2"), Launched="True", Registered="True", Initialized="True")


def _give_up(stage: Stage) -> None:
    """Say that the cloud has no such machine, and delete the claim."""
    claim = stage.client.get(API, "NodeClaim", stage.pool)
    about = {"apiVersion": API, "kind": "NodeClaim", "name": stage.pool}
    about["uid"] = claim["metadata"]["uid"]
    stage.client.create(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{stage.pool}.gone", "namespace": "default"},
            "involvedObject": about,
            "reason": "InsufficientCapacityError",
            "message": f"NodeClaim {stage.pool} event: all requested instance types were unavailable",
            "type": "Warning",
            "source": {"component": "karpenter"},
            "reportingComponent": "karpenter",
            "firstTimestamp": claim["metadata"]["creationTimestamp"],
            "lastTimestamp": claim["metadata"]["creationTimestamp"],
            "count": 1,
        }
    )
    stage.client.delete(API, "NodeClaim", stage.pool)


def _after(*acts: Callable[[Stage], None]) -> Callable[[Stage], None]:
    def act(stage: Stage) -> None:
        for item in acts:
            item(stage)

    return act


def _node_without_room(stage: Stage) -> None:
    _nominate(stage)
    _set(stage, node=stage.node("0"), Launched="True", Registered="True", Initialized="True")


def _asking(ns: str, nodes: Mapping[str, str]) -> list[Json]:
    """Return a ProvisioningRequest `big` without a status, and pods that consume it."""
    requested = {
        "apiVersion": REQUEST,
        "kind": "ProvisioningRequest",
        "metadata": {"name": "big", "namespace": ns},
        "spec": {
            "provisioningClassName": "best-effort-atomic-scale-up.autoscaling.x-k8s.io",
            "podSets": [{"count": PODS, "podTemplateRef": {"name": "big"}}],
        },
    }
    consumes = {"autoscaling.x-k8s.io/consume-provisioning-request": "big"}
    return [requested, *loose(PODS, cpu="12", annotations=consumes)(ns, nodes)]


def _answer(*message: tuple[str, str, str, str]) -> Callable[[Stage], None]:
    """Set (type, status, reason, message) on the request."""

    def act(stage: Stage) -> None:
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        names = ("type", "status", "reason", "message")
        conditions = [
            {**dict(zip(names, item, strict=True)), "lastTransitionTime": now} for item in message
        ]
        stage.client.patch_status(
            REQUEST, "ProvisioningRequest", "big", {"conditions": conditions}, stage.namespace
        )

    return act


_ACCEPTED = ("Accepted", "True", "Accepted", "ProvisioningRequest is accepted by ClusterAutoscaler")
_NOT_FOUND = (
    "Provisioned", "False", "CapacityIsNotFound",
    "Capacity is not found, CA will try to find it later.",
)  # fmt: skip
_FAILED = ("Failed", "True", "Expired", "ProvisioningRequest is expired")
_PROVISIONED = (
    "Provisioned", "True", "CapacityIsProvisioned", "Capacity is found in the cluster",
)  # fmt: skip


def _add_nodes(stage: Stage) -> None:
    stage.add_nodes(Room(cpu="16"), Room(cpu="16"))


# Two pods of 12 cores on nodes of 8: without other nodes there is no place for them.
NOWHERE = ("no-matching-node", "blocked", ("12", "8", "CPU"), {"scheduled": 0})
WAITS = ("waiting-for-nodes", "waiting")
AUTOSCALING = (
    Scenario(
        "claim-comes", "Job", "run", NOWHERE[0], NOWHERE[1], loose(PODS, cpu="12"),
        says=NOWHERE[2], members=NOWHERE[3], nodes=2, twin="claim-launched",
        steps=(
            Step(_nominate, *WAITS, ("Karpenter", "2 of 2", "claim-comes", "not launched yet")),
            Step(_launch, *WAITS, ("claim-comes was launched at", "not registered yet")),
            Step(_register, *WAITS, ("node claim-comes-2", "not initialized yet", "starting")),
            Step(_initialize, "running", "running", (), {"ready": 2}),
        ),
    ),
    Scenario(
        "claim-gone", "Job", "run", *WAITS, loose(PODS, cpu="12"),
        says=("NodeClaim claim-gone", "2 of 2"), members={"scheduled": 0}, nodes=2,
        act=_nominate, twin="claim-comes", steps=(Step(_give_up, *NOWHERE),),
    ),
    Scenario(
        "claim-launched", "Job", "run", *WAITS, loose(PODS, cpu="12"),
        says=("NodeClaim claim-launched", "not registered yet"), members={"scheduled": 0}, nodes=2,
        act=_after(_nominate, _launch), twin="claim-without-use",
    ),
    Scenario(
        "claim-fails", "Job", "run", *WAITS, loose(PODS, cpu="12"),
        says=("is trying", "could not be launched", "VcpuLimitExceeded"), members={"scheduled": 0},
        nodes=2, act=_after(_nominate, _fail), twin="claim-without-use",
    ),
    # Its node exists, and the pods do not fit, so no node is expected.
    Scenario(
        "claim-without-use", "Job", "run", NOWHERE[0], NOWHERE[1], loose(PODS, cpu="12"),
        says=NOWHERE[2], members=NOWHERE[3], nodes=2, act=_node_without_room,
        twin="claim-launched",
    ),
    # Said of a claim that is not there: it was deleted before anybody looked.
    Scenario(
        "claim-unheard-of", "Job", "run", NOWHERE[0], NOWHERE[1], loose(PODS, cpu="12"),
        says=NOWHERE[2], members=NOWHERE[3], nodes=2, act=_say, twin="claim-launched",
    ),
    Scenario(
        "request-comes", "Job", "run", NOWHERE[0], NOWHERE[1], _asking,
        says=NOWHERE[2], members=NOWHERE[3], nodes=2, twin="request-fails",
        steps=(
            Step(_answer(_ACCEPTED), *WAITS, ("cluster-autoscaler is adding", "2 of 2", "Request big")),
            Step(_answer(_ACCEPTED, _PROVISIONED), *WAITS, ("big was provisioned at",)),
            Step(_add_nodes, "running", "running", (), {"ready": 2}),
        ),
    ),
    Scenario(
        "request-fails", "Job", "run", *WAITS, _asking,
        says=("is trying", "Capacity is not found"), members={"scheduled": 0}, nodes=2,
        act=_answer(_ACCEPTED, _NOT_FOUND), twin="request-comes",
        steps=(Step(_answer(_ACCEPTED, _NOT_FOUND, _FAILED), *NOWHERE),),
    ),
)  # fmt: skip

PLAYED: Played = {"plain": AUTOSCALING}
