"""Workloads of Kueue that it deactivated by itself, and the words of checks and evictions around them."""

from __future__ import annotations

import pytest

from gangboard.domain.queue import QueueCode, QueueEntry
from gangboard.queues.kueue import Kueue
from tests.decode.reading import model, with_identity

WORKLOADS, *_ = Kueue.resources


def _deactivated(cause: str, message: str, *, active: bool, requeued: str = "False") -> QueueEntry:
    reason = f"DeactivatedDueTo{cause}" if cause else "Deactivated"
    frame = "The workload is deactivated due to "
    conditions = [
        {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": message},
        {"type": "Evicted", "status": "True", "reason": reason, "message": frame + message},
        {"type": "Requeued", "status": requeued, "reason": reason, "message": message},
    ]
    obj = {"spec": {"active": active}, "status": {"conditions": conditions}}
    read: QueueEntry = model(WORKLOADS, with_identity(obj, "job-run-1a2b3"), "v1beta2")
    return read


@pytest.mark.parametrize("cause", ["AdmissionCheck", "RequeuingLimitExceeded", "Unheard"])
def test_a_reactivated_entry_after_a_deactivation_is_not_queued(cause: str) -> None:
    entry = _deactivated(cause, "no", active=True)
    assert entry.message is not None
    assert (entry.message.code, entry.stands_in_line) == (QueueCode.NOT_REQUEUED, False)
    assert "delete" in entry.message.command
    for other in (
        _deactivated(cause, "no", active=True, requeued="True"),
        _deactivated("", "no", active=True),
    ):
        assert other.given_up is None


def test_check_messages_are_quoted_without_their_frame() -> None:
    text = "max node pool size reached (16 of 16 nodes)"
    frame = 'AdmissionCheck in Rejected state: "burst" (Provisioning Request wasn\'t accepted: '
    over = _deactivated("AdmissionCheck", f"{frame}{text})", active=False).given_up
    assert over is not None
    assert over.cause == f"check burst refused it: “{text}”"
    long = _deactivated("AdmissionCheck", f"{frame}{'a wrapped error: ' * 20}{text})", active=False)
    assert long.given_up is not None
    assert text in long.given_up.cause
    assert len(long.given_up.cause) < 140


@pytest.mark.parametrize(
    ("cause", "told"), [("WorkloadWaitForScheduling", "not placed"), ("", "ready")]
)
def test_unplaced_pods_are_distinguished_from_unready_pods(cause: str, told: str) -> None:
    eviction = {"reason": "PodsReadyTimeout", "underlyingCause": cause, "count": 1}
    conditions = [
        {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "late"},
        {"type": "Evicted", "status": "True", "reason": "PodsReadyTimeout", "message": "late"},
        {"type": "Requeued", "status": "False", "reason": "PodsReadyTimeout"},
    ]
    status = {"conditions": conditions, "schedulingStats": {"evictions": [eviction]}}
    read: QueueEntry = model(WORKLOADS, with_identity({"status": status}, "w"), "v1beta2")
    assert read.message is not None
    assert (read.message.code, told in read.message.cause) == (QueueCode.REQUEUED, True)


def test_each_of_several_checks_has_its_message() -> None:
    """Kueue joins them in one text, by name (buildAdmissionChecksMessage of v0.19.2)."""
    message = (
        'AdmissionChecks in Rejected state: "burst" (no room (16 of 16)); "budget" (over by 3)'
    )
    over = _deactivated("AdmissionCheck", message, active=False).given_up
    assert over is not None
    assert over.cause == "checks budget (“over by 3”) and burst (“no room (16 of 16)”) refused it"


@pytest.mark.parametrize(
    "framed",
    [
        "Provisioning Request wasn't accepted: {}",
        "Retrying after failure: {}",
        "Retrying after booking expired: {}",
        '{}, Previously: "Pending"',
    ],
)
@pytest.mark.parametrize("state", ["Rejected", "Pending"])
def test_frames_of_check_messages(framed: str, state: str) -> None:
    """Written by the provisioning and the MultiKueue controllers of v0.19.2 and by autoscalers."""
    text = framed.format("no room in zone a")
    check = {"name": "burst", "state": state, "message": text}
    reserved = {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved"}
    status = {"conditions": [reserved], "admissionChecks": [check]}
    read: QueueEntry = model(WORKLOADS, with_identity({"status": status}, "w"), "v1beta2")
    assert read.message is not None
    assert read.message.cause.endswith(": “no room in zone a”")
    frame = 'AdmissionCheck in Rejected state: "burst" ({})'
    over = _deactivated("AdmissionCheck", frame.format(text), active=False).given_up
    assert over is not None
    assert over.cause == "check burst refused it: “no room in zone a”"
