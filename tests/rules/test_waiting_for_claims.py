"""`waiting-for-nodes` where NodeClaims can be looked at: they say themselves how far they are."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gangboard.domain.autoscaling import Autoscaling, NodeClaim
from gangboard.domain.event import Event
from gangboard.domain.health import Health
from gangboard.domain.objects import Condition
from gangboard.domain.verdict import Finding
from gangboard.facts.unit import Unit
from tests.domain_objects import NOW, a_condition, a_meta, ago, an_event, with_cluster
from tests.placement.making import node
from tests.rules.evaluation import evaluate, first_code, require_finding
from tests.rules.waiting_gangs import capacity_of, evidence_values, gang, pod_requests

CLAIM = "gpu-x7k2p"
AWAITED = ("AwaitingReconciliation", "object is awaiting reconciliation")
NO_NODE = ("NodeNotFound", "Node not registered with cluster")


def a_claim(name: str = CLAIM, *, age: float = 300, **fields: Any) -> NodeClaim:
    """A claim as Karpenter has just made it, some seconds ago."""
    meta = a_meta("karpenter.sh", "NodeClaim", name, namespace="", created_at=ago(age))
    unknown = {name: unsure(name) for name in ("Launched", "Registered", "Initialized")}
    defaults = {name.lower(): condition for name, condition in unknown.items()}
    return NodeClaim(meta=meta, pool="gpu", **{**defaults, **fields})


def unsure(step: str, why: tuple[str, str] = AWAITED) -> Condition:
    return Condition(step, "Unknown", *why, since=ago(300))


def done(step: str, seconds: float) -> Condition:
    return replace(a_condition(step), since=ago(seconds))


def launched(name: str = CLAIM, seconds: float = 240, **extra: Any) -> NodeClaim:
    defaults = {"registered": unsure("Registered", NO_NODE), **extra}
    return a_claim(name, launched=done("Launched", seconds), **defaults)


def registered(node: str, seconds: float = 60, **extra: Any) -> NodeClaim:
    return launched(node=node, registered=done("Registered", seconds), **extra)


def nominated(unit: Unit, at: int, claim: str = CLAIM, seconds: float = 300) -> Event:
    note = f"Pod should schedule on: nodeclaim/{claim}"
    pod = unit.pods[at]
    event = an_event(pod, "Nominated", note, type="Normal", reporter="karpenter")
    return replace(event, first_seen=ago(seconds), last_seen=ago(seconds))


def gang_with(*claims: NodeClaim, seconds: float = 300, why: str = "") -> Unit:
    """Two pods of 8 GPUs where a node has 4, both nominated to the claim some seconds ago."""
    unit = gang(2, pod_requests(8), capacity_of(node("n0", used=4)))
    observed = None if why else {claim.meta.ref.name: claim for claim in claims}
    unit = replace(unit, gang=with_cluster(unit.gang, autoscaling=Autoscaling(observed, why)))
    events = tuple(nominated(unit, index, seconds=seconds) for index in (0, 1))
    return replace(unit, events=events)


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (a_claim(), "Karpenter is adding nodes for 2 of 2 pods: NodeClaim gpu-x7k2p is not launched yet."),
        (
            launched(),
            ("Karpenter is adding nodes for 2 of 2 pods: NodeClaim gpu-x7k2p was launched at "
"11:56 UTC, and its node has not registered yet."),
        ),
        (
            launched(
                registered=unsure("Registered", ("RegistrationHookPending", "cilium, quota"))
            ),
            ("Karpenter is adding nodes for 2 of 2 pods: NodeClaim gpu-x7k2p was launched at "
"11:56 UTC, and its node has not registered yet: cilium, quota."),
        ),
        (
            registered(
                "n7",
                initialized=unsure(
                    "Initialized",
                    (
                        "ResourceNotRegistered",
                        'Resource "nvidia.com/gpu" was requested but not registered',
                    ),
                ),
            ),
            ("Karpenter is adding nodes for 2 of 2 pods: NodeClaim gpu-x7k2p added node n7, which "
'is not initialized yet: Resource "nvidia.com/gpu" was requested but not registered.'),
        ),
    ],
)  # fmt: skip
def test_a_claim_shows_its_progress(claim: NodeClaim, words: str) -> None:
    unit = gang_with(claim)
    finding = require_finding("waiting-for-nodes", unit)
    assert (finding.message, finding.health) == (words, Health.WAITING)
    assert first_code(unit) == "waiting-for-nodes"
    assert evidence_values(finding, "Karpenter says") == [
        "Pod should schedule on: nodeclaim/gpu-x7k2p"
    ]
    (texts,) = (item for item in finding.evidence if item.label == "NodeClaim gpu-x7k2p")
    assert texts.source == claim.meta.ref
    assert f"{texts.value}." in finding.message


def test_a_failed_launch_shows_its_cause() -> None:
    text = "creating instance, VcpuLimitExceeded: You have requested more vCPU capacity"
    for status in ("Unknown", "False"):
        failing = Condition("Launched", status, "LaunchFailed", text, ago(120))
        finding = require_finding("waiting-for-nodes", gang_with(a_claim(launched=failing)))
        assert finding.message == (
            "Karpenter is trying to add nodes for 2 of 2 pods: NodeClaim gpu-x7k2p could not"
            f" be launched: {text}."
        )


def test_the_least_advanced_of_several_claims_is_named() -> None:
    unit = gang_with(launched(), a_claim("gpu-zz9"))
    unit = replace(unit, events=(unit.events[0], nominated(unit, 1, "gpu-zz9")))
    finding = require_finding("waiting-for-nodes", unit)
    assert finding.message == (
        "Karpenter is adding nodes for 2 of 2 pods: 2 NodeClaims, the slowest is gpu-zz9: it "
        "is not launched yet."
    )
    assert [item.label for item in finding.evidence if item.label.startswith("NodeClaim")] == [
        "NodeClaim gpu-zz9",
        "NodeClaim gpu-x7k2p",
    ]


def test_the_event_age_is_irrelevant_if_the_claim_is_observed() -> None:
    assert first_code(gang_with(launched(), seconds=3600)) == "waiting-for-nodes"


def test_a_step_is_believed_for_fifteen_minutes() -> None:
    finding = require_finding("waiting-for-nodes", gang_with(launched(seconds=240)))
    assert finding.recheck_at == NOW - timedelta(seconds=240) + timedelta(minutes=15)
    unit = gang_with(launched(seconds=15 * 60))
    assert first_code(unit) == "no-matching-node"
    assert evidence_values(require_finding("no-matching-node", unit), "NodeClaim gpu-x7k2p") == [
        (
            "was launched at 11:45 UTC, and its node has not registered yet (for more than 15 "
            "minutes now)"
        )
    ]


def test_a_deleted_claim_brings_no_node() -> None:
    unit = gang_with()
    assert first_code(unit) == "no-matching-node"
    assert evidence_values(require_finding("no-matching-node", unit), "NodeClaim gpu-x7k2p") == [
        "is gone: Karpenter no longer adds its node"
    ]


def test_karpenter_explains_a_deleted_claim() -> None:
    unit = gang_with()
    note = "NodeClaim gpu-x7k2p event: all requested instance types were unavailable during launch"
    last_word = an_event(unit.pods[0], "InsufficientCapacityError", note, reporter="karpenter")
    last_word = replace(last_word, regarding=a_claim().meta.ref)
    unit = replace(unit, events=(*unit.events, last_word))
    assert evidence_values(require_finding("no-matching-node", unit), "NodeClaim gpu-x7k2p") == [
        (
            "is gone: Karpenter no longer adds its node (InsufficientCapacityError: all "
            "requested instance types were unavailable during launch)"
        )
    ]


def test_a_terminating_claim_brings_no_node() -> None:
    claim = launched()
    claim = replace(claim, meta=replace(claim.meta, deleting_since=ago(5)))
    unit = gang_with(claim)
    assert first_code(unit) == "no-matching-node"
    (reported,) = evidence_values(require_finding("no-matching-node", unit), "NodeClaim gpu-x7k2p")
    assert reported.startswith("is being deleted: ")


def test_a_claim_can_appear_after_its_event() -> None:
    unit = gang_with(seconds=10)
    finding = require_finding("waiting-for-nodes", unit)
    assert finding.message == ("Karpenter is adding nodes for 2 of 2 pods: NodeClaim gpu-x7k2p.")
    assert finding.recheck_at == NOW + timedelta(seconds=20)


def test_an_existing_node_is_not_expected() -> None:
    unit = gang_with(registered("n0", initialized=done("Initialized", 30)))
    assert first_code(unit) == "no-matching-node"
    assert evidence_values(require_finding("no-matching-node", unit), "NodeClaim gpu-x7k2p") == [
        "added node n0"
    ]


def test_events_are_used_and_mentioned_if_claims_are_forbidden() -> None:
    unit = gang_with(why="forbidden")
    finding = require_finding("waiting-for-nodes", unit)
    assert finding.message == ("Karpenter is adding nodes for 2 of 2 pods: NodeClaim gpu-x7k2p.")
    assert evidence_values(finding, "NodeClaims") == [
        "forbidden: only Karpenter's events tell whether a node comes"
    ]
    assert first_code(gang_with(why="forbidden", seconds=15 * 60)) == "no-matching-node"


def test_a_later_refusal_of_karpenter_takes_the_nomination_back() -> None:
    for unit in (gang_with(launched()), gang_with(why="forbidden")):
        refusals = tuple(
            an_event(
                pod,
                "FailedScheduling",
                "Failed to schedule pod, all available instance types exceed limits",
                reporter="karpenter",
            )
            for pod in unit.pods
        )
        refused = replace(unit, events=(*unit.events, *refusals))
        assert evaluate("waiting-for-nodes", refused) is None


def nodes_named(finding: Finding) -> set[str]:
    sources = (item.source for item in finding.evidence)
    return {ref.name for ref in sources if ref is not None and ref.kind == "Node"}


def test_the_node_that_a_claim_has_brought_is_named_by_a_reference() -> None:
    finding = require_finding("waiting-for-nodes", gang_with(registered("n7")))
    assert "added node n7" in finding.message
    assert nodes_named(finding) == {"n7"}


def test_a_node_named_only_by_an_event_is_a_reference() -> None:
    unit = gang_with(launched())
    event = replace(unit.events[0], note="Pod should schedule on: nodeclaim/gpu-x7k2p, node/n7")
    finding = require_finding("waiting-for-nodes", replace(unit, events=(event,)))
    assert evidence_values(finding, "Karpenter says") == [event.note]
    assert nodes_named(finding) == {"n7"}


def test_a_claim_is_found_behind_many_deleted_claims() -> None:
    """Evidence has the first claims, of which none may bring a node any more."""
    unit = gang_with(registered("n7"))
    pods = [
        replace(unit.pods[0], meta=a_meta("", "Pod", f"more-{index}", created_at=ago(300)))
        for index in range(9)
    ]
    extra = replace(unit, pods=(*unit.pods, *pods))
    deleted = [nominated(extra, 2 + index, f"gone-{index}") for index in range(9)]
    finding = require_finding("waiting-for-nodes", replace(extra, events=(*unit.events, *deleted)))
    assert "NodeClaim gpu-x7k2p added node n7" in finding.message
    assert nodes_named(finding) == {"n7"}
