"""States of gangs, created on a real control plane, each with a check of its arrival.

`STATES` is data: objects in an empty namespace, their nodes, events, and the check of the result. `capture`
records the objects of the API server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.controlplane.clearing import clear_nodes, empty_namespaces
from tests.controlplane.client import Client, Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import make_nodes, node
from tests.controlplane.objects import JOBSET, namespace
from tests.controlplane.profiles import PROFILES, Profile

# Those of which most states are captured; 1.35 has its own, see states_of_workloads.
ALL = frozenset({"1.37", "1.36", "plain"})
GANG = frozenset(name for name in ALL if PROFILES[name].gang_version)
NEWEST = frozenset({"1.37"})
# Long enough for a scheduler that has something to say to have said it.
QUIET = 4.0

_ALWAYS = (("v1", "Pod"), ("v1", "Event"), ("v1", "ResourceQuota"), ("batch/v1", "Job"))


@dataclass(frozen=True)
class Place:
    """The place of a state: the client, its own namespace, the served versions."""

    client: Client
    namespace: str
    profile: Profile

    @property
    def version(self) -> str:
        """The version of `scheduling.k8s.io` for PodGroups here."""
        if self.profile.gang_version is None:
            raise ValueError(f"{self.profile.name} has no gangs")
        return self.profile.gang_version

    def gang(self, count: int) -> int | None:
        """A Job's `gang=`: 1.36 has no such field (it decides by itself), plain no gangs."""
        return count if self.profile.minor >= 37 and self.profile.gang_version else None

    def conditions(self, api_version: str, kind: str, name: str) -> dict[str, str]:
        """Return {type: status} of one object's conditions."""
        result = self.client.find(api_version, kind, name, self.namespace) or {}
        conditions = result.get("status", {}).get("conditions") or []
        return {item["type"]: item["status"] for item in conditions}

    def pods(self) -> list[Json]:
        """Return the pods of the namespace."""
        return self.client.list("v1", "Pod", self.namespace)

    def patch(self, kind: str, name: str, spec: Json) -> None:
        """Merge into the spec of a Job, JobSet or ResourceQuota."""
        version = {"Job": "batch/v1", "JobSet": JOBSET}.get(kind, "v1")
        self.client.patch(version, kind, name, {"spec": spec}, self.namespace)


Test = Callable[[Place], object]


@dataclass(frozen=True)
class Step:
    """Act (the first step does not), then wait for `until` and a moment of `quiet`."""

    until: Test
    do: Callable[[Place], object] = lambda _place: None
    quiet: float = 0.0


@dataclass(frozen=True)
class State:
    """One state. `objects` are made first, then come the `steps`."""

    name: str
    objects: Callable[[Place], Sequence[Json]]
    steps: Sequence[Step]
    on: frozenset[str] = ALL
    nodes: Sequence[Json] = field(
        default_factory=lambda: [node(f"n{i}", cpu="32", gpus=4) for i in range(4)]
    )


def bring_about(state: State, plane: ControlPlane) -> Place:
    """Make the state in a namespace named after it, on its nodes only.

    Raises `client.WaitError` when a step does not come about. Ended by `clear`.
    """
    place = Place(plane.client, state.name, plane.profile)
    plane.client.create(namespace(state.name))
    make_nodes(plane.client, state.nodes)
    plane.client.create_all(state.objects(place))
    for number, step in enumerate(state.steps, 1):
        step.do(place)
        wait(
            lambda until=step.until: until(place),  # type: ignore[misc]
            timeout=60.0,
            what=f"{state.name}, step {number}",
            seen=lambda: [_summary(pod) for pod in place.pods()],
        )
        time.sleep(step.quiet)
    return place


def clear(place: Place) -> None:
    """Delete everything in the namespace, and all nodes."""
    empty_namespaces(place.client, [place.namespace])
    clear_nodes(place.client)


def snapshot(place: Place) -> dict[str, list[Json]]:
    """Return all objects that have to do with the state, by resource path, without managedFields."""
    kinds = [*_ALWAYS, (JOBSET, "JobSet")]
    for version in place.profile.scheduling_versions:
        served = ("Workload",) if version == "v1alpha1" else ("Workload", "PodGroup")
        kinds += [(f"scheduling.k8s.io/{version}", kind) for kind in served]
    if "v1alpha3" in place.profile.scheduling_versions:
        kinds.append(("scheduling.k8s.io/v1alpha3", "CompositePodGroup"))
    result = {}
    for api_version, kind in kinds:
        objects = place.client.list(api_version, kind, place.namespace)
        if objects:
            result[place.client.path(api_version, kind)] = [_stripped(item) for item in objects]
    nodes = place.client.list("v1", "Node")
    result[place.client.path("v1", "Node")] = [_stripped(item) for item in nodes]
    return result


def _stripped(obj: Json) -> Json:
    obj["metadata"].pop("managedFields", None)
    return obj


# Tests that states are recognised by


def running(count: int) -> Test:
    """So many pods run and are ready."""

    def test(place: Place) -> bool:
        return sum(_has(pod, "Ready", "True") for pod in place.pods()) == count

    return test


def unschedulable(count: int) -> Test:
    """So many pods have been tried and refused by the scheduler."""

    def test(place: Place) -> bool:
        refused = [
            pod
            for pod in place.pods()
            if any(c.get("reason") == "Unschedulable" for c in _conditions(pod))
        ]
        return len(refused) == count

    return test


def both(*tests: Test) -> Test:
    """All of the tests hold."""
    return lambda place: all(test(place) for test in tests)


def nominated(count: int) -> Test:
    """So many pods have no node and one that the scheduler keeps for them."""

    def test(place: Place) -> bool:
        stored = [pod for pod in place.pods() if pod["status"].get("nominatedNodeName")]
        return sum("nodeName" not in pod["spec"] for pod in stored) == count

    return test


def waiting(reason: str, count: int) -> Test:
    """So many pods have a container, or an init container, that waits for this reason."""

    def test(place: Place) -> bool:
        return sum(reason in _waiting_reasons(pod) for pod in place.pods()) == count

    return test


def condition(kind: str, name: str, type_: str, status: str = "True") -> Test:
    """A Job or JobSet has this condition."""
    version = JOBSET if kind == "JobSet" else "batch/v1"
    return lambda place: place.conditions(version, kind, name).get(type_) == status


def group_says(status: str) -> Test:
    """Some PodGroup's one scheduling condition has this status."""

    def test(place: Place) -> bool:
        groups = place.client.list(
            f"scheduling.k8s.io/{place.version}", "PodGroup", place.namespace
        )
        return any(c["status"] == status for group in groups for c in _conditions(group))

    return test


def pods_exist(count: int) -> Test:
    """True if that many pods exist, in any state."""
    return lambda place: len(place.pods()) == count


def terminating(place: Place) -> bool:
    """Some pod has been told to go and is still there."""
    return any("deletionTimestamp" in pod["metadata"] for pod in place.pods())


def jobset_counts(name: str, **counts: int) -> Test:
    """The sums over the JobSet's replicatedJobsStatus are these."""

    def test(place: Place) -> bool:
        result = place.client.find(JOBSET, "JobSet", name, place.namespace) or {}
        entries = result.get("status", {}).get("replicatedJobsStatus", [])
        return bool(entries) and all(
            sum(entry.get(key, 0) for entry in entries) == count for key, count in counts.items()
        )

    return test


def event(reason: str) -> Test:
    """There is an event with this reason."""
    return lambda place: any(
        item["reason"] == reason for item in place.client.list("v1", "Event", place.namespace)
    )


def _conditions(obj: Json) -> list[dict[str, Any]]:
    return obj.get("status", {}).get("conditions") or []


def _has(obj: Json, type_: str, status: str) -> bool:
    return any(c["type"] == type_ and c["status"] == status for c in _conditions(obj))


def _waiting_reasons(pod: Json) -> set[str]:
    status = pod.get("status", {})
    containers = [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]
    return {item["state"].get("waiting", {}).get("reason", "") for item in containers}


def _summary(pod: Json) -> str:
    message = [c.get("message", "") for c in _conditions(pod) if c["status"] == "False"]
    waits = sorted(_waiting_reasons(pod) - {""})
    return " ".join([pod["metadata"]["name"], pod["status"].get("phase", ""), *waits, *message])
