"""Conditions of a Workload with reasons that gangboard does not know: each is told with its text."""

from __future__ import annotations

import pytest

from tests.queues.test_kueue_messages import condition, said, told, waiting


def test_an_eviction_of_an_unknown_reason_is_told_with_its_text() -> None:
    """Until the queue looks again, the same text stands in both conditions."""
    text = "The workload was evicted: its lease is over"
    message = told(waiting(text), condition("Evicted", "True", "LeaseOver", text))
    assert message.code == "queue-evaluating"
    assert text in message.cause


@pytest.mark.parametrize(
    "reason", ["PodsReadyTimeout", "ClusterQueueStopped", "Deactivated", "Preempted"]
)
def test_an_eviction_of_a_known_reason_is_told_otherwise(reason: str) -> None:
    message = said(waiting("as before"), condition("Evicted", "True", reason, "as before"))
    assert message is None or "as before" not in message.cause


def test_an_unknown_reason_without_a_text_is_told_by_its_name() -> None:
    assert "PlanPending" in told(waiting("", "PlanPending")).cause
    assert said(waiting("", "Pending")) is None


def test_what_has_its_quota_and_is_not_admitted_tells_why() -> None:
    reserved = condition("QuotaReserved", "True", "QuotaReserved", "Quota reserved")
    unknown = condition("Admitted", "False", "PlanPending", "the plan is not made")
    message = told(reserved, unknown)
    assert (message.code, "the plan is not made" in message.cause) == ("queue-evaluating", True)
    known = condition("Admitted", "False", "NoReservation", "The workload has no reservation")
    assert said(reserved, known) is None
