"""Nodes and shapes in few words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from gangboard.domain.capacity import NodeInfo, PlacementRequest, PodSet, Requested, Shape
from gangboard.domain.pod_constraints import HOSTNAME, HostPort, PodTerm, Requirement, Taint

GPU = "nvidia.com/gpu"
CORDON = Taint("node.kubernetes.io/unschedulable", "NoSchedule")


def node(
    name: str,
    gpu: int = 4,
    used: int = 0,
    pinned: int = 0,
    labels: Mapping[str, str] | None = None,
    **options: Any,
) -> NodeInfo:
    """A node with 8 cores, 110 pods, and GPUs of which some are taken by one pod."""
    return NodeInfo(
        name,
        {HOSTNAME: name, **(labels or {})},
        allocatable={"cpu": 8000, GPU: gpu, "pods": 110} if gpu else {"cpu": 8000, "pods": 110},
        now=Requested({GPU: used + pinned}, 1 if used + pinned else 0),
        pinned=Requested({GPU: pinned}, 1 if pinned else 0),
        **options,
    )


def shape(name: str = "worker", gpu: int | str = 0, **options: Any) -> Shape:
    """A pod with GPUs."""
    return Shape(name, {GPU: Decimal(gpu)} if Decimal(gpu) else {}, **options)


def gang(count: int, item: Shape, quorum: int | None = None, **options: Any) -> PlacementRequest:
    """A gang of one shape."""
    return PlacementRequest((PodSet(item, count),), quorum, **options)


def term(app: str, namespace: str = "team-a") -> PodTerm:
    """Anti-affinity by host to pods of that namespace whose label `app` has that value."""
    selector = (Requirement("app", "In", (app,)),)
    return PodTerm(f"{namespace}/app={app}", frozenset({namespace}), selector)


S, T = term("s"), term("t")
R = replace(term("r"), topology_key="rack")
"""Anti-affinity to pods on nodes with the same label `rack`."""


def port(number: int, protocol: str = "TCP", address: str = "") -> HostPort:
    """A port of the node."""
    return HostPort(number, protocol, address)
