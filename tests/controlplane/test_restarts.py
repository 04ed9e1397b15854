"""One process is killed and started again while the others run on: the tests of holding need it."""

from __future__ import annotations

import pytest

from tests.controlplane.client import Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.conditions import is_true
from tests.controlplane.fixtures import Fleets, Namespaces
from tests.controlplane.nodes import make_node
from tests.controlplane.objects import JOBSET, jobset

pytestmark = pytest.mark.controlplane


@pytest.mark.parametrize("kill", [True, False], ids=["killed", "ended"])
@pytest.mark.parametrize("name", ["kube-apiserver", "jobset", "kube-scheduler"])
def test_one_process_restarts(
    controlplane_137: ControlPlane,
    namespace: Namespaces,
    no_nodes: Fleets,
    name: str,
    kill: bool,
) -> None:
    plane = controlplane_137
    client, nodes = no_nodes(plane), namespace(plane)
    make_node(client, "n0")

    def pods(jobset_name: str) -> dict[str, Json]:
        labels = f"jobset.sigs.k8s.io/jobset-name={jobset_name}"
        result = client.list("v1", "Pod", nodes, labels=labels)
        return {item["metadata"]["uid"]: item for item in result if is_true(item, "Ready")}

    client.create(jobset("before", nodes, jobs={"w": {"pods": 2}}))
    wait(lambda: len(pods("before")) == 2, what="pods of before")
    ran, ids = set(pods("before")), plane.process_ids
    plane.restart_process(name, kill=kill)
    now = plane.process_ids
    assert {other for other in ids if ids[other] != now[other]} == {name}
    assert set(pods("before")) == ran
    client.create(jobset("after", nodes, jobs={"w": {"pods": 2}}))
    wait(lambda: len(pods("after")) == 2, timeout=90, what="pods of after")
    assert set(pods("before")) == ran


def test_a_killed_process_stays_down_until_its_restart(
    controlplane_137: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    client, nodes = no_nodes(controlplane_137), namespace(controlplane_137)
    make_node(client, "n0")
    client.create(jobset("run", nodes, jobs={"w": {"pods": 1}}))
    wait(lambda: client.list("v1", "Pod", nodes), what="the pod")
    controlplane_137.kill_process("jobset")
    wait(lambda: "jobset" not in controlplane_137.process_ids, what="jobset to be gone")
    # Its webhooks are unavailable as well, and no controller reverts changes to its Jobs.
    client.patch("batch/v1", "Job", "run-w-0", {"spec": {"suspend": True}}, nodes)
    wait(lambda: not client.list("v1", "Pod", nodes), what="no pods")
    controlplane_137.restart_process("jobset")
    client.wait_for(JOBSET, "JobSet", "run", nodes, until=_is_ready)


def test_a_crashed_process_is_restarted(controlplane_137: ControlPlane) -> None:
    plane = controlplane_137
    assert plane.heal() == {}
    plane.kill_process("jobset")
    wait(lambda: "jobset" not in plane.process_ids, what="jobset to be gone")
    with plane.awake():
        assert plane.heal() == {}
    assert list(plane.heal()) == ["jobset"]
    assert "jobset" in plane.process_ids
    assert plane.heal() == {}


def _is_ready(result: Json) -> bool:
    return any(entry["ready"] for entry in result["status"].get("replicatedJobsStatus", []))
