"""Scenarios of groups that several Jobs share, that a controller made, or that could not be made."""

from __future__ import annotations

from collections.abc import Mapping

from tests.controlplane.client import Json
from tests.controlplane.objects import JobOptions, jobset, pod, podgroup, quota
from tests.scenarios.holds import hold_one
from tests.scenarios.making import Objects, all_of, gang, quorum
from tests.scenarios.scenario import POOL, WHEN_TOLD, Scenario, Stage, Step, patiently

Where = Mapping[str, str]
VERSION = {"1.37": "v1beta1", "1.36": "v1alpha2"}


def _no_more_groups(ns: str, where: Where) -> list[Json]:
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
        return lambda ns, where: [podgroup("shared", ns, version=version, gang=quorum_)]

    def two_stages(ns: str, where: Where) -> list[Json]:
        member: JobOptions = {"pods": 2, "pod_group": "shared", "node_selector": where}
        after: JobOptions = {**member, "depends_on": {"load": "Complete"}}
        return [jobset("run", ns, jobs={"load": member, "train": after})]

    def two_schedulers(ns: str, where: Where) -> list[Json]:
        member: JobOptions = {"pod_group": "shared", "node_selector": where}
        other: JobOptions = {**member, "pods": 2, "scheduler": "second-scheduler"}
        return [jobset("run", ns, jobs={"driver": member, "workers": other})]

    def delete_group(stage: Stage) -> None:
        """Somebody deletes the PodGroup that the Job controller made, while its pods wait."""

        def guarded() -> str:
            groups = stage.client.list(api, "PodGroup", stage.namespace)
            names = [one["metadata"]["name"] for one in groups if one["metadata"].get("finalizers")]
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


def _three_in_one_group(ns: str, where: Where) -> list[Json]:
    member: JobOptions = {"replicas": 3, "pods": 2, "pod_group": "shared", "node_selector": where}
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


MORE = {
    "1.37": (_no_more_groups_told("group-creation-failed", "no-groups"),),
    # The Job controller of 1.36 keeps it to itself: no event, no condition. What is there tells.
    "1.36": (_no_more_groups_told("pods-not-created", "2 pods", "Workload"),),
}
HELD = (
    # Four members run on; a fifth can never be placed while two are held.
    Scenario(
        "held-and-lost", "JobSet", "trio", "job-suspended", "suspended", _three_in_one_group,
        says=("1 of 3", "trio-w-1"), members={"desired": 6, "quorum": 6, "held": 2, "ready": 4},
        nodes=1, act=hold_one, twin="two-schedulers",
        steps=(Step(_lose_one, "quorum-lost", "blocked", ("6", "trio-w-1"), {"ready": 3, "held": 2}),),
    ),
)  # fmt: skip


def sharing_of(minor: str) -> tuple[Scenario, ...]:
    """Return these scenarios for a minor with gang scheduling; a Hold is installed on 1.37."""
    return (*_sharing_of(VERSION[minor]), *MORE[minor], *(HELD if minor == "1.37" else ()))
