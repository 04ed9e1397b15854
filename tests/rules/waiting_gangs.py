"""Gangs that wait for a node, with a hand-made cluster and the real arithmetic."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from gangboard.domain.capacity import ClusterCapacity, NodeInfo, Requested, RunningGang
from gangboard.domain.pod_constraints import HostPort, PodConstraints
from gangboard.domain.verdict import Finding
from gangboard.facts.unit import Unit
from gangboard.placement.unit_placement import placing_of
from tests.domain_objects import Made, a_condition, a_group, a_job, a_pod, ago
from tests.domain_objects import placed as said_of_group
from tests.placement.making import GPU
from tests.rules import texts
from tests.rules.evaluation import require_finding, unit_of

GANG = "ring"


def capacity_of(
    *nodes: NodeInfo, running_gangs: tuple[RunningGang, ...] = (), why: str = ""
) -> ClusterCapacity:
    return ClusterCapacity(
        tuple(sorted(nodes, key=lambda item: item.name)), why, lambda: running_gangs
    )


def cpu_node(name: str, *, used: int = 0, **extra: Any) -> NodeInfo:
    """Return a node of 8 cores, 64Gi and 8 pods, without GPUs. `used` cores are taken."""
    defaults = {"allocatable": {"cpu": 8000, "memory": 64 * 2**30, "pods": 8}, **extra}
    return NodeInfo(
        name, {"kubernetes.io/hostname": name}, now=Requested({"cpu": used * 1000}), **defaults
    )


def pod_requests(gpu: int | str = 0, **amounts: str) -> dict[str, Decimal]:
    """Return the requests of one pod."""
    named = {name: Decimal(amount) for name, amount in amounts.items()}
    return {**({GPU: Decimal(gpu)} if gpu else {}), **named}


def members(
    count: int, requests: dict[str, Decimal], *, of: Any = None, text: str = "", **extra: Any
) -> tuple[Made, ...]:
    """Return waiting pods of a Job. `text` is the scheduler's message about the first one."""
    job = of.meta.ref.name if of is not None else "train"
    return tuple(
        a_pod(
            f"{job}-{index}",
            of=of,
            text=text if index == 0 else text and texts.POD_OF_GROUP,
            requests=requests,
            **extra,
        )
        for index in range(count)
    )


def gang(
    count: int,
    requests: dict[str, Decimal],
    room: ClusterCapacity,
    *,
    quorum: int | None = None,
    text: str = texts.GPU_SHORT,
    keys: tuple[str, ...] = (),
    on: tuple[str, ...] = (),
    **more: Any,
) -> Unit:
    """Return a gang Job of `count` pods. All of them wait, except those on the nodes `on`."""
    job = a_job("train", pods=count, group_name=GANG)
    group = a_group(
        GANG,
        quorum=quorum if quorum is not None else count,
        placed=said_of_group("False", texts.GROUP_SHORT),
        topology_keys=keys,
    )
    running = [
        a_pod(f"old-{index}", of=job, group=GANG, on=node, requests=requests)
        for index, node in enumerate(on)
    ]
    pods = members(count - len(on), requests, of=job, group=GANG, text=text, **more)
    return with_placement(unit_of(job, group, *running, *pods, facts={"room": room}))


def ungrouped_gang(
    count: int,
    requests: dict[str, Decimal],
    room: ClusterCapacity,
    *,
    text: str = texts.GPU_SHORT,
    on: tuple[str, ...] = (),
    **extra: Any,
) -> Unit:
    """Return the same without a group: pod by pod, each pod with its own text."""
    job = a_job("train", pods=count)
    running = [
        a_pod(f"old-{index}", of=job, on=node, requests=requests) for index, node in enumerate(on)
    ]
    pods = [
        a_pod(f"train-{index}", of=job, requests=requests, text=text, **extra)
        for index in range(count - len(on))
    ]
    return with_placement(unit_of(job, *running, *pods, facts={"room": room}))


def mixed_gang(
    room: ClusterCapacity,
    *shapes: tuple[str, int, dict[str, Decimal], PodConstraints],
    text: str = "",
) -> Unit:
    """Return a gang of several shapes, one Job each: (name, pods, requests, needs)."""
    jobs = [a_job(name, pods=count, group_name=GANG) for name, count, _, _ in shapes]
    total = sum(count for _, count, _, _ in shapes)
    owner = a_job("whole", pods=total)
    pods = [
        pod
        for job, (_, count, requests, needs) in zip(jobs, shapes, strict=True)
        for pod in members(
            count, requests, of=job, group=GANG, needs=needs, text=text or texts.GPU_SHORT
        )
    ]
    group = a_group(GANG, quorum=total, placed=said_of_group("False", texts.GROUP_SHORT))
    return with_placement(unit_of(owner, *jobs, group, *pods, facts={"room": room}))


def with_placement(unit: Unit) -> Unit:
    return replace(unit, placing=placing_of(unit))


def fitting_for(unit: Unit, seconds: float = 60) -> Unit:
    """Return the unit as known to fit for so long, so that the scheduler has tried it again."""
    return replace(unit, memory=replace(unit.memory, fits_since=ago(seconds)))


def refused_again(unit: Unit, seconds: float) -> Unit:
    """Return the unit with a pod that was first refused so long ago."""
    repeated = a_condition(
        "PodScheduled", "False", reason="Unschedulable", message=texts.GPU_SHORT, since=ago(seconds)
    )
    pods = (*unit.pods[:-1], replace(unit.pods[-1], scheduled=repeated))
    return with_placement(replace(unit, pods=pods))


def selecting(**labels: str) -> PodConstraints:
    return PodConstraints(node_selector=tuple(sorted(labels.items())))


def with_port(number: int) -> PodConstraints:
    return PodConstraints(host_ports=frozenset({HostPort(number)}))


def evidence_values(finding: Finding, label: str) -> list[str]:
    """Return the values of the evidence with that label."""
    return [item.value for item in finding.evidence if item.label == label]


def message_of(code: str, unit: Unit) -> str:
    """Return the sentence of the rule with that code."""
    return require_finding(code, unit).message
