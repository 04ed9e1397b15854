"""Kueue messages about a Workload it has not admitted. All texts are those of the real v0.19.2 unless marked."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from gangboard.domain.queue import QueueMessage
from tests.decode.reading import Json
from tests.queues.test_kueue import entry

AT = "2026-11-24T02:20:00Z"
FLAVORS = "couldn't assign flavors to pod set w: "
TOO_LARGE = (
    "insufficient quota for {} in flavor {}, previously considered podsets requests ({}) + current "
    "podset request ({}) > maximum capacity ({})"
)
FOR_WHOM = (
    "Preempted to accommodate a workload (UID: 46d3cda8-8218-4843-a232-63f1134bce99, JobUID: "
    "f591e91d-e6c5-4452-9f4e-f0d998435156) due to prioritization in the ClusterQueue; preemptor path: "
    "/k15-q; preemptee path: /k15-q"
)


def condition(kind: str, status: str, reason: str, message: str) -> Json:
    return {"type": kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": AT}  # fmt: skip


def waiting(message: str, reason: str = "Pending") -> Json:
    return condition("QuotaReserved", "False", reason, message)


def message_of(*conditions: Json, active: bool = True, **status: Any) -> QueueMessage | None:
    obj = {"spec": {"queueName": "q", "active": active},
           "status": {"conditions": list(conditions), **status}}  # fmt: skip
    return entry(obj).message


def only_message(*conditions: Json, **status: Any) -> QueueMessage:
    message = message_of(*conditions, **status)
    assert message is not None
    return message


QUEUES: dict[str, tuple[str, str, str, str]] = {
    "quota": (
        f"{FLAVORS}insufficient unused quota for cpu in flavor default, 1 more needed",
        "Pending", "waiting-for-quota", "1 more cpu of flavor default must become free",
    ),
    "quota-soon": (
        f"{FLAVORS}insufficient unused quota for cpu in flavor default, 1 more needed. Pending the "
        "preemption of 1 workload(s)",
        "Pending", "waiting-for-quota",
        "1 more cpu of flavor default must become free; 1 gang is being preempted",
    ),
    "another-first": (
        "Workload no longer fits after processing another workload",
        "Pending", "waiting-for-quota", "another workload got the quota first",
    ),
    "too-large": (
        FLAVORS + TOO_LARGE.format("cpu", "default", 0, 20, 3),
        "Pending", "exceeds-quota",
        "20 cpu of flavor default are needed, but the queue can give at most 3",
    ),
    # Both pod sets together (real-control-plane.md §5).
    "too-large-together": (
        FLAVORS + TOO_LARGE.format("cpu", "default", 2, 16, 8),
        "Pending", "exceeds-quota",
        "2 + 16 cpu of flavor default are needed, but the queue can give at most 8",
    ),
    "not-covered": (
        f"{FLAVORS}resource nvidia.com/gpu unavailable in ClusterQueue",
        "Pending", "no-matching-flavor", "no flavor of the queue has nvidia.com/gpu",
    ),
    "other-nodes": (
        f"{FLAVORS}flavor h100 doesn't match node affinity",
        "Pending", "no-matching-flavor",
        "flavor h100 is for other nodes than node selector and affinity allow",
    ),
    "tainted": (
        FLAVORS + "untolerated taint {team x NoSchedule <nil>} in flavor tainted",
        "Pending", "no-matching-flavor",
        "taint team=x:NoSchedule of flavor tainted is not tolerated",
    ),
    "no-local-queue": (
        "LocalQueue nowhere doesn't exist",
        "Inadmissible", "queue-missing", "LocalQueue nowhere does not exist in this namespace",
    ),
    "no-cluster-queue": (
        "ClusterQueue nope doesn't exist",
        "Inadmissible", "queue-missing", "ClusterQueue nope does not exist",
    ),
    "inactive": (
        "ClusterQueue k13-q is inactive",
        "Inadmissible", "queue-stopped", "ClusterQueue k13-q is inactive",
    ),
    "other-namespace": (
        "workload namespace doesn't match ClusterQueue selector",
        "Pending", "queue-misconfigured", "the ClusterQueue does not admit this namespace",
    ),
    "pods-first": (
        "waiting for all admitted workloads to be in PodsReady condition",
        "Waiting", "queue-evaluating", "pods of workloads admitted earlier must be ready first",
    ),
    "gated": (
        "Admission is gated by: example.com/approval",
        "AdmissionGated", "admission-gated", "admission is gated by example.com/approval",
    ),
    # Not brought about: reasons of their own, behind a gate (jobset-kueue.md §3.3).
    "reason-alone": (
        "some other words", "ExceedsMaxQuota", "exceeds-quota", "Kueue says “some other words”",
    ),
    "stopped-by-reason": (
        "LocalQueue q is inactive", "Suspended", "queue-stopped", "LocalQueue q is stopped",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", QUEUES)
def test_messages_of_waiting_entries(case: str) -> None:
    text, reason, code, cause = QUEUES[case]
    message = only_message(waiting(text, reason))
    assert (message.code, message.cause) == (code, cause)
    assert (message.label, message.text) == (f"QuotaReserved: {reason}", text)
    assert message.since == datetime(2026, 11, 24, 2, 20, tzinfo=UTC)
    assert bool(message.advice) is (message.code.is_final and case != "reason-alone")
    # About 90 characters, so that a sentence is read at a glance.
    assert len(cause) <= 90


def test_flavors_are_alternatives_and_resources_are_not() -> None:
    short = "insufficient unused quota for {} in flavor {}, {} more needed"
    large = TOO_LARGE.format("cpu", "small", 0, 20, 3)
    # cpu would fit into flavor big when some of it becomes free.
    either = only_message(waiting(f"{FLAVORS}{short.format('cpu', 'big', 2)}, {large}"))
    assert (either.code, either.cause) == (
        "waiting-for-quota",
        "2 more cpu of flavor big must become free",
    )
    # GPUs can never be had, whatever becomes free of cpu.
    gpus = TOO_LARGE.format("nvidia.com/gpu", "h100", 0, 9, 8)
    both = only_message(waiting(f"{FLAVORS}{short.format('cpu', 'big', 2)}, {gpus}"))
    assert both.code == "exceeds-quota"
    # Another flavor is for other nodes, this one only has to become free.
    other = f"{FLAVORS}flavor a100 doesn't match node affinity, {short.format('cpu', 'h100', 2)}"
    assert only_message(waiting(other)).code == "waiting-for-quota"


def test_the_shortage_of_a_later_pod_set_includes_the_earlier() -> None:
    """Seen on a PyTorchJob, a master and two workers of 1 cpu each, in a full queue. Twin: two flavors."""
    short = "couldn't assign flavors to pod set {}: insufficient unused quota for cpu in flavor {}, {} more needed"
    parts = f"{short.format('master', 'default', 1)}, {short.format('worker', 'default', 3)}"
    message = only_message(waiting(parts))
    assert message.cause == "3 more cpu of flavor default must become free"
    assert [(lack.flavor, lack.amount) for lack in message.lacks] == [("default", Decimal(3))]
    apart = f"{short.format('master', 'small', 1)}, {short.format('worker', 'large', 2)}"
    assert only_message(waiting(apart)).cause == (
        "1 more cpu of flavor small must become free and 2 more cpu of flavor large must become free"
    )


def test_the_worst_of_several_pod_sets_is_reported() -> None:
    short = f"{FLAVORS}insufficient unused quota for cpu in flavor default, 1 more needed"
    message = only_message(
        waiting(f"{short}; couldn't assign flavors to pod set ps2: flavor a not found")
    )
    assert (message.code, message.cause) == ("no-matching-flavor", "flavor a does not exist")


def test_a_flavor_with_the_suffix_of_a_pod_set_is_named() -> None:
    """Not brought about: what follows another pod set, and a taint without a value."""
    text = f"{FLAVORS}untolerated taint {{dedicated  NoExecute <nil>}} in flavor own; {FLAVORS}x"
    assert only_message(waiting(text)).cause == (
        "taint dedicated:NoExecute of flavor own is not tolerated"
    )


def test_a_stopped_queue_is_mentioned_after_an_eviction() -> None:
    evicted = condition("Evicted", "True", "ClusterQueueStopped", "The ClusterQueue is stopped")
    requeued = condition("Requeued", "False", "ClusterQueueStopped", "The ClusterQueue is stopped")
    inactive = waiting("ClusterQueue k9-queue is inactive", "Inadmissible")
    message = only_message(inactive, evicted, requeued)
    assert (message.code, message.cause) == ("queue-stopped", "ClusterQueue k9-queue is stopped")
    assert message.advice == "Set spec.stopPolicy of ClusterQueue k9-queue to None."


RESERVED = condition("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue q")


@pytest.mark.parametrize(
    ("checks", "cause"),
    [
        ([("prov", "Pending", "")], "admission check prov has not passed yet"),
        (
            [("prov", "Pending", "Waiting for 3 nodes"), ("budget", "Ready", "fine")],
            "admission check prov has not passed yet: “Waiting for 3 nodes”",
        ),
        (
            [("prov", "Pending", ""), ("budget", "Retry", "none left")],
            "admission checks prov and budget have not passed yet: “none left”",
        ),
        (
            [("prov", "Rejected", "Zone a will never have it")],
            "admission check prov has refused: “Zone a will never have it”",
        ),
    ],
)
def test_checks_hold_an_entry_with_quota(checks: list[tuple[str, str, str]], cause: str) -> None:
    fields = [{"name": name, "state": state, "message": text} for name, state, text in checks]
    message = only_message(RESERVED, admissionChecks=fields)
    assert (message.code, message.cause) == ("admission-check", cause)


def test_an_entry_with_quota_and_passed_checks_has_no_message() -> None:
    assert message_of(RESERVED) is None
    assert message_of(RESERVED, admissionChecks=[{"name": "prov", "state": "Ready"}]) is None


def test_admitted_inactive_and_new_entries_have_no_message() -> None:
    quota = waiting(QUEUES["quota"][0])
    assert message_of(RESERVED, condition("Admitted", "True", "Admitted", "")) is None
    assert message_of(quota, active=False) is None
    assert message_of(condition("PodsReady", "False", "WaitForStart", "")) is None
    assert message_of() is None


def test_messages_about_the_past_are_no_reason() -> None:
    """After `spec.active` is true again Kueue says for a moment that it is deactivated."""
    over = "The workload is deactivated"
    assert message_of(waiting(over), condition("Evicted", "True", "Deactivated", over)) is None
    assert message_of(waiting("")) is None


def test_an_unnamed_queue_is_not_missing() -> None:
    """`manageJobsWithoutQueueName`: a missing queue name is reported if the setting is known."""
    assert message_of(waiting("LocalQueue  doesn't exist", "Inadmissible")) is None


@pytest.mark.parametrize(
    ("text", "code", "cause"),
    [
        # Brought about on v0.19.2.
        ('couldn\'t assign flavors to pod set w: topology "racks" allows to fit only 2 out of 5 pod(s). '
         'Total nodes: 4; excluded: resource "cpu": 2',
         "topology-does-not-fit", "topology racks has room for only 2 of 5 pods now"),
        # From its source (jobset-kueue.md §3.3).
        ('topology "racks" doesn\'t allow to fit any of 8 pod(s)',
         "topology-does-not-fit", "topology racks has room for none of 8 pods now"),
        ("Workload requires preemption, but it's gated",
         "waiting-for-quota", "it would have to preempt others, and a gate prevents that"),
    ],
)  # fmt: skip
def test_other_messages_are_quoted(text: str, code: str, cause: str) -> None:
    message = only_message(waiting(text))
    assert (message.code, message.cause, message.text) == (code, cause, text)


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("TopologyPlacementFailed", "topology-does-not-fit"),
        ("AdmissionGated", "admission-gated"),
        ("OnHold", "queue-evaluating"),
        ("PendingEvaluation", "queue-evaluating"),
    ],
)
def test_the_reason_decides_if_the_text_is_ambiguous(reason: str, code: str) -> None:
    message = only_message(waiting("in words of a later release", reason))
    assert message.code == code
    assert message.is_out_of_line is (reason == "OnHold")


LATE = "Exceeded the PodsReady timeout k17/jobset-late-f212a"


def test_pods_that_were_late() -> None:
    message = only_message(
        waiting(LATE),
        condition("Evicted", "True", "PodsReadyTimeout", LATE),
        condition("Requeued", "False", "PodsReadyTimeout", LATE),
        requeueState={"count": 1, "requeueAt": "2026-11-24T02:20:42Z"},
    )
    assert message.code == "requeued"
    assert message.cause == (
        "the pods were not ready in time; the next attempt is at 2026-11-24 02:20:42 UTC (the 2nd)"
    )


def test_an_entry_waits_as_usual_after_its_backoff() -> None:
    message = only_message(
        waiting(QUEUES["quota"][0]),
        condition("Evicted", "True", "PodsReadyTimeout", LATE),
        condition("Requeued", "True", "BackoffFinished", ""),
    )
    assert message.code == "waiting-for-quota"


def preempted(text: str, times: int = 1) -> QueueMessage:
    evictions = [{"reason": "Preempted", "count": times, "underlyingCause": ""}]
    return only_message(
        waiting(text),
        condition("Evicted", "True", "Preempted", FOR_WHOM),
        condition("Preempted", "True", "InClusterQueue", FOR_WHOM),
        condition("Requeued", "True", "Preempted", FOR_WHOM),
        schedulingStats={"evictions": evictions},
    )


def test_preempted_for_another() -> None:
    message = preempted(QUEUES["quota"][0])
    assert (message.code, message.taker) == ("preempted", "f591e91d-e6c5-4452-9f4e-f0d998435156")
    assert message.cause == "1 more cpu of flavor default must become free"
    assert (message.label, message.text) == ("Evicted: Preempted", FOR_WHOM)
    often = preempted(QUEUES["quota"][0], times=3)
    assert often.cause == (
        "preempted 3 times so far; 1 more cpu of flavor default must become free"
    )


@pytest.mark.parametrize(
    ("reason", "text", "code", "taker"),
    [
        ("Preempted", FOR_WHOM, "preempted", "f591e91d-e6c5-4452-9f4e-f0d998435156"),
        ("PodsReadyTimeout", LATE, "requeued", ""),
        ("AdmissionCheck", "", "requeued", ""),
        ("ClusterQueueStopped", "The ClusterQueue is stopped", "evicted", ""),
        ("SomethingNew", FOR_WHOM, "evicted", ""),
    ],
)
def test_the_last_eviction_of_an_entry(reason: str, text: str, code: str, taker: str) -> None:
    obj = {"status": {"conditions": [condition("Evicted", "True", reason, text)]}}
    evicted = entry(obj).evicted
    assert evicted is not None
    assert (evicted.code, evicted.reason, evicted.taker) == (code, reason, taker)
    assert evicted.at == datetime.fromisoformat(AT)
    obj["status"]["conditions"][0]["status"] = "False"
    assert entry(obj).evicted is None


def test_a_permanent_cause_precedes_a_preemption() -> None:
    assert preempted(QUEUES["no-local-queue"][0]).code == "queue-missing"


def test_preempted_before_and_admitted_again() -> None:
    gone = condition("Evicted", "False", "QuotaReserved", "Previously: " + FOR_WHOM)
    assert message_of(RESERVED, gone, condition("Admitted", "True", "Admitted", "")) is None


# Unknown reasons


def test_an_unknown_eviction_reason_is_quoted_with_its_text() -> None:
    """Until the queue looks again, the same text stands in both conditions."""
    text = "The workload was evicted: its lease is over"
    message = only_message(waiting(text), condition("Evicted", "True", "LeaseOver", text))
    assert message.code == "queue-evaluating"
    assert text in message.cause


@pytest.mark.parametrize(
    "reason", ["PodsReadyTimeout", "ClusterQueueStopped", "Deactivated", "Preempted"]
)
def test_a_known_eviction_reason_has_its_own_sentence(reason: str) -> None:
    message = message_of(waiting("as before"), condition("Evicted", "True", reason, "as before"))
    assert message is None or "as before" not in message.cause


def test_an_unknown_reason_without_a_text_is_quoted() -> None:
    assert "PlanPending" in only_message(waiting("", "PlanPending")).cause
    assert message_of(waiting("", "Pending")) is None


def test_an_unadmitted_entry_with_quota_is_explained() -> None:
    reserved = condition("QuotaReserved", "True", "QuotaReserved", "Quota reserved")
    unknown = condition("Admitted", "False", "PlanPending", "the plan is not made")
    message = only_message(reserved, unknown)
    assert (message.code, "the plan is not made" in message.cause) == ("queue-evaluating", True)
    known = condition("Admitted", "False", "NoReservation", "The workload has no reservation")
    assert message_of(reserved, known) is None
