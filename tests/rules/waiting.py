"""Gangs that wait for a node, with a room made by hand and what the real arithmetic says of it."""

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
from tests.rules.asking import found, unit_of

GANG = "ring"


def room_of(
    *nodes: NodeInfo, running_gangs: tuple[RunningGang, ...] = (), why: str = ""
) -> ClusterCapacity:
    return ClusterCapacity(
        tuple(sorted(nodes, key=lambda one: one.name)), why, lambda: running_gangs
    )


def big(name: str, *, used: int = 0, **more: Any) -> NodeInfo:
    """A node of 8 cores, 64Gi and 8 places for pods, without GPUs; `used` cores are taken."""
    given = {"allocatable": {"cpu": 8000, "memory": 64 * 2**30, "pods": 8}, **more}
    return NodeInfo(
        name, {"kubernetes.io/hostname": name}, now=Requested({"cpu": used * 1000}), **given
    )


def ask(gpu: int | str = 0, **amounts: str) -> dict[str, Decimal]:
    """Requests of one pod."""
    named = {name: Decimal(amount) for name, amount in amounts.items()}
    return {**({GPU: Decimal(gpu)} if gpu else {}), **named}


def members(
    count: int, requests: dict[str, Decimal], *, of: Any = None, text: str = "", **more: Any
) -> tuple[Made, ...]:
    """Pods of a Job that wait; `text` is what the scheduler says of the first."""
    job = of.meta.ref.name if of is not None else "train"
    return tuple(
        a_pod(
            f"{job}-{index}",
            of=of,
            text=text if index == 0 else text and texts.POD_OF_GROUP,
            requests=requests,
            **more,
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
    """A gang Job of `count` pods, all of which wait but those `on` nodes."""
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
    return with_room(unit_of(job, group, *running, *pods, facts={"room": room}))


def plain(
    count: int,
    requests: dict[str, Decimal],
    room: ClusterCapacity,
    *,
    text: str = texts.GPU_SHORT,
    on: tuple[str, ...] = (),
    **more: Any,
) -> Unit:
    """The same without a group: pod by pod, every pod with its own text."""
    job = a_job("train", pods=count)
    running = [
        a_pod(f"old-{index}", of=job, on=node, requests=requests) for index, node in enumerate(on)
    ]
    pods = [
        a_pod(f"train-{index}", of=job, requests=requests, text=text, **more)
        for index in range(count - len(on))
    ]
    return with_room(unit_of(job, *running, *pods, facts={"room": room}))


def mixed(
    room: ClusterCapacity,
    *shapes: tuple[str, int, dict[str, Decimal], PodConstraints],
    text: str = "",
) -> Unit:
    """A gang of several shapes, one Job each: (name, pods, requests, needs)."""
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
    return with_room(unit_of(owner, *jobs, group, *pods, facts={"room": room}))


def with_room(unit: Unit) -> Unit:
    return replace(unit, placing=placing_of(unit))


def fitting_for(unit: Unit, seconds: float = 60) -> Unit:
    """The unit, known to fit for so long: long enough that the scheduler has tried it again."""
    return replace(unit, memory=replace(unit.memory, fits_since=ago(seconds)))


def refused_again(unit: Unit, seconds: float) -> Unit:
    """The same where a pod was refused for the first time so long ago."""
    again = a_condition(
        "PodScheduled", "False", reason="Unschedulable", message=texts.GPU_SHORT, since=ago(seconds)
    )
    pods = (*unit.pods[:-1], replace(unit.pods[-1], scheduled=again))
    return with_room(replace(unit, pods=pods))


def selecting(**labels: str) -> PodConstraints:
    return PodConstraints(node_selector=tuple(sorted(labels.items())))


def with_port(number: int) -> PodConstraints:
    return PodConstraints(host_ports=frozenset({HostPort(number)}))


def values(finding: Finding, label: str) -> list[str]:
    """What the evidence of that label says."""
    return [one.value for one in finding.evidence if one.label == label]


def told(code: str, unit: Unit) -> str:
    """The sentence of the rule of that code."""
    return found(code, unit).message
