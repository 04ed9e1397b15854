from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from gangboard.domain.queue import AssignedNodes, LabelSources, QueueEntry
from gangboard.domain.quota import FlavorAmount
from gangboard.owners.job import Job
from gangboard.owners.jobset import JobSet
from gangboard.queues.kueue import Kueue
from tests.decode.reading import Json, model, with_identity
from tests.kinds import registered

WORKLOADS, *_ = Kueue.resources
OWNER = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "name": "llama-ft",
    "uid": "5b0e4d5c",
    "controller": True,
}
# Waits for quota, as observed with v0.19.2 (real-control-plane.md §5).
WAITING = {
    "type": "QuotaReserved",
    "status": "False",
    "reason": "Pending",
    "message": "couldn't assign flavors to pod set workers: insufficient unused quota for cpu in "
    "flavor default, 4 more needed",
    "lastTransitionTime": "2026-11-20T09:00:05Z",
}


def entry(obj: Json, version: str = "v1beta2") -> QueueEntry:
    read: QueueEntry = model(WORKLOADS, with_identity(obj, "jobset-llama-ft-3f2a1"), version)
    return read


def test_the_kueue_label_is_the_label_owners_read() -> None:
    for owner in (registered(Job), registered(JobSet)):
        named = with_identity({"metadata": {"labels": {Kueue.owner_label: "gpu-lq"}}})
        assert model(owner.resource, named).queue == "gpu-lq"


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
def test_an_owner_that_waits_for_quota(version: str) -> None:
    obj = {
        "metadata": {
            "ownerReferences": [OWNER],
            "labels": {"kueue.x-k8s.io/job-uid": "another"},
        },
        "spec": {"queueName": "gpu-lq", "active": True, "podSets": [{"name": "workers"}]},
        "status": {"conditions": [WAITING]},
    }
    waiting = entry(obj, version)
    ref = waiting.meta.ref
    assert (ref.group, ref.kind, waiting.meta.api_version) == (
        "kueue.x-k8s.io",
        "Workload",
        version,
    )
    assert (waiting.queue, waiting.active, waiting.admitted) == ("gpu-lq", True, False)
    assert waiting.owner_uid == "5b0e4d5c"
    (condition,) = waiting.conditions
    assert (condition.type, condition.reason) == ("QuotaReserved", "Pending")
    assert condition.since == datetime(2026, 11, 20, 9, 0, 5, tzinfo=UTC)


def test_the_admitted_condition_is_matched_by_its_type() -> None:
    admitted = {"type": "Admitted", "status": "True", "reason": "Admitted"}
    ready = {"type": "PodsReady", "status": "False", "reason": "WaitForStart"}
    for conditions in ([admitted, ready], [ready, admitted]):
        assert entry({"status": {"conditions": conditions}}).admitted
    assert not entry({"status": {"conditions": [ready]}}).admitted
    assert not entry({"status": {"conditions": [{**admitted, "status": "False"}]}}).admitted


@pytest.mark.parametrize(
    ("spec", "active"),
    [({}, True), ({"active": None}, True), ({"active": True}, True), ({"active": False}, False)],
)
def test_an_entry_is_active_by_default(spec: Json, active: bool) -> None:
    assert entry({"spec": spec}).active is active


@pytest.mark.parametrize("obj", [{}, {"spec": None, "status": None}])
def test_an_unreconciled_entry(obj: Json) -> None:
    new = entry(obj)
    assert (new.queue, new.active, new.admitted, new.owner_uid) == ("", True, False, "")


def test_the_label_names_the_owner_without_a_controller() -> None:
    """A group of plain pods has several owner references and no controller."""
    loose = [{**OWNER, "kind": "Pod", "controller": False}]
    labels = {"kueue.x-k8s.io/job-uid": "from-the-label"}
    assert entry({"metadata": {"ownerReferences": loose, "labels": labels}}).owner_uid == (
        "from-the-label"
    )
    assert entry({"metadata": {"ownerReferences": loose}}).owner_uid == ""


def test_no_gang_depends_on_being_able_to_read_it() -> None:
    assert not WORKLOADS.needed
    assert WORKLOADS.key == "workloads.kueue.x-k8s.io"
    assert WORKLOADS.versions == ("v1beta2", "v1beta1")


QUOTA_RESERVED = {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved"}


def test_used_and_requested_quota() -> None:
    part = {"name": "w", "flavors": {"cpu": "h100"}, "resourceUsage": {"cpu": "4"}, "count": 2}
    admission = {"clusterQueue": "gpu", "podSetAssignments": [part, {**part, "name": "driver"}]}
    held = entry({"status": {"admission": admission, "conditions": [QUOTA_RESERVED]}})
    assert (held.has_quota, held.admitted_by) == (True, "gpu")
    assert held.holds == (FlavorAmount("h100", "cpu", Decimal(8)),)
    request = {"name": "w", "resources": {"cpu": "1500m", "memory": "1Gi"}}
    asks = entry({"status": {"resourceRequests": [request, {**request, "name": "driver"}]}})
    assert asks.asks == (
        FlavorAmount("", "cpu", Decimal(3)), FlavorAmount("", "memory", Decimal(2**31)),
    )  # fmt: skip
    assert (asks.has_quota, asks.holds, asks.is_waiting) == (False, (), True)


def test_the_amount_to_be_freed_is_numeric() -> None:
    waiting = entry({"status": {"conditions": [WAITING]}})
    assert waiting.message is not None
    assert waiting.message.lacks == (FlavorAmount("default", "cpu", Decimal(4)),)


@pytest.mark.parametrize(
    ("reason", "at_the_end"),
    [
        ("PodsReadyTimeout", True),
        ("AdmissionCheck", True),
        ("Preempted", False),
        ("ClusterQueueStopped", False),
    ],
)
def test_its_place_in_line_is_by_creation_unless_it_was_sent_to_the_end(
    reason: str, at_the_end: bool
) -> None:
    """pkg/workload, Ordering.GetQueueOrderTimestamp, of v0.19.2 with its defaults."""
    created, evicted = "2026-11-20T08:00:00Z", "2026-11-20T09:00:05Z"
    condition = {
        "type": "Evicted",
        "status": "True",
        "reason": reason,
        "lastTransitionTime": evicted,
    }
    obj: Json = {"metadata": {"creationTimestamp": created}, "spec": {"priority": 7},
                 "status": {"conditions": [condition]}}  # fmt: skip
    result = entry(obj)
    hour, second = (9, 5) if at_the_end else (8, 0)
    assert result.in_line_since == datetime(2026, 11, 20, hour, 0, second, tzinfo=UTC)
    assert result.priority == 7
    obj["status"]["conditions"][0]["status"] = "False"
    assert entry(obj).in_line_since == datetime(2026, 11, 20, 8, tzinfo=UTC)


def test_a_variant_is_no_entry_and_has_no_position() -> None:
    """Its parent has the label, and owns it (pkg/controller/concurrentadmission)."""
    parent = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "name": "p",
        "uid": "u",
        "controller": True,
    }
    labels = {"kueue.x-k8s.io/job-uid": "5b0e4d5c"}
    variant = entry(
        {"metadata": {"ownerReferences": [parent], "labels": labels}, "spec": {"active": False}}
    )
    assert (variant.is_variant, variant.owner_uid, variant.is_waiting) == (True, "", False)
    marked = {"kueue.x-k8s.io/concurrent-admission-parent": "true"}
    whole = entry({"metadata": {"ownerReferences": [OWNER], "labels": marked}})
    assert (whole.is_variant, whole.owner_uid, whole.is_waiting) == (False, "5b0e4d5c", True)
    of_core = {**parent, "apiVersion": "scheduling.k8s.io/v1beta1"}
    assert not entry({"metadata": {"ownerReferences": [of_core]}}).is_variant


def test_a_slice_names_its_predecessor() -> None:
    annotations = {"kueue.x-k8s.io/workload-slice-replacement-for": "team-a/job-run-1"}
    assert entry({"metadata": {"annotations": annotations}}).replaces == "job-run-1"
    assert entry({}).replaces == ""


# As v0.19.2 wrote it for 4 pods on two of four nodes with a rack label (observed).
OBSERVED_SLICES = [
    {"domainCount": 2, "podCounts": {"universal": 2},
     "valuesPerLevel": [{"individual": {"prefix": "t", "roots": ["2", "3"]}}]}
]  # fmt: skip


@pytest.mark.parametrize(
    ("assignment", "nodes"),
    [
        ({"levels": ["kubernetes.io/hostname"], "slices": OBSERVED_SLICES}, {"t2": 2, "t3": 2}),
        ({"levels": ["rack", "kubernetes.io/hostname"],
          "domains": [{"values": ["r1", "n1"], "count": 3}, {"values": ["r1", "n2"], "count": 1}]},
         {"n1": 3, "n2": 1}),
        ({"levels": ["kubernetes.io/hostname"], "slices": [
            {"domainCount": 3, "podCounts": {"individual": [1, 2, 3]},
             "valuesPerLevel": [{"individual": {"prefix": "a-", "suffix": "-z", "roots": ["1", "2", "3"]}}]},
            {"domainCount": 1, "podCounts": {"universal": 4}, "valuesPerLevel": [{"universal": "a-1-z"}]}]},
         {"a-1-z": 5, "a-2-z": 2, "a-3-z": 3}),
        ({"levels": ["rack"], "slices": OBSERVED_SLICES}, None),
        ({"levels": ["kubernetes.io/hostname"], "slices": [{"domainCount": 9}]}, None),
        ({"levels": []}, None),
        ({}, None),
        (None, None),
    ],
)  # fmt: skip
def test_the_nodes_to_which_pods_were_assigned(
    assignment: Json | None, nodes: dict[str, int] | None
) -> None:
    part = {"name": "w", "topologyAssignment": assignment}
    result = entry({"status": {"admission": {"clusterQueue": "gpu", "podSetAssignments": [part]}}})
    expected = () if nodes is None else (AssignedNodes("kueue.x-k8s.io/podset", "w", nodes),)
    assert result.assigned == expected


@pytest.mark.parametrize(
    ("request_", "required", "is_sliced"),
    [
        ({"required": "rack"}, "rack", False),
        ({"preferred": "rack"}, "", False),
        ({"unconstrained": True}, "", False),
        ({"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}, "", True),
        (
            {"podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 2}]},
            "",
            True,
        ),
        (None, "", False),
    ],
)
def test_the_topology_that_pods_must_share(
    request_: Json | None, required: str, is_sliced: bool
) -> None:
    assignment = {"levels": ["kubernetes.io/hostname"], "slices": OBSERVED_SLICES}
    part = {"name": "w", "topologyAssignment": assignment}
    status = {"admission": {"clusterQueue": "gpu", "podSetAssignments": [part]}}
    pod_sets = [{"name": "other", "topologyRequest": {"required": "block"}},
                {"name": "w", "topologyRequest": request_}]  # fmt: skip
    (assigned,) = entry({"spec": {"podSets": pod_sets}, "status": status}).assigned
    assert (assigned.required, assigned.is_sliced) == (required, is_sliced)


def test_a_partial_admission_has_both_numbers() -> None:
    """Pods that are done are left out of a later admission."""
    pod_sets = {"podSets": [{"name": "main", "count": 5}]}

    def numbers(value: int, done: int = 0) -> tuple[int, int]:
        admission = {"podSetAssignments": [{"name": "main", "count": value}]}
        gone = [{"name": "main", "count": done}]
        read = entry(
            {"spec": pod_sets, "status": {"admission": admission, "reclaimablePods": gone}}
        )
        return read.admitted_pods, read.asked_pods

    assert numbers(3) == (3, 5)
    assert numbers(5) == numbers(3, done=2) == (0, 0)


def test_clusters_and_failed_nodes() -> None:
    status = {"clusterName": "worker1", "unhealthyNodes": [{"name": "n3"}]}
    read = entry({"status": status})
    assert (read.cluster, read.failed_nodes) == ("worker1", ("n3",))
    offered = {
        "conditions": [QUOTA_RESERVED],
        "admissionChecks": [{"name": "dispatch", "state": "Pending"}],
        "nominatedClusterNames": ["worker1", "worker2"],
    }
    waiting = entry({"status": offered})
    assert waiting.offered_clusters == ("worker1", "worker2")
    message = waiting.message
    assert message is not None
    assert message.cause.endswith("offered to cluster worker1 and cluster worker2")


@pytest.mark.parametrize(
    ("count", "done", "used"), [(3, 0, 6), (3, 1, 4), (3, 3, 0), (3, 9, 0), (2, 1, 6), (None, 1, 4)]
)
def test_finished_pods_use_no_quota(count: int | None, done: int, used: int) -> None:
    """3 pods; `count` of them were admitted (None: all), with 6 cpus."""
    usage = {"name": "w", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "6"}, "count": count}
    status: Json = {"admission": {"clusterQueue": "q", "podSetAssignments": [usage]}}
    if done:
        status["reclaimablePods"] = [{"name": "w", "count": done}]
    read = entry({"spec": {"podSets": [{"name": "w", "count": 3}]}, "status": status})
    assert read.holds == (FlavorAmount("f", "cpu", Decimal(used)),)


# Sources of node labels

PODS = {"name": "main", "count": 2, "template": {"spec": {"nodeSelector": {"tier2": "spot"}}}}
ASSIGNED = {"name": "main", "count": 2, "flavors": {"cpu": "any", "nvidia.com/gpu": "owned2"}}


def sources(status: dict[str, Any]) -> tuple[LabelSources, ...]:
    obj = {"spec": {"podSets": [PODS]}, "status": status}
    entry: QueueEntry = model(WORKLOADS, with_identity(obj, "job-run-1a2b3"), "v1beta2")
    return entry.label_sources


def test_flavors_and_checks_of_each_pod_set() -> None:
    updates = [{"name": "main", "nodeSelector": {"burst": "yes"}}, {"name": "other"}]
    checks = [{"name": "autoscaler", "state": "Ready", "podSetUpdates": updates}, {"name": "x"}]
    admission = {"clusterQueue": "q", "podSetAssignments": [ASSIGNED]}
    assert sources({"admission": admission, "admissionChecks": checks}) == (
        LabelSources(
            "kueue.x-k8s.io/podset",
            "main",
            frozenset({"tier2"}),
            ("any", "owned2"),
            {"burst": "autoscaler"},
        ),
    )


def test_an_entry_without_quota() -> None:
    assert sources({}) == ()
