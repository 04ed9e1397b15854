"""Stored nodes and pods of one Job, as the poll stores them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from gangboard.domain.objects import Controller
from gangboard.store.models import Cluster, ClusterCapacity, Gang, NodeCapacity
from tests.domain_objects import a_pod, requests
from tests.factories import NOW, store_object

ZONE = "topology.kubernetes.io/zone"


def place_job(
    cluster: Cluster,
    gang: Gang,
    job: str,
    nodes: Mapping[str, int],
    *,
    spare: int = 1,
    now: datetime = NOW,
) -> None:
    """Store nodes with 8 CPUs each: those of `nodes` with that number of pods of 6 CPUs, and spare ones.

    The nodes lie in zones `z0` and `z1` in turn.
    """
    names = [*nodes, *(f"spare-{index}" for index in range(spare))]
    uid = f"{gang.uid}-job-{job.rpartition('-')[2]}"
    for index, name in enumerate(names):
        pods = [
            a_pod(
                f"{job}-{name}-{number}",
                on=name,
                namespace=gang.namespace,
                of=Controller("batch", "Job", job, uid),
                requests=requests(cpu="6"),
            )
            for number in range(nodes.get(name, 0))
        ]
        for pod in pods:
            store_object(cluster, "pods", pod)
        NodeCapacity.objects.create(
            cluster=cluster,
            name=name,
            labels={"kubernetes.io/hostname": name, ZONE: f"z{index % 2}"},
            allocatable={"cpu": "8", "pods": "110"},
            used={"cpu": str(6 * len(pods)), "pods": str(len(pods))},
            pods={pod.meta.ref.uid: gang.uid for pod in pods},
        )
    ClusterCapacity.objects.create(cluster=cluster, observed_at=now)
