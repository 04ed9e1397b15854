"""`waiting-for-nodes` by ProvisioningRequests, in the words of cluster-autoscaler 1.37 (provisioningrequest/)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gangboard.domain.autoscaling import Autoscaling, ProvisioningRequest
from gangboard.domain.health import Health
from gangboard.domain.objects import Condition
from gangboard.facts.unit import Unit
from tests.domain_objects import NOW, a_condition, a_meta, ago, with_cluster
from tests.placement.making import node
from tests.rules.evaluation import first_code, require_finding
from tests.rules.waiting_gangs import capacity_of, evidence_values, gang, pod_requests

ATOMIC = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
ACCEPTED = a_condition("Accepted", reason="Accepted", since=ago(120))
NOT_FOUND = a_condition(
    "Provisioned",
    "False",
    reason="CapacityIsNotFound",
    message="Capacity is not found, CA will try to find it later.",
)
LABEL = "ProvisioningRequest big"


def provisioned(reason: str, seconds: float) -> Condition:
    text = "Capacity is found in the cluster"
    return a_condition("Provisioned", reason=reason, message=text, since=ago(seconds))


def a_request(**fields: Any) -> ProvisioningRequest:
    meta = a_meta("autoscaling.x-k8s.io", "ProvisioningRequest", "big")
    return ProvisioningRequest(meta=meta, **{"class_name": ATOMIC, **fields})


def gang_with(*requests: ProvisioningRequest, why: str = "") -> Unit:
    """Two pods of 8 GPUs that consume `big`, where a node has 4."""
    unit = gang(2, pod_requests(8), capacity_of(node("n0", used=4)), provisioning_request="big")
    observed = {
        (request.meta.ref.namespace, request.meta.ref.name): request for request in requests
    }
    autoscaling = Autoscaling(requests=None if why else observed, why_no_requests=why)
    return replace(unit, gang=with_cluster(unit.gang, autoscaling=autoscaling))


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (
            a_request(accepted=ACCEPTED),
            (
                "cluster-autoscaler is adding nodes for 2 of 2 pods: ProvisioningRequest big is "
                "accepted, not provisioned yet."
            ),
        ),
        (
            a_request(accepted=ACCEPTED, provisioned=NOT_FOUND),
            (
                "cluster-autoscaler is trying to add nodes for 2 of 2 pods: ProvisioningRequest big "
                "is accepted, not provisioned yet: Capacity is not found, CA will try to find it "
                "later."
            ),
        ),
        (
            a_request(accepted=ACCEPTED, provisioned=provisioned("CapacityIsProvisioned", 60)),
            (
                "cluster-autoscaler is adding nodes for 2 of 2 pods: ProvisioningRequest big was "
                "provisioned at 11:59 UTC, its nodes may still be starting."
            ),
        ),
    ],
)
def test_a_request_that_brings_nodes(request_: ProvisioningRequest, words: str) -> None:
    unit = gang_with(request_)
    finding = require_finding("waiting-for-nodes", unit)
    assert (finding.message, finding.health) == (words, Health.WAITING)
    assert first_code(unit) == "waiting-for-nodes"
    (texts,) = (item for item in finding.evidence if item.label == LABEL)
    assert texts.source == request_.meta.ref


def test_requested_nodes_are_expected_for_fifteen_minutes() -> None:
    requested = a_request(accepted=ACCEPTED, provisioned=provisioned("CapacityIsProvisioned", 60))
    finding = require_finding("waiting-for-nodes", gang_with(requested))
    assert finding.recheck_at == NOW - timedelta(seconds=60) + timedelta(minutes=15)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (a_request(), "is not accepted yet"),
        (
            a_request(
                accepted=ACCEPTED,
                provisioned=NOT_FOUND,
                failed=a_condition(
                    "Failed", reason="Expired", message="ProvisioningRequest is expired"
                ),
            ),
            "has failed: ProvisioningRequest is expired",
        ),
        (
            a_request(
                accepted=ACCEPTED,
                provisioned=provisioned("CapacityIsProvisioned", 60),
                revoked=a_condition("CapacityRevoked", reason="NodesDeleted"),
            ),
            "has lost its capacity: NodesDeleted",
        ),
        (
            a_request(accepted=ACCEPTED, class_name="check-capacity.autoscaling.x-k8s.io"),
            "only checks for capacity, and adds no nodes",
        ),
        (
            a_request(accepted=ACCEPTED, provisioned=provisioned("CapacityIsFound", 60)),
            "was provisioned at 2026-11-21 11:59 UTC: Capacity is found in the cluster",
        ),
        (
            a_request(accepted=ACCEPTED, provisioned=provisioned("CapacityIsProvisioned", 901)),
            "was provisioned at 2026-11-21 11:44 UTC: Capacity is found in the cluster",
        ),
    ],
)
def test_a_request_that_brings_none(request_: ProvisioningRequest, words: str) -> None:
    unit = gang_with(request_)
    assert first_code(unit) == "no-matching-node"
    assert evidence_values(require_finding("no-matching-node", unit), LABEL) == [words]


def test_a_missing_request_brings_no_nodes() -> None:
    unit = gang_with()
    assert first_code(unit) == "no-matching-node"
    assert evidence_values(require_finding("no-matching-node", unit), LABEL) == [
        "does not exist, so no nodes are added for pods that consume it"
    ]


def test_unreadable_requests_are_reported() -> None:
    unit = gang_with(why="forbidden")
    assert first_code(unit) == "no-matching-node"
    finding = require_finding("no-matching-node", unit)
    assert (evidence_values(finding, "ProvisioningRequests"), evidence_values(finding, LABEL)) == (
        ["forbidden"],
        [],
    )
