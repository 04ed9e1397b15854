"""Pods that are resized in place count with the maximum of requested, allocated and actual resources.

Expected values: component-helpers/resource PodRequests with UseStatusResources (1.37), KEP-1287.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from gangboard.decode.pods import POD
from gangboard.domain.pod import Pod
from tests.decode.reading import Json, model, read, with_identity


def container(name: str = "main", **requests: str) -> Json:
    return {"name": name, "resources": {"requests": requests}}


def given(name: str = "main", allocated: Json | None = None, force: Json | None = None) -> Json:
    status: Json = {"name": name, "ready": True}
    if allocated is not None:
        status["allocatedResources"] = allocated
    if force is not None:
        status["resources"] = {"requests": force}
    return status


def requests(spec: Json, **status: Any) -> dict[str, Decimal]:
    pod: Pod = model(POD, with_identity({"spec": spec, "status": {"phase": "Running", **status}}))
    return pod.requests


def cpu_request(cpu: str, *statuses: Json, **status: Any) -> Decimal:
    spec = {"containers": [container(cpu=cpu)]}
    return requests(spec, containerStatuses=list(statuses), **status)["cpu"]


@pytest.mark.parametrize(
    ("asked", "allocated", "force", "expected"),
    [
        ("1", "1", "1", 1),
        ("2", "1", "1", 2),  # growing: asked
        ("1", "2", "2", 2),  # shrinking, not begun
        ("1", "1", "2", 2),  # shrinking, promised and not done
        ("2", "2", "1", 2),  # growing, promised and not done
        ("1", None, None, 1),  # the kubelet has not reported yet
        ("1", None, "3", 3),
        ("1", "3", None, 3),
    ],
)
def test_allocated_and_requested_cpu_during_a_resize(
    asked: str, allocated: str | None, force: str | None, expected: int
) -> None:
    status = given(
        allocated=None if allocated is None else {"cpu": allocated},
        force=None if force is None else {"cpu": force},
    )
    assert cpu_request(asked, status) == expected


def test_infeasible_resize_does_not_count() -> None:
    pending = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
    status = given(allocated={"cpu": "1"}, force={"cpu": "1"})
    assert cpu_request("64", status, conditions=[pending]) == 1
    assert cpu_request("64", status, conditions=[{**pending, "reason": "Deferred"}]) == 64


def test_containers_are_added_before_the_largest_amount_is_chosen() -> None:
    spec = {"containers": [container("a", cpu="3"), container("b", cpu="1")]}
    statuses = [
        given("a", allocated={"cpu": "1"}, force={"cpu": "1"}),
        given("b", allocated={"cpu": "2"}, force={"cpu": "2"}),
    ]
    # Asked 3 + 1, promised and in force 1 + 2.
    assert requests(spec, containerStatuses=statuses) == {"cpu": 4}


def test_unresized_requests_are_kept_and_overhead_added() -> None:
    spec = {
        "containers": [container(cpu="1", memory="1Gi", **{"nvidia.com/gpu": "8"})],
        "overhead": {"cpu": "250m"},
    }
    before = {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "8"}
    statuses = [given(allocated=before, force=before)]
    assert requests(spec, containerStatuses=statuses) == {
        "cpu": Decimal("2.25"),
        "memory": 1024**3,
        "nvidia.com/gpu": 8,
    }


def test_sidecars_are_resized() -> None:
    spec = {
        "containers": [container(cpu="1")],
        "initContainers": [{**container("side", cpu="1"), "restartPolicy": "Always"}],
    }
    statuses = [given("side", allocated={"cpu": "3"}, force={"cpu": "3"})]
    assert requests(spec, initContainerStatuses=statuses) == {"cpu": 4}


def test_pod_level_resources_replace_those_of_containers() -> None:
    spec = {
        "containers": [container(cpu="1")],
        "resources": {"requests": {"cpu": "4"}},
        "overhead": {"cpu": "1"},
    }
    whole = {"allocatedResources": {"cpu": "6"}, "resources": {"requests": {"cpu": "5"}}}
    assert requests(spec) == {"cpu": 5}
    assert requests(spec, **whole) == {"cpu": 7}
    pending = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
    spec["resources"] = {"requests": {"cpu": "64"}}
    assert requests(spec, **whole, conditions=[pending]) == {"cpu": 7}


def test_pod_totals_that_the_kubelet_reports() -> None:
    spec = {"containers": [container(cpu="1", memory="1Gi")]}
    whole = {
        "allocatedResources": {"cpu": "2", "memory": "1Gi"},
        "resources": {"requests": {"cpu": "3", "memory": "1Gi"}},
    }
    assert requests(spec, **whole) == {"cpu": 3, "memory": 1024**3}


def test_malformed_amount_in_the_status_omits_the_resource() -> None:
    spec = {"containers": [container(cpu="1", memory="1Gi")]}
    status = {"containerStatuses": [given(allocated={"cpu": "some", "memory": "2Gi"})]}
    pod, problem = read(POD, with_identity({"spec": spec, "status": status}))
    assert pod.requests == {"memory": 2 * 1024**3}
    assert pod.unread_requests == ("cpu",)
    assert problem is not None
    assert not problem.lost


@pytest.mark.parametrize("text", ["many", "9" * 65, "1e100", "1e30", "1Gi1"])
def test_malformed_request_is_reported_and_omitted(text: str) -> None:
    spec = {"containers": [container(cpu="1", memory=text), container("b", memory="1Gi")]}
    pod, problem = read(POD, with_identity({"spec": spec}))
    assert pod.requests == {"cpu": 1}
    assert pod.unread_requests == ("memory",)
    assert problem is not None
    assert "its request of memory is left out: " in problem.sentence
