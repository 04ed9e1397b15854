"""A stored cluster with nodes, for checks of manifests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from gangboard.decode.manifests import read_manifests
from gangboard.domain.check import CheckedGang, ClusterCheck
from gangboard.domain.node import Node
from gangboard.domain.pod_constraints import Taint
from gangboard.polling.checks.engine import check_cluster
from gangboard.polling.cluster_cache import resources
from gangboard.store.models import Cluster, ResourceState
from tests.domain_objects import a_node
from tests.factories import make_cluster, store_object

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SERVED = (
    "pods",
    "nodes",
    "events.events.k8s.io",
    "jobs.batch",
    "jobsets.jobset.x-k8s.io",
    "podgroups.scheduling.k8s.io",
    "workloads.scheduling.k8s.io",
)


def make_fleet(*nodes: Node, name: str = "eu-train", served: tuple[str, ...] = SERVED) -> Cluster:
    """Store a cluster that serves these resources, with these nodes."""
    cluster = make_cluster(name, now=NOW)
    ResourceState.objects.bulk_create(
        ResourceState(
            cluster=cluster,
            resource=resource.key,
            version=resource.versions[0] if resource.key in served else "",
            state="ok" if resource.key in served else "not-served",
            needed=resource.needed,
            resource_version="1" if resource.key in served else "",
            listed_at=NOW - timedelta(hours=1) if resource.key in served else None,
            contact_at=NOW - timedelta(seconds=2),
            objects_count=0,
        )
        for resource in resources()
    )
    for node in nodes:
        store_object(cluster, "nodes", node)
    return cluster


def gpu_node(name: str, gpus: int = 8, **fields: Any) -> Node:
    """Return a node with GPUs."""
    labels = {"kubernetes.io/hostname": name, **fields.pop("labels", {})}
    return a_node(
        name,
        labels=labels,
        allocatable={"cpu": 64_000, "nvidia.com/gpu": gpus, "pods": 110},
        **fields,
    )


def tainted(name: str) -> Node:
    """Return a node with a taint that pods do not tolerate by default."""
    return gpu_node(name, taints=(Taint("team", "NoSchedule", "infra"),))


def job(
    name: str = "train", *, pods: int = 2, gpus: int = 4, more: str = "", spec: str = ""
) -> str:
    """Return the manifest of a Job. `more` is part of its pod spec, `spec` of its own."""
    return f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: team-a}}
spec:
  parallelism: {pods}
  completions: {pods}
  completionMode: Indexed
  {spec}
  template:
    spec:
      restartPolicy: Never
      {more}
      containers:
      - name: main
        image: python
        env: [{{name: TOKEN, value: secret}}]
        resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""


def check(cluster: Cluster, text: str) -> ClusterCheck:
    """Return the forecasts about a text."""
    cluster.refresh_from_db()
    return check_cluster(cluster, read_manifests(text), NOW)


def check_one(cluster: Cluster, text: str) -> CheckedGang:
    """Return the forecast about the only gang of a text."""
    result = check(cluster, text)
    assert not result.why_unknown, result.why_unknown
    (gang,) = result.gangs
    return gang
