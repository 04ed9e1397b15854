"""States of PodGroups created by hand, and of pods without any."""

from __future__ import annotations

from tests.controlplane.client import Json
from tests.controlplane.objects import (
    compositepodgroup,
    pod,
    podgroup,
    priority_class,
    workload,
)
from tests.controlplane.states import (
    GANG,
    NEWEST,
    QUIET,
    Place,
    State,
    Step,
    both,
    pods_exist,
    running,
    terminating,
    unschedulable,
)

_PLAIN_AND_NEWEST = frozenset({"plain", "1.37"})


def _members(place: Place, count: int, gang: int | None, **options: str) -> list[Json]:
    return [
        podgroup("ring", place.namespace, version=place.version, gang=gang),
        *(
            pod(f"ring-{i}", place.namespace, gpu=1, pod_group="ring", **options)  # type: ignore[arg-type]
            for i in range(count)
        ),
    ]


def _low(place: Place) -> list[Json]:
    name, version = place.namespace, place.version
    return [
        priority_class("urgent", 1000),
        podgroup("low", name, version=version, gang=4),
        *(pod(f"low-{i}", name, gpu=4, pod_group="low", linger="60s") for i in range(4)),
    ]


def _urgent(place: Place) -> None:
    name, version = place.namespace, place.version
    place.client.create_all(
        [
            podgroup("urgent", name, version=version, gang=2, priority_class="urgent"),
            *(
                pod(f"urgent-{i}", name, gpu=4, pod_group="urgent", priority_class="urgent")
                for i in range(2)
            ),
        ]
    )


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
    created = [tree, compositepodgroup("serve-0", name, workload=("serve", "replica"), groups=2)]
    for key in ("left", "right"):
        group = podgroup(
            f"serve-0-{key}", name, version="v1alpha3", gang=2, workload=("serve", key)
        )
        group["spec"]["parentCompositePodGroupName"] = "serve-0"
        created.append(group)
        created += [pod(f"{key}-{i}", name, gpu=1, pod_group=f"serve-0-{key}") for i in range(2)]
    return created


STATES = (
    State("group-running", lambda p: _members(p, 3, 3), [Step(running(3))], on=GANG),
    State("group-basic", lambda p: _members(p, 3, None), [Step(running(3))], on=GANG),
    State(
        "group-below-quorum",
        lambda p: _members(p, 2, 4),
        [Step(pods_exist(2), quiet=QUIET)],
        on=GANG,
    ),
    State(
        "group-missing",
        lambda p: _members(p, 2, 2)[1:],
        [Step(pods_exist(2), quiet=QUIET)],
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
        [Step(pods_exist(2), quiet=QUIET)],
        on=GANG,
    ),
    State(
        "group-mixed-schedulers",
        lambda p: [
            podgroup("ring", p.namespace, version=p.version, gang=2),
            pod("ring-0", p.namespace, pod_group="ring"),
            pod("ring-1", p.namespace, pod_group="ring", scheduler="nobody"),
        ],
        [Step(pods_exist(2), quiet=QUIET)],
        on=GANG,
    ),
    State(
        "group-preempting",
        _low,
        [Step(running(4)), Step(terminating, do=_urgent, quiet=2.0)],
        on=GANG,
    ),
    State("group-composite", _composite, [Step(pods_exist(4), quiet=QUIET)], on=NEWEST),
    State(
        "pods-partly-placed",
        lambda p: [pod(f"worker-{i}", p.namespace, gpu=4) for i in range(6)],
        [Step(both(running(4), unschedulable(2)))],
        on=_PLAIN_AND_NEWEST,
    ),
)
