"""Scenarios of groups that several Jobs share, that a controller made, or that could not be made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.objects import JobOptions, job, jobset, pod, podgroup, quota
from tests.scenarios.holds import hold_one
from tests.scenarios.making import Objects, all_of, gang, holders, port, quorum
from tests.scenarios.scenario import POOL, WHEN_TOLD, Played, Scenario, Stage, Step, patiently

Where = Mapping[str, str]


def _no_more_groups(ns: str, nodes: Where) -> list[Json]:
    """No Workload may be made here, so the Job controller cannot make the Job's group."""
    return [quota("no-groups", ns, **{"count/workloads.scheduling.k8s.io": "0"})]


def _add_one(stage: Stage) -> None:
    """Another pod joins a group that has its quorum, and does not start yet."""
    stage.wait_running(2)
    late = pod(
        "late",
        stage.namespace,
        pod_group="run",
        start_after=WHEN_TOLD,
        node_selector={POOL: stage.pool},
    )
    stage.client.create(late)


def _sharing_of(version: str) -> tuple[Scenario, ...]:
    api = f"scheduling.k8s.io/{version}"

    def shared(quorum_: int) -> Objects:
        return lambda ns, nodes: [podgroup("shared", ns, version=version, gang=quorum_)]

    def two_stages(ns: str, nodes: Where) -> list[Json]:
        member: JobOptions = {"pods": 2, "pod_group": "shared", "node_selector": nodes}
        after: JobOptions = {**member, "depends_on": {"load": "Complete"}}
        return [jobset("run", ns, jobs={"load": member, "train": after})]

    def two_schedulers(ns: str, placements: Where) -> list[Json]:
        member: JobOptions = {"pod_group": "shared", "node_selector": placements}
        other: JobOptions = {**member, "pods": 2, "scheduler": "second-scheduler"}
        return [jobset("run", ns, jobs={"driver": member, "workers": other})]

    def delete_group(stage: Stage) -> None:
        """A user deletes the PodGroup that the Job controller created, while its pods wait."""

        def guarded() -> str:
            groups = stage.client.list(api, "PodGroup", stage.namespace)
            names = [
                group["metadata"]["name"] for group in groups if group["metadata"].get("finalizers")
            ]
            return names[0] if names and len(stage.pods()) == 2 else ""

        name = patiently(guarded, f"the PodGroup of {stage.namespace}")
        stage.client.delete(api, "PodGroup", name, stage.namespace)

    return (
        # The last two members come when the first two have ended; those wait for the last two.
        Scenario(
            "stages-of-one-gang", "JobSet", "run", "quorum-deadlock", "blocked",
            all_of(shared(4), two_stages), says=("shared", "load", "train"),
            members={"desired": 4, "created": 2, "scheduled": 0}, nodes=1, twin="two-schedulers",
        ),
        Scenario(
            "two-schedulers", "JobSet", "run", "mixed-schedulers", "blocked",
            all_of(shared(3), two_schedulers), says=("default-scheduler", "second-scheduler"),
            members={"desired": 3, "created": 3}, nodes=1, twin="stages-of-one-gang",
        ),
        Scenario(
            "group-deleted", "Job", "run", "podgroup-terminating", "blocked", gang(2, cpu="20"),
            says=("PodGroup", "run-"), members={"created": 2, "scheduled": 0}, nodes=1,
            act=delete_group, twin="one-more",
        ),
        Scenario(
            "one-more", "PodGroup", "run", "resizing", "starting", quorum(2, 2, version=version),
            says=("2 of 3",), members={"desired": 3, "quorum": 2, "ready": 2}, nodes=1,
            act=_add_one, twin="group-deleted",
        ),
    )  # fmt: skip


def _three_in_one_group(ns: str, nodes: Where) -> list[Json]:
    member: JobOptions = {"replicas": 3, "pods": 2, "pod_group": "shared", "node_selector": nodes}
    member["backoff_limit"] = 6  # a lost pod is made again
    return [podgroup("shared", ns, gang=6), jobset("trio", ns, jobs={"w": member})]


def _lose_one(stage: Stage) -> None:
    """A member of a Job that is not held dies; the group lacks those that are held."""
    running = [pod for pod in stage.pods() if "trio-w-0-" in pod["metadata"]["name"]]
    stage.delete_pod(running[0])


def _no_more_groups_told(code: str, *says: str) -> Scenario:
    return Scenario(
        "no-more-groups", "Job", "run", code, "blocked", all_of(_no_more_groups, gang(2)),
        says=says, members={"desired": 2, "created": 0}, nodes=1, twin="two-schedulers",
    )  # fmt: skip


def _staged(group: str, least: int) -> Objects:
    """Return a JobSet whose driver waits for a download and whose workers wait for the driver."""

    def make(ns: str, nodes: Mapping[str, str]) -> list[Json]:
        ring: JobOptions = {"pod_group": "ring", "node_selector": nodes}
        jobs: dict[str, JobOptions] = {
            "fetch": {"complete_after": "1s", "node_selector": nodes},
            "driver": {**ring, "depends_on": {"fetch": "Complete"}},
            "workers": {**ring, "pods": 2, "depends_on": {"driver": "Ready"}},
        }
        return [podgroup(group, ns, gang=least), jobset("run", ns, jobs=jobs)]

    return make


def _crew(group: str, **options: Any) -> Objects:
    """Return a PodGroup of 3 and a Job of 3 that listen on a port of their nodes and name `crews`.

    The holder of the port on node 0 uses another protocol. The holder on node 1 listens on one address only.

    """

    def make(ns: str, nodes: Mapping[str, str]) -> list[Json]:
        run = job(
            "run",
            ns,
            parallelism=3,
            node_selector=nodes,
            pod_group="crews",
            spec=port(7070),
            **options,
        )
        return [podgroup(group, ns, version="v1alpha2", gang=3), run]

    rest = (
        holders([0], spec=port(7070, protocol="UDP")),
        holders([1], spec=port(7070, protocol="TCP", hostIP="127.0.0.1")),
    )
    return all_of(*rest, make)


def _found_too_large(stage: Stage) -> None:
    """Make the group that was missing, for one more than there are."""
    stage.make([podgroup("crews", stage.namespace, version="v1alpha2", gang=4)])


def _ungate(stage: Stage) -> None:
    for member in stage.pods(**{"batch.kubernetes.io/job-name": "run"}):
        name = member["metadata"]["name"]
        stage.client.patch("v1", "Pod", name, {"spec": {"schedulingGates": None}}, stage.namespace)


ON_137 = (
    _no_more_groups_told("group-creation-failed", "no-groups"),
    # The workers are made when the driver is ready; the driver is placed when 3 pods exist: 1 + 2 workers.
    Scenario(
        "driver-waits", "JobSet", "run", "quorum-deadlock", "blocked", _staged("ring", 3),
        nodes=1, says=("driver", "workers"),
        steps=(Step(lambda stage: stage.lower_quorum("ring", 1), "running", "running"),),
        twin="wrong-group-name",
    ),
    # The PodGroup is called `rings`, the pods say `ring`. A `ring` with quorum 1 lets the driver go first.
    Scenario(
        "wrong-group-name", "JobSet", "run", "podgroup-missing", "blocked", _staged("rings", 3),
        nodes=1, says=("ring",),
        steps=(Step(
            lambda stage: stage.make([podgroup("ring", stage.namespace, gang=1)]), "running", "running",
        ),),
        twin="driver-waits",
    ),
    # Four members run on; a fifth can never be placed while two are held.
    Scenario(
        "held-and-lost", "JobSet", "trio", "job-suspended", "suspended", _three_in_one_group,
        says=("1 of 3", "trio-w-1"), members={"desired": 6, "quorum": 6, "held": 2, "ready": 4},
        nodes=1, act=hold_one, twin="two-schedulers",
        steps=(Step(_lose_one, "quorum-lost", "blocked", ("6", "trio-w-1"), {"ready": 3, "held": 2}),),
    ),
)  # fmt: skip


ON_136 = (
    # The Job controller of 1.36 is silent: no event, no condition. The existing objects show it.
    _no_more_groups_told("pods-not-created", "2 pods", "Workload"),
    # The pods name `crews`, and the group is called `crew`. The port is taken later. Then a user
    # creates `crews` for 4, and there are 3 pods.
    Scenario(
        "crew-misspelt", "Job", "run", "podgroup-missing", "blocked",
        _crew("crew"), ("crews",), {"desired": 3, "created": 3, "scheduled": 0},
        nodes=3, twin="crew-unlicensed",
        steps=(Step(_found_too_large, "below-quorum", "blocked", ("3 of the 4",),
                    {"quorum": 4, "created": 3, "scheduled": 0}),),
    ),
    # Gates first. Without them: one member a node by its own port 7070/TCP. Node 0 is open (its holder
    # speaks UDP), node 1 is not (127.0.0.1 clashes with all addresses), node 2 is: 2 of 3, until that goes.
    Scenario(
        "crew-unlicensed", "Job", "run", "scheduling-gated", "waiting",
        _crew("crews", gates=["example.com/licence"]), ("example.com/licence",),
        {"desired": 3, "quorum": 3, "created": 3, "scheduled": 0},
        nodes=3, twin="crew-misspelt",
        steps=(Step(_ungate, "port-conflict", "waiting", ("7070",), {"created": 3, "scheduled": 0}),),
    ),
)  # fmt: skip

PLAYED: Played = {
    "k137": (*_sharing_of("v1beta1"), *ON_137),
    "k136": (*_sharing_of("v1alpha2"), *ON_136),
}
