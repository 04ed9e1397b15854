"""NodeClaims as Karpenter 1.x writes them (pkg/apis/v1, operatorpkg/status)."""

from datetime import UTC, datetime

import pytest

from gangboard.decode.node_claims import NODE_CLAIM
from tests.decode.reading import Json, model, with_identity

# In the order in which Karpenter sorts them: by time, `Ready` last.
CONDITIONS: list[Json] = [
    {
        "type": "Initialized",
        "status": "Unknown",
        "reason": "ResourceNotRegistered",
        "message": 'Resource "nvidia.com/gpu" was requested but not registered',
        "lastTransitionTime": "2026-11-21T11:50:00Z",
        "observedGeneration": 1,
    },
    {
        "type": "Launched",
        "status": "True",
        "reason": "Launched",
        "message": "",
        "lastTransitionTime": "2026-11-21T11:50:03Z",
        "observedGeneration": 1,
    },
    {
        "type": "Registered",
        "status": "True",
        "reason": "Registered",
        "message": "",
        "lastTransitionTime": "2026-11-21T11:51:10Z",
        "observedGeneration": 1,
    },
    {"type": "Ready", "status": "Unknown", "reason": "ReconcilingDependents"},
]
CLAIM: Json = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodeClaim",
    "metadata": {
        "namespace": "",
        "labels": {"karpenter.sh/nodepool": "gpu", "node.kubernetes.io/instance-type": "p5"},
    },
    "spec": {
        "expireAfter": "720h",
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"},
        "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
        "resources": {"requests": {"nvidia.com/gpu": "8"}},
    },
    "status": {
        "nodeName": "ip-10-0-3-17",
        "providerID": "aws:///eu-west-1a/i-0f",
        "allocatable": {"nvidia.com/gpu": "8"},
        "conditions": CONDITIONS,
    },
}


def test_initialized_node_claim() -> None:
    claim = model(NODE_CLAIM, with_identity(CLAIM, "gpu-x7k2p"))
    ref = claim.meta.ref
    assert (ref.group, ref.kind, ref.namespace, ref.name) == (
        "karpenter.sh",
        "NodeClaim",
        "",
        "gpu-x7k2p",
    )
    assert (claim.pool, claim.node) == ("gpu", "ip-10-0-3-17")
    assert claim.launched.is_true
    assert claim.registered.since == datetime(2026, 11, 21, 11, 51, 10, tzinfo=UTC)
    assert (claim.initialized.status, claim.initialized.reason) == (
        "Unknown",
        "ResourceNotRegistered",
    )


@pytest.mark.parametrize(
    "rest", [{}, {"status": None}, {"status": {"conditions": None}}, {"metadata": {"labels": None}}]
)
def test_claim_without_a_status(rest: Json) -> None:
    claim = model(NODE_CLAIM, with_identity({"spec": CLAIM["spec"], **rest}, "gpu-x7k2p"))
    assert (claim.pool, claim.node) == ("", "")
    assert (claim.launched, claim.registered, claim.initialized) == (None, None, None)


def test_node_claims_use_the_stable_version_and_are_optional() -> None:
    assert (NODE_CLAIM.key, NODE_CLAIM.versions) == ("nodeclaims.karpenter.sh", ("v1",))
    assert not NODE_CLAIM.needed
