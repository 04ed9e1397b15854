"""States of gangs on 1.35: entries of Workloads, which pods name and which have no object."""

from __future__ import annotations

from tests.controlplane.client import Json
from tests.controlplane.objects import job, pod, priority_class, workload
from tests.controlplane.states import (
    QUIET,
    Place,
    State,
    Step,
    both,
    nominated,
    pods_exist,
    running,
    terminating,
    unschedulable,
)

V135 = frozenset({"1.35"})
# How long the scheduler of 1.35 lets members that fit wait for the others.
GATE = 300.0


def _ring(place: Place, **entries: int | None) -> Json:
    return workload("ring", place.namespace, templates=entries, version=place.version)


def _members(place: Place, count: int, name: str = "ring", **options: object) -> list[Json]:
    value = {"gpu": 1, "pod_group": ("ring", "workers"), **options}
    return [pod(f"{name}-{i}", place.namespace, **value) for i in range(count)]  # type: ignore[arg-type]


def _replica(place: Place, key: str, count: int) -> list[Json]:
    created = _members(place, count, f"ring-{key}")
    for obj in created:
        obj["spec"]["workloadRef"]["podGroupReplicaKey"] = key
    return created


def _jobs_of_replicas(place: Place) -> list[Json]:
    created = [_ring(place, workers=2)]
    for key in ("0", "1"):
        obj = job(
            f"train-{key}",
            place.namespace,
            parallelism=2,
            gpu=1 if key == "0" else 8,
            pod_group=("ring", "workers"),
        )
        obj["spec"]["template"]["spec"]["workloadRef"]["podGroupReplicaKey"] = key
        created.append(obj)
    return created


def _urgent(place: Place) -> None:
    name = place.namespace
    place.client.create_all(
        [
            workload("urgent", name, templates={"workers": 2}, version=place.version),
            *_members(
                place,
                2,
                "urgent",
                gpu=4,
                pod_group=("urgent", "workers"),
                priority_class="urgent",
            ),
        ]
    )


_SHORT = both(nominated(4), unschedulable(2))

STATES = (
    State(
        "workload-running",
        lambda p: [_ring(p, workers=4), *_members(p, 4)],
        [Step(running(4))],
        on=V135,
    ),
    State(
        "workload-basic",
        lambda p: [_ring(p, workers=None), *_members(p, 3)],
        [Step(running(3))],
        on=V135,
    ),
    # Four of six fit: they hold their nodes and wait for the others.
    State(
        "workload-at-the-gate",
        lambda p: [_ring(p, workers=6), *_members(p, 6, gpu=4)],
        [Step(_SHORT, quiet=QUIET)],
        on=V135,
    ),
    State(
        "workload-gate-timeout",
        lambda p: [_ring(p, workers=6), *_members(p, 6, gpu=4)],
        [Step(_SHORT, quiet=GATE + 20)],
        on=V135,
    ),
    State(
        "workload-no-matching-node",
        lambda p: [_ring(p, workers=3), *_members(p, 3, node_selector={"pool": "none"})],
        [Step(unschedulable(3))],
        on=V135,
    ),
    State(
        "workload-below-quorum",
        lambda p: [_ring(p, workers=4), *_members(p, 2)],
        [Step(pods_exist(2), quiet=QUIET)],
        on=V135,
    ),
    State(
        "workload-missing",
        lambda p: _members(p, 2),
        [Step(pods_exist(2), quiet=QUIET)],
        on=V135,
    ),
    State(
        "workload-entry-missing",
        lambda p: [_ring(p, driver=1), *_members(p, 2)],
        [Step(pods_exist(2), quiet=QUIET)],
        on=V135,
    ),
    # Replica 0 is whole and runs, replica 1 lacks a member; the entry is one.
    State(
        "workload-replicas",
        lambda p: [_ring(p, workers=2), *_replica(p, "0", 2), *_replica(p, "1", 1)],
        [Step(both(pods_exist(3), running(2)), quiet=QUIET)],
        on=V135,
    ),
    State(
        "workload-without-pods",
        lambda p: [_ring(p, driver=1, workers=2)],
        [Step(lambda _place: True)],
        on=V135,
    ),
    State(
        "workload-scheduling-gate",
        lambda p: [
            _ring(p, workers=2),
            *_members(p, 1),
            *_members(p, 1, "gated", gates=["example.com/hold"]),
        ],
        [Step(nominated(1), quiet=QUIET)],
        on=V135,
    ),
    State(
        "workload-mixed-schedulers",
        lambda p: [
            _ring(p, workers=2),
            *_members(p, 1),
            *_members(p, 1, "other", scheduler="nobody"),
        ],
        [Step(pods_exist(2), quiet=QUIET)],
        on=V135,
    ),
    State(
        "workload-preempting",
        lambda p: [
            priority_class("urgent", 1000),
            _ring(p, workers=4),
            *_members(p, 4, gpu=4, linger="60s"),
        ],
        [Step(running(4)), Step(both(terminating, nominated(2)), do=_urgent, quiet=2.0)],
        on=V135,
    ),
    State(
        "workload-of-a-job",
        lambda p: [
            _ring(p, workers=3),
            job("train", p.namespace, parallelism=3, gpu=1, pod_group=("ring", "workers")),
        ],
        [Step(running(3))],
        on=V135,
    ),
    State(
        "workload-of-two-jobs",
        _jobs_of_replicas,
        [Step(both(running(2), unschedulable(2)), quiet=QUIET)],
        on=V135,
    ),
)
