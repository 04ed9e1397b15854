"""A node usage tracker that is updated as the cluster cache does it."""

from __future__ import annotations

from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.capacity import RunningGang
from gangboard.domain.node import Node
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueEntry
from gangboard.polling.node_usage import NodeUsageTracker
from tests.domain_objects import a_job, a_node

ROOMY = {"cpu": 8000, "pods": 110}
TRAIN = a_job("train", pods=2, ask="2")


class Cluster:
    """Updates a node usage tracker as the cluster cache does."""

    def __init__(self, *objects: Node | Pod | Owner | QueueEntry) -> None:
        self.refs: dict[str, ObjectRef] = {}
        self.ownership_graph = OwnershipGraph()
        self.usage = NodeUsageTracker(self.ownership_graph, self.refs.get)
        for obj in objects:
            self.put(obj)

    def put(self, obj: Node | Pod | Owner | QueueEntry) -> None:
        self.usage.put(obj)
        self.refs[obj.meta.ref.uid] = obj.meta.ref
        self.usage.mark_stale(self.ownership_graph.put(obj))

    def running_gangs(self) -> dict[str, RunningGang]:
        return {gang.ref.name: gang for gang in self.usage.capacity("").running_gangs()}


def node(name: str = "n0") -> Node:
    return a_node(name, allocatable=ROOMY)
