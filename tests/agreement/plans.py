"""Drawn clusters whose plan is carried out: full, cordoned and tainted nodes, incomplete Jobs, replicas, and gangs.

Everything of one cluster is on nodes of its own in a pool that all of its pods select. The gangs are Jobs, whose
controller makes their pods and groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.agreement import objects
from tests.agreement.jobs import BATCH
from tests.controlplane.client import Json
from tests.controlplane.nodes import node
from tests.controlplane.objects import pod

HALF = "agreement.test/half"
"""Node label with one of two values, so that an incomplete Job does not take all nodes."""
APP = "agreement.test/app"


@dataclass(frozen=True)
class PlanNode:
    """A node with GPUs."""

    name: str
    gpus: int
    half: str
    rack: str
    cordoned: bool = False
    tainted: bool = False
    fixed: int = 0
    """GPUs of a pod that nobody makes anew."""
    replicas: tuple[int, ...] = ()
    """GPUs of pods of ReplicaSets."""


@dataclass(frozen=True)
class PlanGang:
    """A Job whose pods all request the same GPUs."""

    name: str
    pods: int
    gpus: int
    together: bool = True
    """Its pods are a gang. Otherwise the scheduler places them one by one."""
    half: str = ""
    rack: bool = False
    """All pods in one rack."""


@dataclass(frozen=True)
class PlanCase:
    """One cluster. `name` is all that is needed to make it again."""

    seed: int
    number: int
    nodes: tuple[PlanNode, ...]
    first: tuple[PlanGang, ...]
    """Jobs that take what they get before the others come."""
    gangs: tuple[PlanGang, ...]

    @property
    def name(self) -> str:
        """The name of its pool."""
        return f"plan-s{self.seed}-c{self.number}"

    def named(self, short: str) -> str:
        """Return the full name of one of its Jobs."""
        return f"{self.name}-{short}"


def make_plan_case(seed: int, number: int) -> PlanCase:
    """Return the case of that number: always the same for the same seed."""
    dice = Random(f"{seed}/{number}/plan")
    name = f"plan-s{seed}-c{number}"
    nodes = tuple(_node(dice, f"{name}-n{index}") for index in range(dice.randint(4, 8)))
    first: tuple[PlanGang, ...] = ()
    if dice.random() < 0.7:
        gpus = dice.choice((1, 2, 4))
        half = dice.choice("ab")
        places = sum(
            max(0, item.gpus - item.fixed - sum(item.replicas)) // gpus
            for item in nodes
            if item.half == half and not (item.cordoned or item.tainted)
        )
        if places:
            first = (PlanGang("first", places + dice.randint(1, 2), gpus, False, half),)
    gangs = tuple(
        PlanGang(
            f"g{index}",
            dice.randint(1, 3),
            dice.choice((2, 3, 4, 4, 8)),
            together=dice.random() < 0.85,
            rack=dice.random() < 0.2,
        )
        for index in range(dice.randint(1, 4))
    )
    return PlanCase(seed, number, nodes, first, gangs)


def _node(dice: Random, name: str) -> PlanNode:
    gpus = dice.choice((4, 4, 8))
    cordoned, tainted = dice.random() < 0.25, dice.random() < 0.1
    fixed = dice.choice((0, gpus // 2, gpus // 2, gpus - 1, gpus))
    replicas: list[int] = []
    free = gpus - fixed
    while free and len(replicas) < 3 and dice.random() < 0.7:
        replicas.append(dice.randint(1, min(2, free)))
        free -= replicas[-1]
    half, rack = dice.choice("ab"), dice.choice("xy")
    return PlanNode(name, gpus, half, rack, cordoned, tainted, fixed, tuple(replicas))


# As objects


def node_objects(case: PlanCase, run: str) -> list[Json]:
    """Return its nodes."""
    taint = {"key": objects.TAINT, "value": "others", "effect": "NoSchedule"}
    return [
        node(
            item.name,
            gpus=item.gpus,
            labels={
                objects.POOL: case.name,
                objects.RUN: run,
                objects.RACK: item.rack,
                HALF: item.half,
            },
            taints=[taint] if item.tainted else [],
            unschedulable=item.cordoned,
        )
        for item in case.nodes
    ]


def placed_objects(case: PlanCase, namespace: str, run: str) -> list[Json]:
    """Return the pods on its nodes, and the ReplicaSets that adopt those that they can make anew."""
    created = []
    for item in case.nodes:
        if item.fixed:
            created.append(_pod(case, f"{item.name}-fixed", namespace, run, item.fixed, item.name))
        for index, gpus in enumerate(item.replicas):
            name = f"{item.name}-r{index}"
            replica = _pod(case, name, namespace, run, gpus, item.name)
            replica["metadata"]["labels"][APP] = name
            created += [replica, _replica_set(case, name, namespace, run, gpus)]
    return created


def _pod(
    case: PlanCase, name: str, namespace: str, run: str, gpus: int, on: str | None = None
) -> Json:
    spec: Json = {"nodeSelector": {objects.POOL: case.name}, "terminationGracePeriodSeconds": 0}
    if on:
        spec["nodeName"] = on
    labels = {objects.RUN: run, objects.POOL: case.name}
    return pod(name, namespace, cpu="10m", gpu=gpus, labels=labels, spec=spec)


def _replica_set(case: PlanCase, name: str, namespace: str, run: str, gpus: int) -> Json:
    template = _pod(case, name, namespace, run, gpus)
    labels = {**template["metadata"]["labels"], APP: name}
    spec = {**template["spec"], "restartPolicy": "Always"}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {APP: name}},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def job_objects(case: PlanCase, gangs: Sequence[PlanGang], namespace: str, run: str) -> list[Json]:
    """Return Jobs as their users make them."""
    return [_job(case, gang, namespace, run) for gang in gangs]


def _job(case: PlanCase, gang: PlanGang, namespace: str, run: str) -> Json:
    template = _pod(case, gang.name, namespace, run, gang.gpus)
    spec = {**template["spec"], "restartPolicy": "Never"}
    if gang.half:
        spec["nodeSelector"] = {**spec["nodeSelector"], HALF: gang.half}
    job: Json = {
        "parallelism": gang.pods,
        "completions": gang.pods if gang.together else 2 * gang.pods,
        "completionMode": "Indexed",
        "template": {"metadata": {"labels": template["metadata"]["labels"]}, "spec": spec},
    }
    if gang.together:
        job["scheduling"] = {"schedulingPolicy": {"gang": {}}}
        if gang.rack:
            constraint = {"topology": [{"key": objects.RACK}]}
            job["scheduling"]["schedulingConstraints"] = constraint
    labels = {objects.RUN: run, objects.POOL: case.name}
    metadata = {"name": case.named(gang.name), "namespace": namespace, "labels": labels}
    return {"apiVersion": BATCH, "kind": "Job", "metadata": metadata, "spec": job}
