"""LocalQueue, ClusterQueue, Cohort, ResourceFlavor and AdmissionCheck as Kueue v0.19.2 writes them."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from gangboard.domain.pod_constraints import Taint
from gangboard.domain.quota import (
    FairShare,
    Flavor,
    Queue,
    QueueCheck,
    QueueLevel,
    QueueName,
    QueueState,
    Quota,
)
from gangboard.domain.suspension import FieldWriter
from gangboard.queues.kueue import Kueue
from tests.decode.reading import Json, model, read, with_identity

RESOURCES = {resource.kind: resource for resource in Kueue.resources}
GROUP = "kueue.x-k8s.io"


def built(kind: str, obj: Json, version: str = "v1beta2") -> Any:
    return model(RESOURCES[kind], with_identity(obj, "it"), version)


def flavors(**amounts: str) -> list[Json]:
    """One flavor with the given values of each resource, in the form of `spec`."""
    return [
        {
            "name": "h100",
            "resources": [{"name": key, "nominalQuota": value} for key, value in amounts.items()],
        }
    ]


def used(total: str, borrowed: str | None = None) -> list[Json]:
    amounts = {"name": "cpu", "total": total} | ({"borrowed": borrowed} if borrowed else {})
    return [{"name": "h100", "resources": [amounts]}]


def test_a_cluster_queue_has_quota_and_usage() -> None:
    quota = {"name": "cpu", "nominalQuota": "4", "borrowingLimit": "2500m", "lendingLimit": 0}
    queue: Queue = built("ClusterQueue", {
        "spec": {
            "cohortName": "research",
            "queueingStrategy": "StrictFIFO",
            "stopPolicy": "None",
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "h100", "resources": [quota]}]}],
        },
        "status": {
            "conditions": [{"type": "Active", "status": "True", "reason": "Ready", "message": "Can admit new workloads"}],
            "flavorsReservation": used("6", "2"),
            "flavorsUsage": used("5", "1"),
            "pendingWorkloads": 7, "reservingWorkloads": 3, "admittedWorkloads": 2,
        },
    })  # fmt: skip
    assert (queue.level, queue.parent) == (
        QueueLevel.QUEUE,
        QueueName(GROUP, "Cohort", "", "research"),
    )
    assert queue.quotas == (
        Quota("h100", "cpu", Decimal(4), Decimal("2.5"), Decimal(0), Decimal(5), Decimal(6), Decimal(2)),
    )  # fmt: skip
    assert (queue.pending, queue.reserving, queue.admitted) == (7, 3, 2)
    assert (queue.state, queue.cause, queue.is_strict) == (QueueState.ACTIVE, "", True)


def test_unlimited_and_uncounted_quota() -> None:
    queue: Queue = built(
        "ClusterQueue", {"spec": {"resourceGroups": [{"flavors": flavors(cpu="4")}]}}
    )
    assert queue.quotas == (Quota("h100", "cpu", Decimal(4)),)
    assert (queue.parent, queue.pending, queue.state) == (None, None, QueueState.UNKNOWN)


@pytest.mark.parametrize(
    ("effective", "nominal"),
    [
        ({"resourceGroups": [{"flavors": flavors(cpu="3")}]}, [Decimal(3)]),
        ({"resourceGroups": []}, []),
    ],
)
def test_effective_quotas_go_before_the_spec_also_where_they_are_empty(
    effective: Json, nominal: list[Decimal]
) -> None:
    for kind in ("ClusterQueue", "Cohort"):
        spec = {"resourceGroups": [{"flavors": flavors(cpu="4")}]}
        queue: Queue = built(kind, {"spec": spec, "status": {"effectiveQuotas": effective}})
        assert [quota.nominal for quota in queue.quotas] == nominal
        assert queue.is_quota_overridden


def test_usage_of_a_flavor_without_quota_is_kept() -> None:
    spec = {"resourceGroups": [{"flavors": flavors(memory="1Gi")}]}
    queue: Queue = built("ClusterQueue", {"spec": spec, "status": {"flavorsUsage": used("5")}})
    memory, cpu = queue.quotas
    assert (memory.resource, memory.nominal, memory.used) == ("memory", Decimal(2**30), Decimal(0))
    assert (cpu.resource, cpu.nominal, cpu.used) == ("cpu", None, Decimal(5))


def test_an_unreadable_amount_is_omitted_and_reported() -> None:
    obj = {"spec": {"resourceGroups": [{"flavors": flavors(cpu="many", memory="1Gi")}]}}
    queue, problem = read(RESOURCES["ClusterQueue"], with_identity(obj, "it"))
    assert [(quota.resource, quota.nominal) for quota in queue.quotas] == [
        ("cpu", None),
        ("memory", Decimal(2**30)),
    ]
    assert problem is not None
    assert not problem.lost
    assert "nominal quota of cpu is left out" in problem.sentence


@pytest.mark.parametrize(
    ("stop", "cause"),
    [
        ("Hold", "admitted workloads keep running"),
        ("HoldAndDrain", "admitted workloads are evicted"),
    ],
)
def test_a_queue_is_stopped_by_its_spec_before_its_status(stop: str, cause: str) -> None:
    active = {"type": "Active", "status": "True", "reason": "Ready"}
    for kind in ("ClusterQueue", "LocalQueue"):
        queue: Queue = built(
            kind, {"spec": {"stopPolicy": stop}, "status": {"conditions": [active]}}
        )
        assert (queue.state, queue.cause) == (QueueState.STOPPED, cause)
        assert queue.advice == f"Set spec.stopPolicy of {kind} it to None."
        assert queue.command[:4] == ("kubectl", "patch", f"{kind.lower()}s.kueue.x-k8s.io", "it")
        assert queue.command[-1] == '{"spec":{"stopPolicy":"None"}}'
        assert (queue.stop_setting, queue.stopped_by) == (f"spec.stopPolicy {stop}", None)


def test_a_name_that_is_unsafe_in_a_shell_has_no_command() -> None:
    stopped = with_identity(
        {"spec": {"stopPolicy": "Hold"}}, "gpu; kubectl delete namespace prod #"
    )
    queue: Queue = model(RESOURCES["ClusterQueue"], stopped, "v1beta2")
    assert (queue.state, queue.command) == (QueueState.STOPPED, ())


WRITTEN = "2026-11-27T02:18:00Z"
WRITTEN_AT = datetime(2026, 11, 27, 2, 18, tzinfo=UTC)


def stopped_queue(kind: str, active: Json | None = None, field: str = "f:stopPolicy") -> Queue:
    """Return a stopped queue with a spec field that kubectl wrote."""
    entry = {"manager": "kubectl-patch", "operation": "Update", "apiVersion": "kueue.x-k8s.io/v1beta2",
             "time": WRITTEN, "fieldsV1": {"f:spec": {field: {}}}}  # fmt: skip
    obj = with_identity({"spec": {"stopPolicy": "Hold"}}, "it")
    obj["metadata"]["managedFields"] = [entry]
    obj["status"] = {"conditions": [active] if active is not None else []}
    result: Queue = model(RESOURCES[kind], obj)
    return result


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue"])
@pytest.mark.parametrize(
    ("status", "since", "is_exact"),
    [
        ("False", "2026-11-27T02:18:01Z", True),
        ("False", WRITTEN, True),
        # Kubectl wrote another field later, or the queue was inactive before it was stopped.
        ("False", "2026-11-27T01:00:00Z", False),
        ("True", "2026-11-27T02:18:01Z", False),
    ],
)
def test_the_writer_of_a_stop_is_read(kind: str, status: str, since: str, is_exact: bool) -> None:
    active = {"type": "Active", "status": status, "reason": "Stopped", "lastTransitionTime": since}
    queue = stopped_queue(kind, active)
    assert queue.stopped_by == FieldWriter("kubectl-patch", WRITTEN_AT, is_exact=is_exact)


def test_the_writer_of_another_field_did_not_stop_it() -> None:
    """Near miss: this manager owns another field, so the stop has no known writer."""
    assert stopped_queue("ClusterQueue", field="f:cohortName").stopped_by is None


@pytest.mark.parametrize(
    ("reason", "message", "cause", "advice"),
    [
        ("FlavorNotFound", "Can't admit new workloads: references missing ResourceFlavor(s): a100,h100.",
         "ResourceFlavor a100 and h100 does not exist",
         "Create ResourceFlavor a100 and h100, or remove it from ClusterQueue it."),
        ("AdmissionCheckInactive", "Can't admit new workloads: references inactive AdmissionCheck(s): dws.",
         "AdmissionCheck dws is not active", "Check condition Active of AdmissionCheck dws."),
        ("Terminating", "Can't admit new workloads; clusterQueue is terminating", "it is being deleted", ""),
        ("TopologyNotFound", 'Can\'t admit new workloads: there is no Topology "t" for TAS flavor "f".',
         'there is no Topology "t" for TAS flavor "f"', ""),
        ("Unknown", "Can't admit new workloads.", "", ""),
        ("Ready", "Can admit new workloads", "", ""),
    ],
)  # fmt: skip
def test_the_cause_of_an_inactive_cluster_queue(
    reason: str, message: str, cause: str, advice: str
) -> None:
    active = {"type": "Active", "status": "False", "reason": reason, "message": message}
    queue: Queue = built("ClusterQueue", {"status": {"conditions": [active]}})
    assert (queue.state, queue.cause, queue.advice) == (QueueState.INACTIVE, cause, advice)


@pytest.mark.parametrize(
    ("version", "usage"), [("v1beta2", "flavorsUsage"), ("v1beta1", "flavorUsage")]
)
def test_a_local_queue_leads_to_its_cluster_queue(version: str, usage: str) -> None:
    active = {
        "type": "Active",
        "status": "False",
        "reason": "ClusterQueueDoesNotExist",
        "message": "Can't submit",
    }
    status = {usage: used("2"), "pendingWorkloads": 1, "conditions": [active]}
    queue: Queue = built("LocalQueue", {"spec": {"clusterQueue": "gpu"}, "status": status}, version)
    assert queue.level is QueueLevel.ALIAS
    assert queue.parent == QueueName(GROUP, "ClusterQueue", "", "gpu")
    assert [(quota.nominal, quota.used) for quota in queue.quotas] == [(None, Decimal(2))]
    assert (queue.state, queue.cause) == (QueueState.INACTIVE, "its ClusterQueue does not exist")


@pytest.mark.parametrize(("version", "field"), [("v1beta2", "cohortName"), ("v1beta1", "cohort")])
def test_the_cohort_has_another_name_in_v1beta1(version: str, field: str) -> None:
    queue: Queue = built("ClusterQueue", {"spec": {field: "research"}}, version)
    assert queue.parent == QueueName(GROUP, "Cohort", "", "research")


def test_a_cohort_shares_and_is_never_stopped() -> None:
    queue: Queue = built(
        "Cohort", {"spec": {"parentName": "all", "resourceGroups": [{"flavors": flavors(cpu="2")}]}}
    )
    assert (queue.level, queue.state) == (QueueLevel.SHARED, QueueState.ACTIVE)
    assert queue.parent == QueueName(GROUP, "Cohort", "", "all")


def test_a_queue_with_fair_usage_order() -> None:
    scope = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    assert built("ClusterQueue", {"spec": {"admissionScope": scope}}).is_by_usage
    assert not built(
        "ClusterQueue", {"spec": {"admissionScope": {"admissionMode": "NoAdmissionFairSharing"}}}
    ).is_by_usage


def test_a_flavor_and_a_check() -> None:
    taint = {"key": "team", "value": "x", "effect": "NoSchedule"}
    flavor: Flavor = built("ResourceFlavor", {
        "spec": {"nodeLabels": {"gpu": "h100"}, "nodeTaints": [taint], "topologyName": "racks"}
    })  # fmt: skip
    assert (flavor.node_labels, flavor.node_taints, flavor.topology) == (
        {"gpu": "h100"}, (Taint("team", "NoSchedule", "x"),), "racks",
    )  # fmt: skip
    active = {
        "type": "Active",
        "status": "False",
        "reason": "BadConfig",
        "message": "no such config",
    }
    spec = {"controllerName": "kueue.x-k8s.io/provisioning-request"}
    check: QueueCheck = built("AdmissionCheck", {"spec": spec, "status": {"conditions": [active]}})
    assert (check.controller, check.is_active, check.cause) == (
        spec["controllerName"],
        False,
        "no such config",
    )
    assert built("AdmissionCheck", {"spec": spec}).is_active is None


@pytest.mark.parametrize("kind", sorted(RESOURCES))
def test_no_verdict_needs_any_of_them(kind: str) -> None:
    assert not RESOURCES[kind].needed
    assert RESOURCES[kind].versions == ("v1beta2", "v1beta1")
    if kind != "Workload":
        assert built(kind, {"spec": None, "status": None}).meta.ref.name == "it"


@pytest.mark.parametrize("kind", ["ClusterQueue", "Cohort"])
@pytest.mark.parametrize(
    ("spec", "share", "expected"),
    [
        ({}, 340, FairShare(340, Decimal(1))),
        ({"fairSharing": {"weight": "2500m"}}, 0, FairShare(0, Decimal("2.5"))),
        # Weight 0 while it borrows (fair_sharing.go).
        ({"fairSharing": {"weight": "0"}}, 9223372036854775807, FairShare(None, Decimal(0))),
    ],
)
def test_the_share_is_read_if_kueue_reports_it(
    kind: str, spec: Json, share: int, expected: FairShare
) -> None:
    status = {"fairSharing": {"weightedShare": share}}
    assert built(kind, {"spec": spec, "status": status}).share == expected
    # Without fair sharing in its configuration Kueue removes the status and keeps the spec.
    assert built(kind, {"spec": spec, "status": {}}).share is None


def test_a_local_queue_has_no_share() -> None:
    status = {"fairSharing": {"weightedShare": 0}}
    assert built("LocalQueue", {"spec": {}, "status": status}).share is None
