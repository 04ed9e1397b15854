"""States of a single Job, and of pods without a group."""

from __future__ import annotations

from collections.abc import Sequence

from tests.controlplane.client import Json
from tests.controlplane.nodes import cordon, node, silence_node
from tests.controlplane.objects import job, priority_class, quota
from tests.controlplane.states import (
    GANG,
    NEWEST,
    QUIET,
    Place,
    State,
    Step,
    both,
    condition,
    event,
    group_says,
    pods_exist,
    running,
    terminating,
    unschedulable,
    waiting,
)

_PLAIN = frozenset({"plain"})
_OLD = frozenset({"1.36"})


def _gang_job(place: Place, parallelism: int, gpu: int, **extra: str) -> list[Json]:
    selector = {"node_selector": {"pool": extra["pool"]}} if "pool" in extra else {}
    return [
        job(
            "train",
            place.namespace,
            parallelism=parallelism,
            gpu=gpu,
            gang=place.gang(parallelism),
            topology=extra.get("topology"),
            **selector,  # type: ignore[arg-type]
        )
    ]


def _preempted(place: Place) -> list[Json]:
    return [
        priority_class("urgent", 1000),
        job("low", place.namespace, parallelism=4, gpu=4, gang=place.gang(4), linger="60s"),
    ]


def _preempt(place: Place) -> None:
    urgent = job(
        "urgent",
        place.namespace,
        parallelism=2,
        gpu=4,
        gang=place.gang(2),
        priority_class="urgent",
    )
    place.client.create(urgent)


def _pods_not_ready(place: Place) -> bool:
    return any(
        item["type"] == "Ready" and item["status"] == "False"
        for pod in place.pods()
        for item in pod["status"].get("conditions", [])
    )


def _silence_one(place: Place) -> None:
    silence_node(place.client, place.pods()[0]["spec"]["nodeName"])


def _lose_one_for_good(place: Place) -> None:
    """Cordon the node of one pod and delete the pod: its replacement has nowhere to go."""
    lost = place.pods()[0]
    cordon(place.client, lost["spec"]["nodeName"])
    place.client.delete("v1", "Pod", lost["metadata"]["name"], place.namespace)


def _racks() -> Sequence[Json]:
    return [
        node(f"n{i}", cpu="32", gpus=4, labels={"example.com/rack": f"r{i // 2}"}) for i in range(4)
    ]


STATES = (
    State("job-running", lambda p: _gang_job(p, 4, 4), [Step(running(4))]),
    State(
        "job-unschedulable",
        lambda p: _gang_job(p, 6, 4),
        [Step(both(unschedulable(6), group_says("False")), quiet=1.0)],
        on=GANG,
    ),
    State(
        "job-partly-placed",
        lambda p: _gang_job(p, 6, 4),
        [Step(both(running(4), unschedulable(2)))],
        on=_PLAIN,
    ),
    State(
        "job-fragmented",
        lambda p: _gang_job(p, 3, 3),
        [Step(unschedulable(3), quiet=1.0)],
        on=GANG,
        nodes=[node(f"n{i}", cpu="32", gpus=2) for i in range(5)],
    ),
    State(
        "job-no-matching-node",
        lambda p: _gang_job(p, 3, 1, pool="h100"),
        [Step(unschedulable(3), quiet=1.0)],
    ),
    State(
        "job-nodes-cordoned",
        lambda p: _gang_job(p, 3, 1),
        [Step(unschedulable(3), quiet=1.0)],
        nodes=[node(f"n{i}", gpus=4, unschedulable=True) for i in range(2)],
    ),
    State(
        "job-topology-does-not-fit",
        lambda p: _gang_job(p, 3, 4, topology="example.com/rack"),
        [Step(both(unschedulable(3), group_says("False")), quiet=1.0)],
        on=NEWEST,
        nodes=_racks(),
    ),
    State(
        "job-basic-running",
        lambda p: [job("train", p.namespace, parallelism=3, gpu=1)],
        [Step(both(running(3), group_says("True")))],
        on=NEWEST,
    ),
    State(
        "job-basic-partly-placed",
        lambda p: [job("train", p.namespace, parallelism=6, gpu=4)],
        [Step(both(running(4), unschedulable(2)), quiet=1.0)],
        on=NEWEST,
    ),
    State(
        "job-at-quorum",
        lambda p: [job("train", p.namespace, parallelism=6, gpu=4, gang=p.gang(2))],
        [Step(both(running(4), unschedulable(2)), quiet=1.0)],
        on=NEWEST,
    ),
    State(
        "job-suspended",
        lambda p: [job("train", p.namespace, parallelism=2, gpu=1, gang=p.gang(2), suspend=True)],
        [Step(condition("Job", "train", "Suspended"), quiet=1.0)],
    ),
    State(
        "job-suspended-after-running",
        lambda p: _gang_job(p, 2, 1),
        [
            Step(running(2)),
            Step(
                both(condition("Job", "train", "Suspended"), pods_exist(0)),
                do=lambda p: p.patch("Job", "train", {"suspend": True}),
                quiet=2.0,
            ),
        ],
    ),
    State(
        "job-completed",
        lambda p: [job("train", p.namespace, parallelism=2, complete_after="1s")],
        [Step(condition("Job", "train", "Complete"))],
    ),
    State(
        "job-failed",
        lambda p: [job("train", p.namespace, parallelism=2, backoff_limit=0, fail_after="1s")],
        [Step(condition("Job", "train", "Failed"))],
    ),
    State(
        "job-quota-refused",
        lambda p: [quota("q", p.namespace, pods="2"), *_gang_job(p, 4, 1)],
        [Step(both(pods_exist(2), event("FailedCreate")), quiet=QUIET)],
    ),
    State(
        "job-scheduler-of-nobody",
        lambda p: [job("train", p.namespace, parallelism=2, gang=p.gang(2), scheduler="nobody")],
        [Step(pods_exist(2), quiet=QUIET)],
    ),
    State(
        "job-preempting",
        _preempted,
        [Step(running(4)), Step(terminating, do=_preempt, quiet=2.0)],
        on=NEWEST,
    ),
    # 1.36's Job controller gives its PodGroup priority 0 for any priority of its pods, so no pod is
    # preempted.
    State(
        "job-priority-ignored",
        _preempted,
        [Step(running(4)), Step(unschedulable(2), do=_preempt, quiet=QUIET)],
        on=_OLD,
    ),
    State(
        "job-member-lost",
        lambda p: _gang_job(p, 4, 4),
        [
            Step(running(4)),
            Step(both(running(3), unschedulable(1)), do=_lose_one_for_good, quiet=2.0),
        ],
    ),
    State(
        "job-node-silent",
        lambda p: _gang_job(p, 4, 4),
        [Step(running(4)), Step(_pods_not_ready, do=_silence_one, quiet=2.0)],
    ),
    State(
        "job-image-pull",
        lambda p: [job("train", p.namespace, parallelism=2, never_ready="image-pull")],
        [Step(waiting("ImagePullBackOff", 2))],
    ),
    State(
        "job-container-config",
        lambda p: [job("train", p.namespace, parallelism=2, never_ready="container-config")],
        [Step(waiting("CreateContainerConfigError", 2))],
    ),
    State(
        "job-crash-loop",
        lambda p: [
            job(
                "train",
                p.namespace,
                parallelism=2,
                backoff_limit=20,
                restart_policy="OnFailure",
                never_ready="crash-loop",
            )
        ],
        [Step(waiting("CrashLoopBackOff", 2))],
    ),
    State(
        "job-init-crash-loop",
        lambda p: [
            job(
                "train",
                p.namespace,
                parallelism=2,
                backoff_limit=20,
                restart_policy="OnFailure",
                never_ready="init-crash-loop",
                init=True,
            )
        ],
        [Step(waiting("CrashLoopBackOff", 2))],
    ),
    State(
        "job-starting",
        lambda p: [job("train", p.namespace, parallelism=2, never_ready="pending")],
        [Step(waiting("ContainerCreating", 2))],
    ),
    State(
        "job-unready",
        lambda p: [job("train", p.namespace, parallelism=2, never_ready="unready")],
        [
            Step(
                both(
                    running(0),
                    lambda p: all(item["status"]["phase"] == "Running" for item in p.pods()),
                    pods_exist(2),
                )
            )
        ],
    ),
)
