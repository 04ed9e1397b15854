"""The states that `capture` knows: what makes each, and how it is recognised."""

from __future__ import annotations

from collections.abc import Sequence

from tests.controlplane.client import Json
from tests.controlplane.nodes import cordon, node, silence_node
from tests.controlplane.objects import (
    JOBSET,
    JobOptions,
    compositepodgroup,
    job,
    jobset,
    pod,
    podgroup,
    priority_class,
    quota,
    workload,
)
from tests.controlplane.states import (
    ALL,
    GANG,
    NEWEST,
    Place,
    State,
    Step,
    both,
    condition,
    event,
    group_says,
    jobset_counts,
    pods_exist,
    running,
    unschedulable,
    waiting,
)

# Long enough for a scheduler that has something to say to have said it.
_QUIET = 4.0
_PLAIN = frozenset({"plain"})
_PLAIN_AND_NEWEST = _PLAIN | NEWEST


def _gang_job(place: Place, parallelism: int, gpu: int, **more: str) -> list[Json]:
    selector = {"node_selector": {"pool": more["pool"]}} if "pool" in more else {}
    return [
        job(
            "train",
            place.namespace,
            parallelism=parallelism,
            gpu=gpu,
            gang=place.gang(parallelism),
            topology=more.get("topology"),
            **selector,  # type: ignore[arg-type]
        )
    ]


def _members(place: Place, count: int, gang: int | None, **options: str) -> list[Json]:
    return [
        podgroup("ring", place.namespace, version=place.version, gang=gang),
        *(
            pod(f"ring-{i}", place.namespace, gpu=1, pod_group="ring", **options)  # type: ignore[arg-type]
            for i in range(count)
        ),
    ]


def _run(place: Place, *, suspend: bool = False, **workers: object) -> list[Json]:
    """A JobSet of one driver and two Jobs of two workers."""
    entry: JobOptions = {"replicas": 2, "pods": 2, "gpu": 1}
    entry |= workers  # type: ignore[typeddict-item]
    jobs: dict[str, JobOptions] = {"driver": {}, "workers": entry}
    return [jobset("run", place.namespace, jobs=jobs, suspend=suspend)]


def _one_job(place: Place, max_restarts: int | None, **workers: object) -> list[Json]:
    entry: JobOptions = {"pods": 2, "gpu": 1}
    entry |= workers  # type: ignore[typeddict-item]
    return [jobset("run", place.namespace, jobs={"workers": entry}, max_restarts=max_restarts)]


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


def _terminating(place: Place) -> bool:
    return any("deletionTimestamp" in item["metadata"] for item in place.pods())


def _pods_not_ready(place: Place) -> bool:
    states = [
        item["status"]
        for pod_ in place.pods()
        for item in [pod_]
        for c in item["status"].get("conditions", [])
        if c["type"] == "Ready" and c["status"] == "False"
    ]
    return bool(states)


def _silence_one(place: Place) -> None:
    silence_node(place.client, place.pods()[0]["spec"]["nodeName"])


def _lose_one_for_good(place: Place) -> None:
    """Cordon the node of one pod and delete the pod: its replacement has nowhere to go."""
    lost = place.pods()[0]
    cordon(place.client, lost["spec"]["nodeName"])
    place.client.delete("v1", "Pod", lost["metadata"]["name"], place.namespace)


def _composite(place: Place) -> list[Json]:
    name = place.namespace
    templates = [
        {"name": key, "schedulingPolicy": {"gang": {"minCount": 2}}} for key in ("left", "right")
    ]
    tree = workload("serve", name, templates={}, version="v1alpha3")
    tree["spec"] = {
        "compositePodGroupTemplates": [
            {
                "name": "replica",
                "schedulingPolicy": {"gang": {"minGroupCount": 2}},
                "podGroupTemplates": templates,
            }
        ]
    }
    made = [tree, compositepodgroup("serve-0", name, workload=("serve", "replica"), groups=2)]
    for key in ("left", "right"):
        group = podgroup(
            f"serve-0-{key}", name, version="v1alpha3", gang=2, workload=("serve", key)
        )
        group["spec"]["parentCompositePodGroupName"] = "serve-0"
        made.append(group)
        made += [pod(f"{key}-{i}", name, gpu=1, pod_group=f"serve-0-{key}") for i in range(2)]
    return made


def _racks() -> Sequence[Json]:
    return [
        node(f"n{i}", cpu="32", gpus=4, labels={"example.com/rack": f"r{i // 2}"}) for i in range(4)
    ]


STATES: dict[str, State] = {
    state.name: state
    for state in (
        # One Job
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
            lambda p: [
                job("train", p.namespace, parallelism=2, gpu=1, gang=p.gang(2), suspend=True)
            ],
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
            [Step(both(pods_exist(2), event("FailedCreate")), quiet=_QUIET)],
        ),
        State(
            "job-scheduler-of-nobody",
            lambda p: [
                job("train", p.namespace, parallelism=2, gang=p.gang(2), scheduler="nobody")
            ],
            [Step(pods_exist(2), quiet=_QUIET)],
        ),
        State(
            "job-preempting",
            _preempted,
            [Step(running(4)), Step(_terminating, do=_preempt, quiet=2.0)],
            on=GANG,
        ),
        State(
            "job-member-lost",
            lambda p: _gang_job(p, 4, 4),
            [Step(running(4)), Step(both(running(3), unschedulable(1)), do=_lose_one_for_good)],
        ),
        State(
            "job-node-silent",
            lambda p: _gang_job(p, 4, 4),
            [Step(running(4)), Step(_pods_not_ready, do=_silence_one)],
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
        # Pods and a PodGroup made by hand
        State("group-running", lambda p: _members(p, 3, 3), [Step(running(3))], on=GANG),
        State("group-basic", lambda p: _members(p, 3, None), [Step(running(3))], on=GANG),
        State(
            "group-below-quorum",
            lambda p: _members(p, 2, 4),
            [Step(pods_exist(2), quiet=_QUIET)],
            on=GANG,
        ),
        State(
            "group-missing",
            lambda p: _members(p, 2, 2)[1:],
            [Step(pods_exist(2), quiet=_QUIET)],
            on=GANG,
        ),
        State(
            "group-scheduling-gate",
            lambda p: [
                podgroup("ring", p.namespace, version=p.version, gang=2),
                *(
                    pod(f"ring-{i}", p.namespace, pod_group="ring", gates=["example.com/hold"])
                    for i in range(2)
                ),
            ],
            [Step(pods_exist(2), quiet=_QUIET)],
            on=GANG,
        ),
        State(
            "group-mixed-schedulers",
            lambda p: [
                podgroup("ring", p.namespace, version=p.version, gang=2),
                pod("ring-0", p.namespace, pod_group="ring"),
                pod("ring-1", p.namespace, pod_group="ring", scheduler="nobody"),
            ],
            [Step(pods_exist(2), quiet=_QUIET)],
            on=GANG,
        ),
        State("group-composite", _composite, [Step(pods_exist(4), quiet=_QUIET)], on=NEWEST),
        State(
            "pods-partly-placed",
            lambda p: [pod(f"worker-{i}", p.namespace, gpu=4) for i in range(6)],
            [Step(both(running(4), unschedulable(2)))],
            on=_PLAIN_AND_NEWEST,
        ),
        # JobSets
        State("jobset-running", _run, [Step(jobset_counts("run", ready=3))]),
        State(
            "jobset-unschedulable",
            lambda p: _run(p, gpu=16),
            [Step(unschedulable(4), quiet=1.0)],
        ),
        State(
            "jobset-partly-placed",
            lambda p: _run(p, replicas=3, gpu=4),
            [Step(both(running(5), unschedulable(2)), quiet=1.0)],
        ),
        State(
            "jobset-suspended",
            lambda p: _run(p, suspend=True),
            [
                Step(
                    both(condition("JobSet", "run", "Suspended"), jobset_counts("run", suspended=3))
                )
            ],
        ),
        State(
            "jobset-suspended-after-running",
            _run,
            [
                Step(jobset_counts("run", ready=3)),
                Step(
                    both(
                        condition("JobSet", "run", "Suspended"),
                        pods_exist(0),
                        jobset_counts("run", ready=0, suspended=3),
                    ),
                    do=lambda p: p.patch("JobSet", "run", {"suspend": True}),
                ),
            ],
        ),
        State(
            "jobset-resumed",
            lambda p: _run(p, suspend=True),
            [
                Step(condition("JobSet", "run", "Suspended")),
                Step(
                    jobset_counts("run", ready=3),
                    do=lambda p: p.patch("JobSet", "run", {"suspend": False}),
                ),
            ],
        ),
        State(
            "jobset-completed",
            lambda p: _one_job(p, None, complete_after="1s"),
            [Step(condition("JobSet", "run", "Completed"))],
        ),
        State(
            "jobset-failed",
            lambda p: _one_job(p, None, fail_after="1s"),
            [Step(condition("JobSet", "run", "Failed"))],
        ),
        State(
            "jobset-failed-after-restarts",
            lambda p: _one_job(p, 1, fail_after="500ms"),
            [Step(condition("JobSet", "run", "Failed"))],
        ),
        State(
            "jobset-restarting",
            lambda p: _one_job(p, 5, start_after="8s", fail_after="500ms"),
            [
                Step(
                    both(
                        condition("JobSet", "run", "RestartingJobSet"),
                        waiting("ContainerCreating", 2),
                    )
                )
            ],
        ),
        State(
            "jobset-restarted",
            lambda p: _one_job(p, 5),
            [
                Step(running(2)),
                Step(
                    both(condition("JobSet", "run", "RestartingJobSet", "False"), running(2)),
                    do=lambda p: p.client.patch_status(
                        "v1",
                        "Pod",
                        p.pods()[0]["metadata"]["name"],
                        {"phase": "Failed"},
                        p.namespace,
                    ),
                ),
            ],
        ),
        State(
            "jobset-depends-on",
            lambda p: [
                jobset(
                    "run",
                    p.namespace,
                    jobs={
                        "driver": {"never_ready": "pending"},
                        "workers": {"pods": 2, "depends_on": {"driver": "Ready"}},
                    },
                )
            ],
            [Step(waiting("ContainerCreating", 1), quiet=1.0)],
        ),
        State(
            "jobset-image-pull",
            lambda p: _run(p, never_ready="image-pull"),
            [Step(waiting("ImagePullBackOff", 4))],
        ),
        State(
            "jobset-shared-group",
            lambda p: [
                podgroup("ring", p.namespace, version=p.version, gang=5),
                jobset(
                    "run",
                    p.namespace,
                    jobs={
                        "driver": {"pod_group": "ring"},
                        "workers": {"replicas": 2, "pods": 2, "gpu": 1, "pod_group": "ring"},
                    },
                ),
            ],
            [Step(jobset_counts("run", ready=3))],
            on=GANG,
        ),
    )
}

__all__ = ["ALL", "JOBSET", "STATES"]
