"""One gang on a few nodes of a real cluster, advised and helped step by step."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from gangboard.decode.nodes import NODE
from gangboard.decode.pods import POD
from gangboard.diagnosis.gang_units import units_of
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.advice import Advice
from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.group import Group
from gangboard.domain.node import Node
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.facts.unit import Unit
from gangboard.placement.advice.ranking import advise
from gangboard.placement.unit_placement import placing_of
from gangboard.plugins.registry import grouping_apis, owner_kinds
from gangboard.polling.node_usage import NodeUsageTracker
from tests.controlplane.client import Client, Json, wait
from tests.controlplane.nodes import make_nodes, node
from tests.decode.reading import model
from tests.gangs import assemble
from tests.scenarios.scenario import POOL, Room

BATCH = "batch/v1"
STANDS_SECONDS = 4.0
"""How long a gang must still wait after half of the advice; the scheduler tries it at once."""
_SERVED = {(1, 37): "v1beta1", (1, 36): "v1alpha2"}
_JOBS = next(kind.resource for kind in owner_kinds() if kind.resource.key == "jobs.batch")
_GROUPS = next(
    resource
    for grouping in grouping_apis()
    for resource in grouping.resources
    if resource.key == "podgroups.scheduling.k8s.io"
)


@dataclass
class Scene:
    """Nodes of its own in a namespace of its own; the gang is the Job `run`."""

    client: Client
    namespace: str
    minor: tuple[int, int] = (1, 37)
    where: Mapping[str, str] = field(init=False)
    """The node selector of its nodes."""

    def __post_init__(self) -> None:
        self.where = {POOL: self.namespace}

    @property
    def groups(self) -> str:
        """The API version of PodGroups."""
        return f"scheduling.k8s.io/{_SERVED[self.minor]}"

    def node(self, name: str) -> str:
        """Return the full name of one of its nodes."""
        return f"{self.namespace}-{name}"

    def make_nodes(self, **rooms: Room) -> None:
        """Make its nodes, called `a`, `b`, …"""
        created = []
        for name, room in rooms.items():
            own = room.copy()
            own["labels"] = {**room.get("labels", {}), **self.where}
            created.append(node(self.node(name), **own))
        make_nodes(self.client, created)

    def clear(self) -> None:
        """Take its nodes away."""
        for obj in self.client.list("v1", "Node", labels=f"{POOL}={self.namespace}"):
            self.client.delete("v1", "Node", obj["metadata"]["name"])

    def pods(self, of: str = "run") -> list[Json]:
        """Return the pods of a Job."""
        result = self.client.list(
            "v1", "Pod", self.namespace, labels=f"batch.kubernetes.io/job-name={of}"
        )
        return [pod for pod in result if "deletionTimestamp" not in pod["metadata"]]

    def bound(self, of: str = "run") -> int:
        """Return how many of its pods have a node."""
        return sum(bool(pod["spec"].get("nodeName")) for pod in self.pods(of))

    def wait_bound(self, count: int, of: str = "run") -> None:
        """Return when that many have one."""
        wait(
            lambda: self.bound(of) >= count,
            what=f"{count} pods of {of} in {self.namespace} to have a node",
            seen=self.words,
        )

    def words(self) -> list[str]:
        """Return the scheduler's messages about the groups here."""
        groups = self.client.list(self.groups, "PodGroup", self.namespace)
        return [str((group.get("status") or {}).get("conditions")) for group in groups]

    def wait_refused(self, pods: int) -> None:
        """Return when the scheduler has refused that many pods of the gang."""

        def look() -> bool:
            refused = [
                pod
                for pod in self.pods()
                for item in pod.get("status", {}).get("conditions") or ()
                if item["type"] == "PodScheduled" and item.get("reason") == "Unschedulable"
            ]
            groups = self.client.list(self.groups, "PodGroup", self.namespace)
            message = [group.get("status", {}).get("conditions") for group in groups]
            return len(self.pods()) >= pods and (bool(refused) or any(message))

        wait(look, what=f"the gang of {self.namespace} to be refused")

    def still_waits(self) -> None:
        """Assert that no pod gets a node for a while."""
        give_up_at = time.monotonic() + STANDS_SECONDS
        while time.monotonic() < give_up_at:
            assert not self.bound(), f"{self.namespace}: half is enough"
            time.sleep(0.5)

    # Advice

    def advice(self) -> tuple[Advice, ...]:
        """Return the advice for the gang as it is now."""
        return advise(self.unit())

    def unit(self) -> Unit:
        """Return the gang as the product reads it, with all that holds room beside it."""
        client, ns = self.client, self.namespace
        nodes: list[Node] = [model(NODE, obj) for obj in client.list("v1", "Node")]
        pods: list[Pod] = [model(POD, obj) for obj in client.list("v1", "Pod")]
        jobs: list[Owner] = [model(_JOBS, obj) for obj in client.list(BATCH, "Job", ns)]
        groups: list[Group] = [
            model(_GROUPS, obj, _SERVED[self.minor])
            for obj in client.list(self.groups, "PodGroup", ns)
        ]
        own = next(job for job in jobs if job.meta.ref.name == "run")
        members = [
            pod
            for pod in pods
            if pod.meta.controller and pod.meta.controller.uid == own.meta.ref.uid
        ]
        named = {pod.group_name for pod in members}
        mine = [group for group in groups if group.meta.ref.name in named]
        facts = assemble(
            own,
            [*members, *mine],
            now=datetime.now(UTC),
            room=_room(nodes, [*jobs, *groups, *pods]),
            kubernetes=self.minor,
        )
        (unit,) = units_of(facts)
        return replace(unit, placing=placing_of(unit))


def _room(nodes: Iterable[Node], items: Sequence[Pod | Owner | Group]) -> ClusterCapacity:
    graph = OwnershipGraph()
    usage = NodeUsageTracker(graph, {item.meta.ref.uid: item.meta.ref for item in items}.get)
    for item in nodes:
        usage.put(item)
    for obj in items:
        graph.put(obj)
        if not isinstance(obj, Group):
            usage.put(obj)
    return usage.capacity("")
