"""What a scenario is: objects on a real cluster, what happens to them, and what a person should be told.

Expectations are written from the objects, by what a good on-call engineer would say, never copied from
the product's output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.controlplane.client import Client, Json, wait
from tests.controlplane.nodes import node

POOL = "test.gangboard.dev/pool"
"""Label of nodes: each scenario has nodes of its own, so that none takes room from another."""


LIVED_SECONDS = 2.0
"""How long a gang runs whole before something happens to it: what lasts less, nobody has seen."""


@dataclass(frozen=True)
class Stage:
    """Where a scenario plays."""

    client: Client
    namespace: str
    pool: str

    def pods(self, **labels: str) -> list[Json]:
        """Return its pods, the oldest first."""
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        found = self.client.list("v1", "Pod", self.namespace, labels=selector)
        return sorted(
            found, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"])
        )

    def wait_running(self, count: int, timeout: float = 60.0) -> list[Json]:
        """Return its pods once that many are Ready."""

        def look() -> list[Json] | None:
            ready = [pod for pod in self.pods() if is_ready(pod)]
            return ready if len(ready) >= count else None

        return wait(look, timeout=timeout, what=f"{count} ready pods in {self.namespace}")

    def script(self, pod: Json, **annotations: str) -> None:
        """Tell the fake kubelet something about a pod that runs (`complete_after="1s"`)."""
        keys = {
            f"test.gangboard.dev/{key.replace('_', '-')}": value
            for key, value in annotations.items()
        }
        name = pod["metadata"]["name"]
        self.client.patch("v1", "Pod", name, {"metadata": {"annotations": keys}}, self.namespace)

    def delete_pod(self, pod: Json) -> None:
        """Delete a pod at once."""
        self.client.delete("v1", "Pod", pod["metadata"]["name"], self.namespace, grace=0)


def is_ready(pod: Json) -> bool:
    """Whether a pod runs and is ready."""
    conditions = pod.get("status", {}).get("conditions") or []
    return "deletionTimestamp" not in pod["metadata"] and any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )


@dataclass(frozen=True)
class Scenario:
    """Objects, what happens, and what the API must then say."""

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
    nodes: int = 0
    cpu: str = "8"
    gpus: int = 0
    act: Callable[[Stage], None] | None = None
    """What happens after the objects were made."""
    twin: str = ""
    """The scenario that differs in one thing and has another code."""
    within: float = 90.0
    """Seconds in which the sentence must be right."""

    def own_nodes(self) -> list[Json]:
        """Return the nodes that only this scenario may use."""
        return [
            node(f"{self.name}-{index}", cpu=self.cpu, gpus=self.gpus, labels={POOL: self.name})
            for index in range(self.nodes)
        ]
