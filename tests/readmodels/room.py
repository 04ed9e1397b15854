"""Rows of nodes, of what fits on them, and of node-fit tables, as the poll would write them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from gangboard.domain.verdict import FitBlocker, FitReason, FitRow
from gangboard.store.models import Cluster, ClusterCapacity, NodeCapacity
from tests.factories import NOW

GIB = 2**30
WHY_NOT_HERE = "node selector or required node affinity"


def make_fit(**fields: Any) -> FitRow:
    """Four pods with eight devices each: of 40 nodes 7 could host one and are full, 32 are of
    another pool, 1 is not ready."""
    values: dict[str, Any] = {
        "unit": "llama",
        "shape": "llama-workers",
        "waiting": 4,
        "requests": {"cpu": "64", "memory": str(512 * GIB), "nvidia.com/gpu": "8"},
        "fits_now": 0,
        "fits_empty": 7,
        "nodes": 40,
        "open_nodes": 0,
        "saturated": (
            FitReason("nvidia.com/gpu", 5, examples=("h100-1", "h100-2", "h100-3")),
            FitReason("pods", 2, examples=("h100-4", "h100-5")),
        ),
        "excluded": (
            FitReason(WHY_NOT_HERE, 32, examples=("a100-1", "a100-2", "a100-3")),
            FitReason(
                "taint of a node that is not ready",
                1,
                "node.kubernetes.io/unreachable:NoSchedule",
                ("h100-8",),
            ),
        ),
        "blockers": (
            FitBlocker(WHY_NOT_HERE, "", 32, 6, 3, ("a100-1", "a100-2", "a100-3")),
            FitBlocker("nvidia.com/gpu", "", 31, 5, None, ("h100-1", "h100-2", "h100-3")),
            FitBlocker(
                "taint of a node that is not ready", "node.kubernetes.io/unreachable", 1, 0, 0
            ),
            FitBlocker("has not said what it offers", "", 1),
        ),
        "more_blockers": 2,
    }
    return FitRow(**{**values, **fields})


def make_capacity(
    cluster: Cluster, *, why: str = "", shapes: tuple[dict[str, Any], ...] = (), now: datetime = NOW
) -> ClusterCapacity:
    """Values that apply to all nodes of a cluster."""
    return ClusterCapacity.objects.create(
        cluster=cluster, observed_at=now, why=why, shapes=list(shapes)
    )


def make_shape(**fields: Any) -> dict[str, Any]:
    """Four pods with eight devices wait, for three there is room, for seven without the others."""
    values: dict[str, Any] = {
        "requests": {"cpu": "64", "nvidia.com/gpu": "8"},
        "waiting": 4,
        "fits_now": 3,
        "fits_empty": 7,
        "why": "",
        "unsupported": [],
    }
    return {**values, **fields}


def make_node(cluster: Cluster, name: str, **columns: Any) -> NodeCapacity:
    """A ready node with 8 nvidia.com/gpu, 6 of them used, 2 of these by a gang that is not whole."""
    values: dict[str, Any] = {
        "labels": {"kubernetes.io/hostname": name, "cloud.google.com/gke-nodepool": "h100"},
        "allocatable": {
            "cpu": "192",
            "memory": str(1024 * GIB),
            "nvidia.com/gpu": "8",
            "pods": "110",
        },
        "used": {"cpu": "48.5", "memory": str(256 * GIB), "nvidia.com/gpu": "6", "pods": "3"},
        "held": {"cpu": "16", "nvidia.com/gpu": "2", "pods": "1"},
    }
    return NodeCapacity.objects.create(cluster=cluster, name=name, **{**values, **columns})


def make_fleet_fit() -> tuple[FitRow, ...]:
    """The fit of a gang of two shapes on the nodes of `make_fleet_nodes`."""
    driver = make_fit(
        shape="llama-driver",
        waiting=1,
        requests={"cpu": "8", "memory": str(32 * GIB)},
        fits_now=9,
        fits_empty=20,
        open_nodes=2,
        saturated=(),
        excluded=(FitReason(WHY_NOT_HERE, 8, examples=("h100-1", "h100-2", "h100-3")),),
        nodes=10,
        blockers=(FitBlocker(WHY_NOT_HERE, "", 8, 6, 30, ("h100-1", "h100-2", "h100-3")),),
        more_blockers=0,
    )
    workers = make_fit(
        nodes=10,
        fits_now=1,
        fits_empty=6,
        open_nodes=1,
        saturated=(FitReason("nvidia.com/gpu", 5, examples=("h100-1", "h100-2", "h100-3")),),
        excluded=(
            FitReason(WHY_NOT_HERE, 2, examples=("cpu-1", "cpu-2")),
            FitReason("cordoned", 1, examples=("h100-7",)),
            FitReason("taint of a node that is not ready", 1, "unreachable", ("h100-8",)),
        ),
        blockers=(
            FitBlocker("nvidia.com/gpu", "", 7, 5, None, ("h100-1", "h100-2", "h100-3")),
            FitBlocker("cordoned", "", 1, 1, 1, ("h100-7",)),
            FitBlocker("taint of a node that is not ready", "unreachable", 1, 1, 1, ("h100-8",)),
            FitBlocker(WHY_NOT_HERE, "", 2, 0, 0),
        ),
        more_blockers=0,
    )
    return (workers, driver)


def make_fleet_nodes(cluster: Cluster, *, now: datetime) -> None:
    """Ten nodes of two pools, in three racks, in all states, and what fits on them."""
    for number in range(1, 9):
        labels = {
            "cloud.google.com/gke-nodepool": "h100",
            "topology.kubernetes.io/rack": f"rack-{(number + 3) // 4}",
        }
        state = {"cordoned": number == 7, "ready": number != 8}
        used = {"cpu": "96.25", "nvidia.com/gpu": "0" if number == 6 else "6", "pods": "9"}
        held = {"cpu": "24", "nvidia.com/gpu": "2", "pods": "1"} if number < 4 else {}
        make_node(cluster, f"h100-{number}", labels=labels, used=used, held=held, **state)
    room = {"cpu": "128", "memory": str(512 * GIB), "pods": "110"}
    for number in (1, 2):
        labels = {"node.kubernetes.io/instance-type": "c7.32xlarge"}
        make_node(
            cluster,
            f"cpu-{number}",
            labels=labels,
            allocatable=room,
            used={"cpu": "70", "memory": str(40 * GIB), "pods": "31"},
            held={},
            taints=["cloud.example/spot=true:NoSchedule"] if number == 2 else [],
            unreadable=["memory"] if number == 2 else [],
        )
    make_capacity(
        cluster,
        shapes=(
            make_shape(fits_now=1, fits_empty=6, where="pool=h100"),
            make_shape(
                requests={"cpu": "8", "memory": str(32 * GIB)}, waiting=1, fits_now=9, fits_empty=20
            ),
            make_shape(waiting=0, requests={"nvidia.com/gpu": "1"}, fits_now=18, fits_empty=48),
            make_shape(requests={"cpu": "4"}, unsupported=["volume claims"]),
            make_shape(requests={"cpu": "2"}, why="not understood: the toleration operator Gt"),
        ),
        now=now,
    )
