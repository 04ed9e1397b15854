"""The base objects of a cluster: namespaces, nodes, priority classes, the Hold."""

from __future__ import annotations

import copy
from datetime import datetime, timedelta
from typing import Any

from simulator import child_objects, nodes
from simulator.fleet_spec import Fleet, NodePool
from simulator.hold import INSTALLATION
from simulator.manifests import RACK
from simulator.resources import NAMESPACES, NODES, Resource
from simulator.world import World
from simulator.writes import timestamp

Json = dict[str, Any]

_AGE = timedelta(days=41)
_LOST = timedelta(minutes=14)


def make_cluster(
    world: World, fleet: Fleet, now: datetime, *, hold: bool, identity: str = ""
) -> None:
    """Create all objects of a fleet except its gangs. `identity` is the uid of the namespace `kube-system`."""
    since = now - _AGE

    def create(resource: Resource, obj: Json) -> None:
        obj["metadata"]["creationTimestamp"] = timestamp(since)
        world.writer.create(resource, obj)

    own = {"uid": identity} if identity else {}
    create(NAMESPACES, {"metadata": {"name": "kube-system", **own}})
    for name in fleet.namespaces():
        create(NAMESPACES, {"metadata": {"name": name}})
    for pool in fleet.pools:
        for node in _nodes(pool, since, now - _LOST):
            create(NODES, node)
    by_kind = {resource.kind: resource for resource in world.store.resources()}
    for name, value in child_objects.PRIORITIES.items():
        if name:
            meta = {"name": name}
            priority = {"metadata": meta, "value": value, "globalDefault": False}
            create(by_kind["PriorityClass"], priority)
    for obj in INSTALLATION if hold else ():
        create(by_kind[obj["kind"]], copy.deepcopy(obj))


def _nodes(pool: NodePool, since: datetime, lost_at: datetime) -> list[Json]:
    node_list = []
    for number in range(1, pool.count + 1):
        rack = f"{pool.name}-r{(number - 1) // pool.rack_size + 1}"
        labels = {
            "pool": pool.name,
            RACK: rack,
            "topology.kubernetes.io/zone": "zone-a",
            "node.kubernetes.io/instance-type": f"metal.{pool.name}",
        }
        if pool.rack_label:
            labels[pool.rack_label] = rack
        if pool.product:
            labels["nvidia.com/gpu.product"] = pool.product
        taint = {"key": pool.taint, "value": "true", "effect": "NoSchedule"}
        node = nodes.node(
            f"{pool.name}-{number}",
            timestamp(since),
            gpus=pool.gpus,
            cpu=pool.cpu,
            memory=pool.memory,
            labels=labels,
            taints=[taint] if pool.taint else [],
            cordoned=number in pool.cordoned,
            lost_at=timestamp(lost_at) if number in pool.lost else "",
        )
        node_list.append(node)
    return node_list
