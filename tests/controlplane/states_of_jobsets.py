"""States of JobSets."""

from __future__ import annotations

from tests.controlplane.client import Json
from tests.controlplane.objects import JobOptions, jobset, podgroup
from tests.controlplane.states import (
    GANG,
    Place,
    State,
    Step,
    both,
    condition,
    jobset_counts,
    pods_exist,
    running,
    unschedulable,
    waiting,
)


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


STATES = (
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
        [Step(both(condition("JobSet", "run", "Suspended"), jobset_counts("run", suspended=3)))],
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
                quiet=2.0,
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
