"""Load for tests: clusters of up to 150,000 pods in little memory, and pods that change continuously.

    with Simulator("empty", story=False) as simulator:
        flood = synthetic(simulator, pods=100_000, gangs=5_000)
        with flood.churn(per_second=50):
            ...

Each pod is stored as a few words and becomes JSON when a client reads it, so 100,000 of them take about 40 MB
instead of 300. Controllers ignore them.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from simulator import child_objects, job_status, manifests
from simulator.nodes import node
from simulator.pod_status import pod_status
from simulator.resources import JOBS, NAMESPACES, NODES, PODS
from simulator.simulator import Simulator
from simulator.store import Json, Key, encode
from simulator.writes import timestamp

_SLOT = "\0{}\0"
_VERSION, _NAME, _INDEX, _UID, _NODE, _JOB, _JOB_UID, _GROUP, _NAMESPACE = range(9)
_NODE_PODS = 60


@dataclass(frozen=True, slots=True)
class _Template:
    """A pod as JSON with placeholders: text pieces, and the indexes of the values between them."""

    fragments: tuple[bytes, ...]
    holes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CompactPod:
    """A pod stored as its template and its own values."""

    version: int
    template: _Template
    values: tuple[bytes, ...]
    """Name, index, uid and node; then Job, Job uid, group and namespace, shared by all pods of a Job."""

    def body(self) -> bytes:
        """Return the object as JSON without apiVersion and kind."""
        values = (str(self.version).encode(), *self.values)
        output = [self.template.fragments[0]]
        for hole, fragment in zip(self.template.holes, self.template.fragments[1:], strict=True):
            output += (values[hole], fragment)
        return b"".join(output)


class Flood:
    """A synthetic fleet in a simulator."""

    def __init__(self, simulator: Simulator, *, seed: int = 1) -> None:
        self._simulator = simulator
        self._store = simulator.store
        self._random = Random(seed)  # noqa: S311  # A load must be repeatable, not secret.
        self._keys: list[Key] = []
        self._templates: dict[str, _Template] = {}
        self.changes = 0
        """Number of changes by `change` and `churn`."""

    def fill(self, *, pods: int, gangs: int, namespaces: int) -> None:
        """Create namespaces, nodes, Jobs with their PodGroups, and the pods."""
        now = timestamp()
        names = [f"load-{number}" for number in range(namespaces)]
        for name in names:
            self._simulator.writer.create(NAMESPACES, {"metadata": {"name": name}})
        nodes = [f"load-{number}" for number in range(max(1, pods // _NODE_PODS))]
        for name in nodes:
            manifest = node(name, now, gpus=8, cpu="192", memory="2Ti", labels={"pool": "load"})
            self._simulator.writer.create(NODES, manifest)
        for number in range(gangs):
            first, last = pods * number // gangs, pods * (number + 1) // gangs
            self._gang(f"gang-{number}", names[number % namespaces], range(first, last), nodes)

    def _gang(self, name: str, namespace: str, numbers: range, nodes: list[str]) -> None:
        size = len(numbers)
        spec = manifests.job_spec(manifests.PodTemplate(cpu="1", gpus=0), size, quorum=size)
        job = manifests.job(name, namespace, spec)
        job["status"] = {"active": size, "ready": size, "startTime": timestamp()}
        world, writer = self._simulator.world, self._simulator.writer
        job["metadata"]["uid"] = writer.new_uid()
        world.scripted.add(job["metadata"]["uid"])
        job = {**writer.create(JOBS, job)}
        group = self._group(job)
        shared = (name, job["metadata"]["uid"], group, namespace)
        if "running" not in self._templates:
            for state in ("running", "unready"):
                self._templates[state] = _template(job, state)
        tail = tuple(value.encode() for value in shared)
        for index, number in enumerate(numbers):
            pod = f"{name}-{index}-{_suffix(name, index)}"
            own = (pod, str(index), _uid(namespace, pod), nodes[number % len(nodes)])
            values = (*(value.encode() for value in own), *tail)
            self._put((namespace, pod), "running", values)

    def _group(self, job: Json) -> str:
        world, writer = self._simulator.world, self._simulator.writer
        version = world.version
        workloads, groups = world.resource("workloads"), world.resource("podgroups")
        if version is None or workloads is None or groups is None:
            return "none"
        workload, group = child_objects.group_of(job, version, writer.new_uid())
        condition = job_status.plain_condition(
            "PodGroupInitiallyScheduled", "True", "Scheduled", "", timestamp()
        )
        group["status"] = {"conditions": [condition]}
        writer.create(workloads, workload)
        return str(writer.create(groups, group)["metadata"]["name"])

    def _put(self, key: Key, state: str, values: tuple[bytes, ...]) -> None:
        with self._store.lock:
            version = self._store.next_version()
            if key not in self._store.table(PODS).objects:
                self._keys.append(key)
            self._store.commit(PODS, key, CompactPod(version, self._templates[state], values))

    def change(self, count: int) -> None:
        """Make `count` random pods unready, or ready again."""
        pods = self._store.table(PODS).objects
        for key in self._random.choices(self._keys, k=count):
            pod = pods.get(key)
            if isinstance(pod, CompactPod):
                ready = pod.template is self._templates["running"]
                self._put(key, "unready" if ready else "running", pod.values)
                self.changes += 1

    @contextmanager
    def churn(self, per_second: float) -> Iterator[None]:
        """Change pods at this rate until the end of the block."""
        stop = threading.Event()

        def run() -> None:
            start, count = time.monotonic(), 0
            while not stop.wait(0.05):
                due = int((time.monotonic() - start) * per_second)
                self.change(due - count)
                count = due

        thread = threading.Thread(target=run, name="simulator-churn", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(5)


def synthetic(
    simulator: Simulator, *, pods: int, gangs: int, namespaces: int = 20, seed: int = 1
) -> Flood:
    """Fill a simulator (of the fleet `empty`) with running gangs. Return the load generator."""
    flood = Flood(simulator, seed=seed)
    flood.fill(pods=pods, gangs=gangs, namespaces=namespaces)
    return flood


def _template(job: Json, state: str) -> _Template:
    """Return the pod template of all synthetic Jobs, derived from the pods of one."""
    slots = {number: _SLOT.format(number) for number in range(9)}
    marked: dict[str, Any] = json.loads(json.dumps(job))
    marked["metadata"] |= {
        "name": slots[_JOB],
        "uid": slots[_JOB_UID],
        "namespace": slots[_NAMESPACE],
    }
    labels = marked["spec"]["template"]["metadata"]["labels"]
    for key in list(labels):
        labels[key] = slots[_JOB_UID] if key.endswith("controller-uid") else slots[_JOB]
    pod = child_objects.pod_of(marked, 0, "")
    meta = pod["metadata"]
    index = "batch.kubernetes.io/job-completion-index"
    meta["labels"][index] = meta["annotations"][index] = slots[_INDEX]
    meta |= {
        "name": slots[_NAME],
        "uid": slots[_UID],
        "resourceVersion": slots[_VERSION],
        "creationTimestamp": timestamp(),
        "generation": 1,
        "generateName": f"{slots[_JOB]}-{slots[_INDEX]}-",
    }
    pod["spec"] |= {
        "nodeName": slots[_NODE],
        "hostname": f"{slots[_JOB]}-{slots[_INDEX]}",
        "schedulingGroup": {"podGroupName": slots[_GROUP]},
    }
    pod["status"] = pod_status(state, pod, timestamp())
    text = encode(pod).decode()
    fragments, holes = [], []
    rest = text
    while "\\u0000" in rest:
        front, number, rest = rest.split("\\u0000", 2)
        fragments.append(front.encode())
        holes.append(int(number))
    fragments.append(rest.encode())
    return _Template(tuple(fragments), tuple(holes))


def _uid(namespace: str, name: str) -> str:
    digest = hashlib.blake2s(f"{namespace}/{name}".encode(), digest_size=16).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-a{digest[17:20]}-{digest[20:]}"


def _suffix(name: str, index: int) -> str:
    return hashlib.blake2s(f"{name}/{index}".encode(), digest_size=3).hexdigest()[:5]
