"""Objects of real control planes are decoded completely and match the name of their state."""

from pathlib import Path

import pytest

from gangboard.decode.events import EVENT, EVENT_REASONS
from gangboard.decode.nodes import NODE
from gangboard.decode.pods import POD
from gangboard.plugins.registry import grouping_apis, owner_kinds
from tests.decode.reading import captured, captures

INDEX = "batch.kubernetes.io/job-completion-index"
ALL = [
    POD,
    NODE,
    EVENT,
    *(kind.resource for kind in owner_kinds()),
    *(resource for api in grouping_apis() for resource in api.resources),
]

PROFILES = sorted({file.parent.name for file in captures()})

# State → (pods that are ready, pods that the scheduler refused).
COUNTS = {
    "job-running": (4, 0),
    "job-unschedulable": (0, 6),
    "job-partly-placed": (4, 2),
    "job-fragmented": (0, 3),
    "job-no-matching-node": (0, 3),
    "job-nodes-cordoned": (0, 3),
    "job-topology-does-not-fit": (0, 3),
    "job-basic-running": (3, 0),
    "job-basic-partly-placed": (4, 2),
    "job-at-quorum": (4, 2),
    "job-suspended": (0, 0),
    "job-suspended-after-running": (0, 0),
    "job-member-lost": (3, 1),
    "job-image-pull": (0, 0),
    "job-starting": (0, 0),
    "job-unready": (0, 0),
    "group-running": (3, 0),
    "group-basic": (3, 0),
    "pods-partly-placed": (4, 2),
    "workload-running": (4, 0),
    "workload-at-the-gate": (0, 2),
    "workload-no-matching-node": (0, 3),
    "workload-below-quorum": (0, 0),
    "workload-of-a-job": (3, 0),
    "jobset-running": (5, 0),
    "jobset-partly-placed": (5, 2),
    "jobset-resumed": (5, 0),
    "jobset-suspended": (0, 0),
}
WAITING = {
    "job-image-pull": ("ImagePullBackOff", False),
    "job-container-config": ("CreateContainerConfigError", False),
    "job-crash-loop": ("CrashLoopBackOff", False),
    "job-init-crash-loop": ("CrashLoopBackOff", True),
    "job-starting": ("ContainerCreating", False),
    "jobset-image-pull": ("ImagePullBackOff", False),
}


def files(states: dict[str, object]) -> list[Path]:
    return [file for file in captures() if file.stem in states]


def name(file: Path) -> str:
    return f"{file.parent.name}/{file.stem}"


def test_every_profile_has_captures() -> None:
    assert set(PROFILES) >= {"1.35", "1.36", "1.37", "plain"}


@pytest.mark.parametrize("profile", PROFILES)
def test_all_captures_are_decoded_without_a_problem(profile: str) -> None:
    """Only events with known reasons are stored."""
    for file in captures(profile=profile):
        for resource in ALL:
            models = [model for model in captured(file, resource) if model is not None]
            assert all(isinstance(model, resource.model) for model in models), file
            if resource is EVENT:
                assert {event.reason for event in models} <= EVENT_REASONS, file


@pytest.mark.parametrize("file", files({**COUNTS}), ids=name)
def test_pods_are_ready_or_refused_as_expected(file: Path) -> None:
    pods = captured(file, POD)
    refused = [pod for pod in pods if pod.scheduled and pod.scheduled.reason == "Unschedulable"]
    assert (sum(pod.is_ready for pod in pods), len(refused)) == COUNTS[file.stem]
    assert not any(pod.is_placed for pod in refused)
    for pod in pods:
        assert pod.requests
        if pod.meta.controller is not None and pod.meta.controller.kind == "Job":
            assert pod.labels[INDEX].isdecimal()


@pytest.mark.parametrize("file", files({**WAITING}), ids=name)
def test_containers_wait_for_the_expected_reason(file: Path) -> None:
    reason, init = WAITING[file.stem]
    containers = [container for pod in captured(file, POD) for container in pod.containers]
    waiting = [
        container
        for container in containers
        if (container.reason, container.init) == (reason, init)
    ]
    assert len(waiting) >= 2
    assert {item.state for item in waiting} == {"waiting"}


@pytest.mark.parametrize(
    ("state", "made"), [("job-starting", False), ("job-running", True), ("job-image-pull", True)]
)
def test_pods_are_ready_to_start_containers_as_expected(state: str, made: bool) -> None:
    for file in captures(state):
        pods = captured(file, POD)
        assert pods
        assert {pod.set_up is not None and pod.set_up.is_true for pod in pods} == {made}


@pytest.mark.parametrize("file", captures("job-preempting"), ids=name)
def test_victims_are_terminating(file: Path) -> None:
    victims = [pod for pod in captured(file, POD) if pod.is_terminating]
    assert victims
    for pod in victims:
        assert pod.disruption is not None
        assert (pod.disruption.status, pod.disruption.reason) == ("True", "PreemptionByScheduler")
        assert not pod.is_ready
        assert pod.grace_seconds is not None
    preempted = [event for event in captured(file, EVENT) if event and event.reason == "Preempted"]
    assert {event.regarding.name for event in preempted} == {pod.meta.ref.name for pod in victims}
    assert {event.related.name for event in preempted if event.related} != set()


@pytest.mark.parametrize("file", captures("job-nodes-cordoned"), ids=name)
def test_captured_nodes_are_cordoned(file: Path) -> None:
    nodes = captured(file, NODE)
    assert len(nodes) == 2
    assert all(node.unschedulable and node.is_ready for node in nodes)


@pytest.mark.parametrize("file", captures("job-node-silent"), ids=name)
def test_a_silent_node_and_its_pod(file: Path) -> None:
    silent = [node for node in captured(file, NODE) if not node.is_ready]
    assert [node.ready.status for node in silent] == ["Unknown"]
    lost = [pod for pod in captured(file, POD) if pod.node == silent[0].meta.ref.name]
    assert [(pod.phase, pod.is_ready) for pod in lost] == [("Running", False)]


@pytest.mark.parametrize("file", captures("job-quota-refused"), ids=name)
def test_refused_pod_creates_an_event_of_its_job(file: Path) -> None:
    refused = [event for event in captured(file, EVENT) if event and event.reason == "FailedCreate"]
    assert refused
    assert all("exceeded quota" in event.note for event in refused)
    assert {event.regarding.kind for event in refused} == {"Job"}
    assert all(event.last_seen is not None for event in refused)


@pytest.mark.parametrize("file", captures("group-scheduling-gate"), ids=name)
def test_captured_pods_are_gated(file: Path) -> None:
    for pod in captured(file, POD):
        assert pod.gates == ("example.com/hold",)
        assert pod.scheduled.reason == "SchedulingGated"
        assert pod.group_name == "ring"
