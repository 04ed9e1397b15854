from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from gangboard.decode.pods import POD
from gangboard.domain.pod import Pod
from tests.decode.reading import Json, model, with_identity

GI = 1024**3
INDEX = "batch.kubernetes.io/job-completion-index"


def container(limits: Json | None = None, **requests: str) -> Json:
    resources = {
        "requests": {key.replace("gpu", "nvidia.com/gpu"): value for key, value in requests.items()}
    }
    return {"name": "c", "resources": {**resources, **({"limits": limits} if limits else {})}}


def sidecar(cpu: str) -> Json:
    return {**container(cpu=cpu), "restartPolicy": "Always"}


def requests_of(**spec: Any) -> dict[str, Decimal]:
    pod: Pod = model(POD, with_identity({"spec": spec}))
    return pod.requests


# k8s-gang-api.md §2.3, the pending gang pod of 1.36 and 1.37.
PENDING: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "llm-train-2-9hq4v",
        "namespace": "team-a",
        "uid": "e5",
        "generation": 1,
        "resourceVersion": "55200",
        "labels": {
            "batch.kubernetes.io/job-name": "llm-train",
            "batch.kubernetes.io/controller-uid": "77aa",
            INDEX: "2",
        },
        "ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "llm-train", "uid": "77aa",
             "controller": True, "blockOwnerDeletion": True}
        ],
    },
    "spec": {
        "schedulerName": "default-scheduler",
        "priority": 0,
        "schedulingGroup": {"podGroupName": "llm-train-6b8c5d7f99-llm-train-pgt-0-84b7c"},
    },
    "status": {
        "phase": "Pending",
        "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
             "observedGeneration": 1, "lastProbeTime": None,
             "lastTransitionTime": "2026-10-02T08:00:03Z",
             "message": "0/12 nodes are available: 12 Insufficient nvidia.com/gpu. preemption: "
                        "0/12 nodes are available: 12 No preemption victims found for incoming pod."}
        ],
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        # k8s-gang-api.md §2.1 (1.35); an empty key is stored as none.
        ({"name": "llm-train", "podGroup": "workers", "podGroupReplicaKey": "0"}, "llm-train/workers/0"),
        ({"name": "llm-train", "podGroup": "workers"}, "llm-train/workers"),
        ({"name": "llm-train", "podGroup": "workers", "podGroupReplicaKey": ""}, "llm-train/workers"),
        (None, ""),
        ({}, ""),
    ],
)  # fmt: skip
def test_a_pod_of_1_35_names_an_entry_of_a_workload(ref: Json | None, name: str) -> None:
    pod: Pod = model(POD, with_identity({"spec": {"workloadRef": ref}}))
    assert pod.group_name == name


def test_pending_gang_pod() -> None:
    pod: Pod = model(POD, PENDING)
    assert pod.meta.ref.name == "llm-train-2-9hq4v"
    assert pod.meta.controller is not None
    assert pod.meta.controller.uid == "77aa"
    assert pod.group_name == "llm-train-6b8c5d7f99-llm-train-pgt-0-84b7c"
    assert pod.scheduler_name == "default-scheduler"
    assert pod.priority == 0
    assert pod.labels == PENDING["metadata"]["labels"]
    assert pod.labels[INDEX] == "2"
    assert not pod.is_placed
    assert pod.is_live
    assert pod.scheduled is not None
    assert pod.scheduled.is_false
    assert pod.scheduled.reason == "Unschedulable"
    assert pod.scheduled.message.startswith("0/12 nodes are available: 12 Insufficient nvidia")
    assert pod.scheduled.since == datetime(2026, 10, 2, 8, 0, 3, tzinfo=UTC)


def test_pod_below_quorum_has_only_a_phase() -> None:
    pod: Pod = model(
        POD, with_identity({"spec": {}, "status": {"phase": "Pending", "qosClass": "Burstable"}})
    )
    assert pod.phase == "Pending"
    assert (pod.scheduled, pod.ready, pod.containers) == (None, None, ())


def test_null_and_missing_fields_are_empty() -> None:
    for obj in (
        {},
        {"spec": None, "status": None},
        {"spec": {"containers": None, "initContainers": None, "schedulingGroup": None,
                  "schedulingGates": None, "resources": None, "overhead": None},
         "status": {"conditions": None, "containerStatuses": None, "startTime": None}},
    ):  # fmt: skip
        pod: Pod = model(POD, with_identity(obj))
        assert (pod.phase, pod.node, pod.group_name, pod.requests) == ("", "", "", {})


def test_a_label_can_be_empty_or_null() -> None:
    bare = with_identity({"metadata": {"labels": {INDEX: "", "app": None}}})
    assert model(POD, bare).labels == {INDEX: ""}
    assert model(POD, with_identity({})).labels == {}


def test_the_1_35_reference_to_an_entry_of_a_workload() -> None:
    entry = {"name": "llm-train", "podGroup": "workers"}
    replica = {**entry, "podGroupReplicaKey": "0"}
    for reference, name in (
        (entry, "llm-train/workers"),
        (replica, "llm-train/workers/0"),
        ({"name": "llm-train"}, ""),
        (None, ""),
    ):
        obj = with_identity({"spec": {"workloadRef": reference}})
        assert model(POD, obj).group_name == name


def test_gates_and_nomination() -> None:
    pod: Pod = model(
        POD,
        with_identity(
            {
                "spec": {"schedulingGates": [{"name": "example.com/hold"}, {"name": "b"}]},
                "status": {"nominatedNodeName": "n3", "phase": "Pending"},
            }
        ),
    )
    assert pod.gates == ("example.com/hold", "b")
    assert pod.nominated_node == "n3"
    assert not pod.is_placed


def test_terminating_pod_has_deletion_time_and_grace_period() -> None:
    metadata = {"deletionTimestamp": "2026-10-02T08:01:00Z", "deletionGracePeriodSeconds": 30}
    pod: Pod = model(POD, with_identity({"metadata": metadata, "status": {"phase": "Running"}}))
    assert pod.is_terminating
    assert pod.meta.deleting_since == datetime(2026, 10, 2, 8, 1, tzinfo=UTC)
    assert pod.grace_seconds == 30


def test_malformed_time_is_omitted_and_the_pod_is_stored() -> None:
    pod: Pod = model(POD, with_identity({"metadata": {"creationTimestamp": "soon"}}))
    assert pod.meta.created_at is None


def test_container_states_are_decoded() -> None:
    status = {
        "phase": "Running",
        "startTime": "2026-10-02T08:00:05Z",
        "initContainerStatuses": [
            {"name": "prepare", "ready": True, "restartCount": 0,
             "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
        ],
        "containerStatuses": [
            {"name": "main", "ready": False, "restartCount": 4,
             "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
             "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}},
            {"name": "side", "ready": True, "restartCount": 0,
             "state": {"running": {"startedAt": "2026-10-02T08:00:06Z"}}, "lastState": {}},
            {"name": "new", "ready": False, "restartCount": 0, "state": {}},
            {"name": "dead", "ready": False, "restartCount": 0,
             "state": {"terminated": {"exitCode": 1, "reason": "Error", "message": "a\u0000b"}}},
        ],
    }  # fmt: skip
    pod: Pod = model(POD, with_identity({"status": status}))
    prepare, main, side, new, dead = pod.containers
    assert (prepare.init, prepare.state, prepare.exit_code) == (True, "terminated", 0)
    assert (main.init, main.state, main.reason) == (False, "waiting", "CrashLoopBackOff")
    assert (main.restarts, main.last_reason, main.last_exit_code) == (4, "OOMKilled", 137)
    assert main.exit_code is None
    assert (side.state, side.ready, side.last_reason) == ("running", True, "")
    assert new.state == ""
    assert (dead.exit_code, dead.message) == (1, "ab")
    assert pod.start_time == datetime(2026, 10, 2, 8, 0, 5, tzinfo=UTC)


def test_unknown_phases_and_reasons_are_stored() -> None:
    status = {"phase": "Resting", "conditions": [{"type": "Ready", "status": "Perhaps"}]}
    pod: Pod = model(POD, with_identity({"status": status}))
    assert pod.phase == "Resting"
    assert pod.ready is not None
    assert pod.ready.status == "Perhaps"
    assert not pod.is_ready


def test_requests_of_containers_are_added() -> None:
    requests = requests_of(containers=[container(cpu="500m", gpu="1"), container(cpu="2")])
    assert requests == {"cpu": Decimal("2.5"), "nvidia.com/gpu": 1}


def test_an_init_container_counts_when_it_needs_more() -> None:
    requests = requests_of(
        containers=[container(cpu="1", memory="4Gi")],
        initContainers=[container(cpu="3", memory="1Gi"), container(cpu="2")],
    )
    assert requests == {"cpu": 3, "memory": 4 * GI}


def test_a_sidecar_adds_to_the_containers_and_to_later_init_containers() -> None:
    # KEP-753: max(1 + 2, 5 + 0 before the sidecar, 2 sidecar, 4 + 2 after it) = 6.
    requests = requests_of(
        containers=[container(cpu="1")],
        initContainers=[container(cpu="5"), sidecar(cpu="2"), container(cpu="4")],
    )
    assert requests == {"cpu": 6}


def test_overhead_is_added() -> None:
    requests = requests_of(containers=[container(cpu="1")], overhead={"cpu": "250m"})
    assert requests == {"cpu": Decimal("1.25")}


def test_pod_level_requests_replace_those_of_containers_except_devices() -> None:
    requests = requests_of(
        containers=[container(cpu="1", gpu="8")],
        resources={"requests": {"cpu": "16", "nvidia.com/gpu": "1"}},
        overhead={"cpu": "1"},
    )
    assert requests == {"cpu": 17, "nvidia.com/gpu": 8}


def test_pod_level_limit_counts_if_no_container_has_a_request() -> None:
    requests = requests_of(
        containers=[container(cpu="1")], resources={"limits": {"cpu": "4", "memory": "2Gi"}}
    )
    assert requests == {"cpu": 1, "memory": 2 * GI}


def test_limit_replaces_a_missing_request() -> None:
    requests = requests_of(
        containers=[container(limits={"nvidia.com/gpu": "4", "cpu": "9"}, cpu="2")]
    )
    assert requests == {"nvidia.com/gpu": 4, "cpu": 2}


def test_a_number_as_custom_resources_serve_it() -> None:
    spec = {"containers": [{"resources": {"requests": {"cpu": 2, "memory": 1.5}}}]}
    assert requests_of(**spec) == {"cpu": 2, "memory": Decimal("1.5")}
