"""The cases: every kind in every room, and single features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tests.check_manifests import kinds
from tests.check_manifests.kinds import CPU, NAME, Builder, Manifests
from tests.check_manifests.rooms import (
    FRAGMENTED,
    FREE,
    FULL,
    RACK,
    TAINT,
    TAINTED,
    TOO_SMALL,
    Room,
)
from tests.controlplane.kubeflow import kubeflow_job, replicas
from tests.controlplane.objects import job, jobset, pod, podgroup
from tests.controlplane.queues import cluster_queue, in_queue, local_queue, resource_flavor
from tests.controlplane.rays import cluster_spec, ray_pods, raycluster
from tests.decode.reading import Json
from tests.situations import POOL


@dataclass(frozen=True)
class TruthCase:
    """A manifest and the cluster around it."""

    name: str
    """Name of the case, of its namespace and of its pool of nodes."""
    nodes: Manifests
    manifest: Manifests
    """Objects that a person checks, and then creates in this order."""
    before: Manifests = ()
    """Objects that exist before the check: foreign pods, queues and runtimes."""
    queue: str = ""
    """ClusterQueue of the case. The test waits until it is active."""

    @property
    def owner(self) -> tuple[str, str]:
        """Kind and name of the gang. Pods of a PodGroup are a gang with the name of the PodGroup."""
        return self.manifest[-1]["kind"], NAME


def _case(name: str, room: Room, manifest: Manifests, *before: Json, **fields: Any) -> TruthCase:
    others = tuple(obj for obj in manifest if obj["kind"] == "ClusterTrainingRuntime")
    checked = tuple(obj for obj in manifest if obj not in others)
    return TruthCase(
        name,
        room.manifests(name),
        checked,
        (*room.fillers(name), *others, *before),
        **fields,
    )


def _in_room(kind: str, what: str, room: Room, build: Builder, **on: str) -> TruthCase:
    name = f"truth-{kind}-{what}"
    return _case(name, room, build(name, {POOL: name, **on}))


def _every_room(kind: str, build: Builder) -> Iterator[TruthCase]:
    yield _in_room(kind, "fits", FREE, build)
    yield _in_room(kind, "full", FULL, build)
    yield _in_room(kind, "fragmented", FRAGMENTED, build)
    yield _in_room(kind, "tainted", TAINTED, build)
    yield _in_room(kind, "no-node", FREE, build, zone="nowhere")
    yield _in_room(kind, "too-large", TOO_SMALL, build)


def _two_rooms(kind: str, build: Builder) -> Iterator[TruthCase]:
    yield _in_room(kind, "fits", FREE, build)
    yield _in_room(kind, "full", FULL, build)


# Single features of pods and groups


def _job(what: str, room: Room, **options: Any) -> TruthCase:
    name = f"truth-{what}"
    options = {"parallelism": 3, "gang": "all", "cpu": CPU, **options}
    return _case(name, room, (job(NAME, name, node_selector={POOL: name}, **options),))


def _apart(key: str = "kubernetes.io/hostname") -> Json:
    selector = {"matchLabels": {"app": "apart"}}
    term = {"labelSelector": selector, "topologyKey": key}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _spread() -> Json:
    constraint = {
        "maxSkew": 1,
        "topologyKey": RACK,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "apart"}},
    }
    return {"topologySpreadConstraints": [constraint]}


def _features() -> Iterator[TruthCase]:
    reserved = [{"key": TAINT["key"], "operator": "Exists"}]
    apart: Any = {"labels": {"app": "apart"}, "affinity": _apart(), "cpu": "1"}
    yield _job("tolerated", TAINTED, tolerations=reserved)
    yield _job("apart-fits", FREE, **apart)
    yield _job("apart-too-many", FREE, **{**apart, "parallelism": 4})
    yield _job(
        "racks-apart-fit",
        Room(racks=3),
        labels={"app": "apart"},
        affinity=_apart(RACK),
    )
    yield _job(
        "racks-apart-too-many",
        Room(nodes=4, racks=2),
        labels={"app": "apart"},
        affinity=_apart(RACK),
    )
    yield _job("spread-fits", Room(nodes=4, racks=2), labels={"app": "apart"}, spec=_spread())
    yield _job("one-rack-fits", Room(nodes=6, racks=2), topology=RACK)
    yield _job("one-rack-too-small", Room(nodes=4, racks=2), topology=RACK)
    yield _job("quorum-fits", Room(nodes=2), gang=2)
    yield _job("quorum-too-large", Room(nodes=1), gang=2)
    yield _job("gpus-fit", Room(gpus=4), gpu=4)
    yield _job("gpus-too-few", Room(gpus=2), gpu=4)
    yield _job("no-gpus", FREE, gpu=1)
    yield _job("memory-too-large", FREE, memory="64Gi")
    yield _job("suspended", FREE, suspend=True)
    yield _job("gated", FREE, gates=["test.gangboard.dev/wait"])
    yield _job("work-queue", FREE, gang=None, completions=6, indexed=False)
    yield _job("no-pods", FREE, parallelism=0, gang=None)
    yield from _groups()
    yield from _jobsets()


def _groups() -> Iterator[TruthCase]:
    """Yield bare pods with too few members, without their group, and more than their quorum."""
    for what, members, quorum in (("below-quorum", 2, 3), ("above-quorum", 4, 3)):
        name = f"truth-{what}"
        pods = [
            pod(f"{NAME}-{index}", name, cpu=CPU, node_selector={POOL: name}, pod_group=NAME)
            for index in range(members)
        ]
        group = podgroup(NAME, name, version="v1beta1", gang=quorum)
        yield _case(name, FREE, (group, *pods))
    name = "truth-group-missing"
    missing: Any = {"cpu": CPU, "node_selector": {POOL: name}, "pod_group": "nowhere"}
    yield _case(name, FREE, (job(NAME, name, parallelism=3, **missing),))


def _jobsets() -> Iterator[TruthCase]:
    """Yield JobSets whose parts start one after the other, or have a rack each."""

    def of(
        what: str, room: Room, workers: int, *, metadata: Json | None = None, **entry: Any
    ) -> TruthCase:
        name = f"truth-{what}"
        pods: Any = {"cpu": CPU, "node_selector": {POOL: name}}
        jobs: Any = {"driver": pods, "workers": {"pods": workers, **pods, **entry}}
        made = jobset(NAME, name, jobs=jobs)
        made["metadata"] |= metadata or {}
        return _case(name, room, (made,))

    after = {"depends_on": {"driver": "Ready"}}
    yield of("after-driver-fits", FREE, 2, **after)
    yield of("after-driver-too-many", FREE, 3, **after)
    exclusive = {"annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": RACK}}
    yield of("rack-each-fits", Room(nodes=4, racks=2), 2, metadata=exclusive)
    yield of("rack-each-too-few", Room(nodes=4, racks=1), 2, metadata=exclusive)


# Queues of Kueue


def _queued(
    what: str,
    kind: str,
    *,
    quota: dict[str, str] | None = None,
    room: Room = FREE,
    spec: Json | None = None,
    queue: str = "queue",
    before: Manifests = (),
) -> TruthCase:
    """Return a gang of nine cpu in a queue with its own flavor, by default of nine cpu."""
    name = f"truth-{kind}-{what}"
    flavor = resource_flavor(name, node_labels={POOL: name})
    cluster = cluster_queue(name, quota or {"cpu": "9"}, flavor=name, spec=spec)
    local = local_queue("queue", name, cluster_queue=name)
    manifest = _QUEUED[kind](name, queue)
    return _case(name, room, (manifest,), flavor, cluster, local, *before, queue=name)


def _queued_job(name: str, queue: str) -> Json:
    labels = in_queue(queue)
    return job(NAME, name, parallelism=3, cpu=CPU, job_labels=labels)


def _queued_jobset(name: str, queue: str) -> Json:
    pods: Any = {"cpu": CPU}
    jobs: Any = {"driver": pods, "workers": {"pods": 2, **pods}}
    return jobset(NAME, name, labels=in_queue(queue), jobs=jobs)


def _queued_torch(name: str, queue: str) -> Json:
    roles = {"Master": replicas(cpu=CPU), "Worker": replicas(2, cpu=CPU)}
    return kubeflow_job("PyTorchJob", NAME, name, roles, labels=in_queue(queue))


def _queued_mpi(name: str, queue: str) -> Json:
    roles = {"Launcher": replicas(cpu=CPU), "Worker": replicas(2, cpu=CPU)}
    return kubeflow_job("MPIJob", NAME, name, roles, labels=in_queue(queue))


def _queued_ray(name: str, queue: str) -> Json:
    made = raycluster(
        NAME, name, cluster_spec(ray_pods(CPU, on={}), ray_pods(CPU, on={}), workers=2)
    )
    made["metadata"]["labels"] = in_queue(queue)
    return made


_QUEUED = {
    "queued-job": _queued_job,
    "queued-jobset": _queued_jobset,
    "queued-pytorch": _queued_torch,
    "queued-mpi": _queued_mpi,
    "queued-ray": _queued_ray,
}


def _queues() -> Iterator[TruthCase]:
    enough_memory = {"cpu": "9", "memory": "64Gi"}
    for kind in _QUEUED:
        quota = enough_memory if kind == "queued-ray" else {"cpu": "9"}
        yield _queued("fits", kind, quota=quota)
        yield _queued("exceeds", kind, quota={**quota, "cpu": "8"})
    for kind in ("queued-job", "queued-jobset"):
        name = f"truth-{kind}-waiting"
        holder = job(
            "holder", name, cpu="1", job_labels=in_queue("queue"), node_selector={POOL: name}
        )
        yield _queued("waiting", kind, before=(holder,))
        yield _queued("stopped", kind, spec={"stopPolicy": "Hold"})
        yield _queued("missing", kind, queue="nowhere")
        yield _queued("not-covered", kind, quota={"nvidia.com/gpu": "9"})
        yield _queued("admitted-and-full", kind, room=replace(FULL))


CASES: tuple[TruthCase, ...] = (
    *(case for kind, build in kinds.EVERYWHERE.items() for case in _every_room(kind, build)),
    *(case for kind, build in kinds.FITTING.items() for case in _two_rooms(kind, build)),
    *_features(),
    *_queues(),
)
