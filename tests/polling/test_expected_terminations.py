"""Expected ends of pods update the gangs that wait for capacity, without another event."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gangboard.domain.capacity import round_up
from gangboard.polling import assessment_index, poll
from simulator import Simulator
from tests.polling.conftest import Watching
from tests.polling.test_pending_gangs import (
    DEVICE,
    give_devices,
    node_names,
    put_waiting_job,
    window_until,
)

Watch = Callable[..., Watching]


def put_holder(simulator: Simulator, node: str) -> None:
    """A Job whose pod holds all devices of a node."""
    container = {"name": "main", "resources": {"requests": {DEVICE: "16"}}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "holder", "namespace": "default", "uid": "uid-holder"},
        "spec": {
            "completions": 1,
            "parallelism": 1,
            "template": {"spec": {"containers": [container]}},
        },
        "status": {"active": 1, "startTime": _text(datetime.now(UTC))},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "holder-0",
            "namespace": "default",
            "uid": "uid-holder-0",
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": "holder",
                    "uid": "uid-holder",
                    "controller": True,
                }
            ],
        },
        "spec": {"nodeName": node, "containers": [container]},
        "status": {"phase": "Running"},
    }
    simulator.objects.put(job)
    simulator.objects.put(pod)


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _advice(watching: Watching) -> str:
    return str(watching.gang("waits").advice)


@pytest.fixture
def held(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> Watching:
    """A gang that waits for the devices of the only node that has any."""
    monkeypatch.setattr(assessment_index, "ROUND_PAUSE", 0.1)
    watching = watch()
    node = node_names(watching.simulator)[0]
    give_devices(watching.simulator, node)
    put_waiting_job(watching.simulator)
    put_holder(watching.simulator, node)
    window_until(watching, lambda: "Suspend Job default/holder" in _advice(watching))
    assert watching.gang("waits").recheck_at is None
    return watching


def test_a_gang_waits_for_a_pod_in_deletion_and_is_assessed_at_its_deadline(
    held: Watching,
) -> None:
    deadline = (datetime.now(UTC) + timedelta(minutes=10)).replace(microsecond=0)

    def delete(pod: dict[str, Any]) -> None:
        pod["metadata"] |= {"deletionTimestamp": _text(deadline), "deletionGracePeriodSeconds": 600}

    def delete_job(job: dict[str, Any]) -> None:
        job["metadata"] |= {
            "deletionTimestamp": _text(datetime.now(UTC)),
            "finalizers": ["foregroundDeletion"],
        }

    # The Job recreates the pod, and the new pod may take the capacity.
    held.simulator.objects.update("v1", "Pod", "holder-0", delete, "default")
    for _ in range(3):
        held.window(0.5)
    assert "Wait: " not in _advice(held)
    held.simulator.objects.update("batch/v1", "Job", "holder", delete_job, "default")
    window_until(held, lambda: "Wait: 1 pod on node" in _advice(held))
    assert f" {round_up(deadline):%H:%M} UTC; then the pod fits." in _advice(held)
    assert held.gang("waits").recheck_at == round_up(deadline)
    cache = poll._caches[held.cluster.pk]
    assert cache.rechecks.times["uid-waits"] == round_up(deadline).timestamp()


def test_the_deadline_of_a_job_comes_before_its_suspension(held: Watching) -> None:
    def limit(job: dict[str, Any]) -> None:
        job["spec"]["activeDeadlineSeconds"] = 600

    held.simulator.objects.update("batch/v1", "Job", "holder", limit, "default")
    window_until(held, lambda: "Wait for Job default/holder" in _advice(held))
    assert held.gang("waits").recheck_at is not None


def test_a_suspended_gang_is_not_advised_to_be_suspended(held: Watching) -> None:
    def suspend(job: dict[str, Any]) -> None:
        job["spec"]["suspend"] = True

    held.simulator.objects.update("batch/v1", "Job", "holder", suspend, "default")
    window_until(held, lambda: "Suspend" not in _advice(held))
    assert not any("Suspend" in step["text"] for step in held.gang("waits").advice)
