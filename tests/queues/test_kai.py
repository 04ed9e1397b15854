"""Queues of KAI: amounts in units of their own."""

from __future__ import annotations

from decimal import Decimal

from gangboard.domain.quota import Queue, QueueLevel, QueueName, Quota, QuotaTerm
from gangboard.queues.kai import KaiQueues
from tests.decode.reading import Json, model

(RESOURCE,) = KaiQueues.resources


def a_queue(spec: Json, status: Json | None = None) -> Queue:
    metadata = {"name": "team-a", "uid": "q1", "resourceVersion": "1"}
    result: Queue = model(RESOURCE, {"metadata": metadata, "spec": spec, "status": status})
    return result


def test_a_queue_has_quota_limit_and_weight() -> None:
    """gang-owners.md §7, units of queue_types.go."""
    resources = {
        "gpu": {"quota": 16, "limit": 32, "overQuotaWeight": 1},
        "cpu": {"quota": 2500, "limit": -1},
        "memory": {"quota": -1, "limit": -1},
    }
    result = a_queue(
        {"parentQueue": "root", "resources": resources}, {"allocated": {"nvidia.com/gpu": "20"}}
    )
    assert result.parent == QueueName("scheduling.run.ai", "Queue", "", "root")
    assert result.level is QueueLevel.QUEUE
    quotas = {quota.resource: quota for quota in result.quotas}
    assert quotas["nvidia.com/gpu"] == Quota(
        "",
        "nvidia.com/gpu",
        nominal=Decimal(16),
        borrowing_limit=Decimal(16),
        used=Decimal(20),
        reserved=Decimal(20),
        borrowed=Decimal(4),
        terms=(QuotaTerm("limit", Decimal(32)), QuotaTerm("over-quota weight", Decimal(1), True)),
    )
    assert (quotas["cpu"].nominal, quotas["cpu"].borrowing_limit) == (Decimal("2.5"), None)
    assert quotas["memory"].nominal is None


def test_a_parent_queue_admits_no_gangs() -> None:
    assert a_queue({}, {"childQueues": ["team-b"]}).level is QueueLevel.SHARED


def test_unset_amounts_are_empty() -> None:
    """Seen on v0.12.0: "Limit is 0 GPUs", "Limit is 0 cores" where limits are not set; -1 is no bound."""
    result = a_queue({"resources": {"gpu": {"quota": 4}, "cpu": {"quota": -1, "limit": -1}}})
    verdicts = {quota.resource: (quota.nominal, quota.terms[0].amount) for quota in result.quotas}
    assert verdicts == {
        "nvidia.com/gpu": (Decimal(4), Decimal(0)),
        "cpu": (None, None),
        "memory": (Decimal(0), Decimal(0)),
    }


def test_a_queue_has_a_priority() -> None:
    assert a_queue({"priority": 200}).terms == (QuotaTerm("priority", Decimal(200), True),)
    assert a_queue({}).terms == ()
