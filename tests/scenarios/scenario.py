"""A scenario: objects on a real cluster, events, and the expected verdicts.

Expectations are derived from the objects, as a good on-call engineer would do, never copied from the
product's output.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict, TypeVar

from tests.controlplane.client import ApiError, Client, Json, wait
from tests.controlplane.nodes import cordon, make_nodes, node
from tests.controlplane.objects import pod as pod_object

POOL = "test.gangboard.dev/pool"
"""Label of nodes: each scenario has nodes of its own, so that none takes room from another."""


PATIENCE = 600.0
"""Seconds in which a cluster that plays a hundred scenarios at once reaches an awaited state."""
LOOK_EVERY = 0.5
"""Seconds between two looks of one scenario: a hundred of them look at once."""
T = TypeVar("T")


WHEN_TOLD = "24h"
"""`start_after` of pods that start when the story tells them to, however slow the machine is."""


class Room(TypedDict, total=False):
    """A node, by the words of `tests.controlplane.nodes.node`."""

    cpu: str
    memory: str
    gpus: int
    pods: int
    labels: Mapping[str, str]
    taints: list[Json]
    unschedulable: bool
    extra: Mapping[str, str]
    withheld: Mapping[str, str]


def nodes_with(key: str, *values: str) -> tuple[Room, ...]:
    """Return nodes whose label has these values."""
    return tuple(Room(labels={key: value}) for value in values)


def patiently(read: Callable[[], T | None], description: str) -> T:
    """Call `look` until it returns something true and return that; raise `WaitError` naming `what`."""
    return wait(read, timeout=PATIENCE, every=LOOK_EVERY, what=description)


@dataclass(frozen=True)
class Stage:
    """Where a scenario plays."""

    client: Client
    namespace: str
    pool: str
    said: Callable[[], Json | None] = lambda: None
    """The last API answer about the scenario's gang."""
    is_over: Callable[[], bool] = lambda: False
    """True after polling has stopped."""

    def wait_seen(self, code: str = "running") -> None:
        """Return once gangboard has said that of the gang."""
        patiently(
            lambda: (self.said() or {}).get("code") == code,
            f"gangboard to say {code} in {self.namespace}",
        )

    def pods(self, **labels: str) -> list[Json]:
        """Return its pods, the oldest first."""
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        result = self.client.list("v1", "Pod", self.namespace, labels=selector)
        return sorted(
            result, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"])
        )

    def wait_running(self, count: int) -> list[Json]:
        """Return its pods once that many are Ready."""

        def running_pods() -> list[Json] | None:
            ready = [pod for pod in self.pods() if is_ready(pod)]
            return ready if len(ready) >= count else None

        return patiently(running_pods, f"{count} ready pods in {self.namespace}")

    def make(self, objects: Sequence[Json]) -> None:
        """Create them in order. A priority class is known to the API server a moment later only."""

        def create() -> bool:
            try:
                self.client.create_all(objects)
            except ApiError as error:
                if "no PriorityClass" not in error.message:
                    raise
                return False
            return True

        wait(create, what=f"the priority class of {self.namespace} to be known")

    def add_nodes(self, *rooms: Room) -> None:
        """Make more nodes that only this scenario may use, and wait until they are open."""
        existing = len(self.client.list("v1", "Node", labels=f"{POOL}={self.pool}"))
        created = [
            _node(self.pool, str(existing + index), room) for index, room in enumerate(rooms)
        ]
        make_nodes(self.client, created)

    def node(self, suffix: str) -> str:
        """Return the name of one of its nodes: those of the scenario are `0`, `1`, …"""
        return f"{self.pool}-{suffix}"

    def delete(self, name: str) -> None:
        """Delete a pod by its name, at once."""
        self.client.delete("v1", "Pod", name, self.namespace, grace=0)

    def lose_one(self, **labels: str) -> str:
        """Delete a ready pod with these labels and cordon its node, so that no other comes; return the node."""
        victim = next(pod for pod in self.pods(**labels) if is_ready(pod))
        name: str = victim["spec"]["nodeName"]
        cordon(self.client, name)
        self.delete_pod(victim)
        return name

    def lower_quorum(self, group: str, quorum: int) -> None:
        """Lower the quorum of a PodGroup, as an admin does (1.37)."""
        policy = {"schedulingPolicy": {"gang": {"minCount": quorum}}}
        version = "scheduling.k8s.io/v1beta1"
        self.client.patch(version, "PodGroup", group, {"spec": policy}, self.namespace)

    def uncordon(self) -> None:
        """Open all of its nodes again."""
        for result in self.client.list("v1", "Node", labels=f"{POOL}={self.pool}"):
            if result["spec"].get("unschedulable"):
                cordon(self.client, result["metadata"]["name"], unschedulable=False)

    def tell(self, pod: Json, reason: str, text: str, component: str, kind: str = "Normal") -> None:
        """Post an event about a pod as a controller does that is not here."""
        nodes = pod["metadata"]
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        keys = ("name", "namespace", "uid", "resourceVersion")
        self.client.create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {
                    "name": f"{nodes['name']}.{reason.lower()}",
                    "namespace": nodes["namespace"],
                },
                "involvedObject": {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    **{key: nodes[key] for key in keys},
                },
                "reason": reason,
                "message": text,
                "type": kind,
                "source": {"component": component},
                "reportingComponent": component,
                "firstTimestamp": now,
                "lastTimestamp": now,
                "count": 1,
            }
        )

    def script(self, pod: Json, **annotations: str) -> None:
        """Tell the fake kubelet something about a pod that runs (`complete_after="1s"`)."""
        keys = {
            f"test.gangboard.dev/{key.replace('_', '-')}": value
            for key, value in annotations.items()
        }
        name = pod["metadata"]["name"]
        self.client.patch("v1", "Pod", name, {"metadata": {"annotations": keys}}, self.namespace)

    def start(self, count: int) -> None:
        """Wait until that many pods are being started, and tell them to run (see `WHEN_TOLD`)."""

        def look() -> list[Json] | None:
            result = [pod for pod in self.pods() if _is_starting(pod)]
            return result if len(result) >= count else None

        for pod in patiently(look, f"{count} pods in {self.namespace} to start"):
            self.script(pod, start_after="0s")

    def wait_scheduler(self) -> None:
        """Return once the scheduler has heard of all that was done: it places a pod that was made last.

        It reads all pods in one watch, in the order of their changes.
        """
        probe = pod_object("probe", self.namespace, cpu="1m", node_selector={POOL: self.pool})
        self.client.create(probe)
        self.client.wait_for(
            "v1",
            "Pod",
            "probe",
            self.namespace,
            until=lambda result: result["spec"].get("nodeName"),
            timeout=PATIENCE,
        )
        self.delete("probe")

    def delete_pod(self, pod: Json) -> None:
        """Delete a pod at once."""
        self.client.delete("v1", "Pod", pod["metadata"]["name"], self.namespace, grace=0)


def is_ready(pod: Json) -> bool:
    """Whether a pod runs and is ready."""
    conditions = pod.get("status", {}).get("conditions") or []
    return "deletionTimestamp" not in pod["metadata"] and any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )


def _is_starting(pod: Json) -> bool:
    """Whether the kubelet has a pod that does not run yet."""
    status = pod["status"]
    starts = status.get("phase") == "Pending" and bool(status.get("containerStatuses"))
    return starts and "deletionTimestamp" not in pod["metadata"]


@dataclass(frozen=True)
class Step:
    """The next event, and the expected verdict after it."""

    act: Callable[[Stage], object]
    code: str
    health: str
    says: tuple[str, ...] = ()
    members: Mapping[str, int | None] = field(default_factory=dict)
    advises: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """Objects, events, and the expected API answer."""

    name: str
    kind: str
    gang: str
    """Name of the gang's owner."""
    code: str
    health: str
    objects: Callable[[str, Mapping[str, str]], Sequence[Json]]
    """(namespace, node selector of its own nodes) → objects."""
    says: tuple[str, ...] = ()
    """Names and numbers that must stand in the message."""
    members: Mapping[str, int | None] = field(default_factory=dict)
    advises: tuple[str, ...] = ()
    """Words that must stand together in one piece of the advice."""
    nodes: int = 0
    cpu: str = "8"
    gpus: int = 0
    act: Callable[[Stage], None] | None = None
    """Events after the creation of the objects."""
    twin: str = ""
    """The scenario that differs in one thing and has another code."""
    within: float = 600.0
    """Seconds in which the sentence must be right, and again after each step."""
    rooms: tuple[Room, ...] = ()
    """Its nodes where they are not all alike; `nodes`, `cpu` and `gpus` are not asked then."""
    steps: tuple[Step, ...] = ()
    """Later steps. Each step begins after the previous expectation was stable for a while."""

    def own_nodes(self) -> list[Json]:
        """Return the nodes that only this scenario may use."""
        alike = Room(cpu=self.cpu, gpus=self.gpus)
        rooms = self.rooms or (alike,) * self.nodes
        return [_node(self.name, str(index), room) for index, room in enumerate(rooms)]

    @property
    def expected(self) -> tuple[Step, ...]:
        """All expected verdicts in order, starting with the first."""
        first = Step(
            lambda stage: None, self.code, self.health, self.says, self.members, self.advises
        )
        return (first, *self.steps)


Played = Mapping[str, Sequence[Scenario]]
"""Scenarios of a topic by the cluster on which they are played, as in `clusters.CLUSTERS`."""


def _node(pool: str, suffix: str, room: Room) -> Json:
    labels = {POOL: pool, **room.get("labels", {})}
    rest = {key: value for key, value in room.items() if key != "labels"}
    return node(f"{pool}-{suffix}", labels=labels, **rest)  # type: ignore[arg-type]
