"""A small fleet to look at: twelve nodes, three teams, a gang in every usual state."""

from __future__ import annotations

from tests.controlplane.client import Client, Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import make_nodes, node
from tests.controlplane.objects import job, jobset, namespace, pod, podgroup, quota, workload
from tests.controlplane.profiles import Profile


def fill(plane: ControlPlane) -> None:
    """Create the nodes and the gangs. Return when all runnable gangs are placed.

    Gangs without capacity or quota come last, so that the picture is the same every time, even on
    clusters without gang scheduling.

    """
    client = plane.client
    make_nodes(client, _nodes())
    client.create_all(namespace(team) for team in ("team-a", "team-b", "team-c"))
    client.create_all(_that_fit())
    wait(lambda: _placed(client) == _FITTING, timeout=60, what=f"{_FITTING} pods with a node")
    client.create_all(_that_do_not(plane.profile))


def _placed(client: Client) -> int:
    return sum("nodeName" in result["spec"] for result in client.list("v1", "Pod"))


# 9 of llama-ft, 4 of embed, 2 each of finetune, ingest, report, nightly and flaky, 1 of rlhf.
_FITTING = 24


def _nodes() -> list[Json]:
    racks = [{"example.com/rack": f"r{i // 4}", "pool": "a100"} for i in range(8)]
    return [
        *(
            node(f"gpu-{i}", cpu="64", memory="512Gi", gpus=8, labels=labels)
            for i, labels in enumerate(racks)
        ),
        node("gpu-8", cpu="64", gpus=8, labels={"pool": "a100"}, unschedulable=True),
        node(
            "gpu-9",
            cpu="64",
            gpus=8,
            labels={"pool": "l40"},
            taints=[{"key": "reserved", "value": "inference", "effect": "NoSchedule"}],
        ),
        node("cpu-0", cpu="16", memory="64Gi"),
        node("cpu-1", cpu="16", memory="64Gi"),
    ]


def _that_fit() -> list[Json]:
    return [
        # team-a: the large runs
        jobset(
            "llama-ft",
            "team-a",
            jobs={"driver": {"cpu": "2"}, "workers": {"replicas": 2, "pods": 4, "gpu": 4}},
        ),
        jobset("eval", "team-a", jobs={"workers": {"pods": 4, "gpu": 1}}, suspend=True),
        # team-b: small gangs, and failures
        quota("few-pods", "team-b", pods="10"),
        job("embed", "team-b", parallelism=4, gpu=1, gang=4),
        job(
            "finetune",
            "team-b",
            parallelism=2,
            gpu=1,
            gang=2,
            backoff_limit=50,
            restart_policy="OnFailure",
            never_ready="crash-loop",
            restarts=5,
        ),
        jobset("ingest", "team-b", jobs={"workers": {"pods": 2, "never_ready": "image-pull"}}),
        # team-c: order, ends
        jobset(
            "rlhf",
            "team-c",
            jobs={
                "reward": {"gpu": 1, "never_ready": "pending"},
                "policy": {"replicas": 2, "pods": 2, "gpu": 2, "depends_on": {"reward": "Ready"}},
            },
        ),
        job("report", "team-c", parallelism=2, complete_after="10s"),
        jobset("nightly", "team-c", jobs={"workers": {"pods": 2, "fail_after": "10s"}}),
        jobset(
            "flaky", "team-c", jobs={"workers": {"pods": 2, "fail_after": "45s"}}, max_restarts=100
        ),
    ]


def _that_do_not(profile: Profile) -> list[Json]:
    created = [
        job("pretrain", "team-a", parallelism=12, gpu=8, gang=12),
        job("h100-only", "team-a", parallelism=2, gpu=8, gang=2, node_selector={"pool": "h100"}),
        job("sweep", "team-b", parallelism=8, gang=8),  # the quota leaves it two pods
    ]
    if profile.gang_version == "v1alpha1":  # no PodGroups yet
        created.append(workload("ring", "team-c", version="v1alpha1", templates={"ring": 4}))
        created += _three_of_the_ring(("ring", "ring"))
    elif profile.gang_version:
        created.append(podgroup("ring", "team-c", version=profile.gang_version, gang=4))
        created += _three_of_the_ring("ring")
    return created


def _three_of_the_ring(group: str | tuple[str, str]) -> list[Json]:
    return [pod(f"ring-{i}", "team-c", gpu=1, pod_group=group) for i in range(3)]
