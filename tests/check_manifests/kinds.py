"""Gangs of three pods of three cpu each, of every kind whose controller runs on the control plane.

A function takes the name of the case, which is the namespace and the pool of nodes, and a node selector.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.controlplane.kubeflow import kubeflow_job, replicas
from tests.controlplane.leaderworkersets import disaggregatedset, leaderworkerset
from tests.controlplane.objects import job, jobset, pod, podgroup
from tests.controlplane.rays import cluster_spec, ray_pods, raycluster, rayjob, rayservice
from tests.controlplane.trainjobs import runtime, trainjob
from tests.decode.reading import Json

Selector = Mapping[str, str]
Manifests = tuple[Json, ...]
CPU = "3"
NAME = "run"


def _template(on: Selector) -> Json:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": CPU}}}
    return {"spec": {"containers": [container], "nodeSelector": dict(on)}}


def gang_job(case: str, on: Selector) -> Manifests:
    """Return a Job that asks for a gang."""
    return (job(NAME, case, parallelism=3, gang="all", cpu=CPU, node_selector=on),)


def plain_job(case: str, on: Selector) -> Manifests:
    """Return a Job whose pods are placed one by one."""
    return (job(NAME, case, parallelism=3, cpu=CPU, node_selector=on),)


def jobset_of_two(case: str, on: Selector) -> Manifests:
    """Return a JobSet with a driver and two workers."""
    pods: Any = {"cpu": CPU, "node_selector": on}
    jobs: Any = {"driver": pods, "workers": {"pods": 2, **pods}}
    return (jobset(NAME, case, jobs=jobs),)


def bare_pods(case: str, on: Selector) -> Manifests:
    """Return pods in a PodGroup."""
    group = podgroup(NAME, case, version="v1beta1", gang=3)
    pods = [
        pod(f"{NAME}-{index}", case, cpu=CPU, node_selector=on, pod_group=NAME)
        for index in range(3)
    ]
    return (group, *pods)


def train(case: str, on: Selector) -> Manifests:
    """Return a TrainJob after its runtime, which has the name of the case."""
    pods: Any = {"cpu": CPU, "node_selector": on}
    return (runtime(case, node=pods), trainjob(NAME, case, case, nodes=3))


def torch(case: str, on: Selector) -> Manifests:
    """Return a PyTorchJob with a master and two workers."""
    roles = {"Master": replicas(cpu=CPU), "Worker": replicas(2, cpu=CPU)}
    return (kubeflow_job("PyTorchJob", NAME, case, roles, where=on),)


def jax(case: str, on: Selector) -> Manifests:
    """Return a JAXJob with three workers."""
    return (kubeflow_job("JAXJob", NAME, case, {"Worker": replicas(3, cpu=CPU)}, where=on),)


def mpi(case: str, on: Selector) -> Manifests:
    """Return an MPIJob with a launcher and two workers."""
    roles = {"Launcher": replicas(cpu=CPU), "Worker": replicas(2, cpu=CPU)}
    return (kubeflow_job("MPIJob", NAME, case, roles, where=on),)


def leader_worker(case: str, on: Selector) -> Manifests:
    """Return a LeaderWorkerSet with one replica of three pods."""
    return (leaderworkerset(NAME, case, replicas=1, size=3, worker=_template(on)),)


def disaggregated(case: str, on: Selector) -> Manifests:
    """Return a DisaggregatedSet with one replica of one pod and one of two."""
    roles = {
        role: leaderworkerset("x", case, replicas=1, size=size, worker=_template(on))["spec"]
        for role, size in (("prefill", 1), ("decode", 2))
    }
    return (disaggregatedset(NAME, case, roles),)


def ray_cluster(case: str, on: Selector) -> Manifests:
    """Return a RayCluster with a head and two workers."""
    return (raycluster(NAME, case, _ray(on)),)


def ray_job(case: str, on: Selector) -> Manifests:
    """Return a RayJob with a head and two workers, and a submitter without requests."""
    submitter = ray_pods("0", on=on, restart_policy="Never")
    return (rayjob(NAME, case, _ray(on), submitter),)


def ray_service(case: str, on: Selector) -> Manifests:
    """Return a RayService with a head and two workers."""
    return (rayservice(NAME, case, _ray(on)),)


def _ray(on: Selector) -> Json:
    return cluster_spec(ray_pods(CPU, on=on), ray_pods(CPU, on=on), workers=2)


Builder = Callable[[str, Selector], Manifests]

EVERYWHERE: Mapping[str, Builder] = {
    "gang-job": gang_job,
    "plain-job": plain_job,
    "jobset": jobset_of_two,
    "pods": bare_pods,
    "trainjob": train,
    "pytorch": torch,
    "mpi": mpi,
    "lws": leader_worker,
    "raycluster": ray_cluster,
}
"""Kinds that are checked in every room."""
FITTING: Mapping[str, Builder] = {
    "jax": jax,
    "disaggregated": disaggregated,
    "rayjob": ray_job,
    "rayservice": ray_service,
}
"""Further kinds, in a room with enough and one with too little capacity."""
