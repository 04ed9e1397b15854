"""`waiting-for-nodes`: events of cluster-autoscaler and Karpenter, as their sources write them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gangboard.domain.health import Health
from gangboard.facts.unit import Unit
from tests.domain_objects import NOW, ago, an_event
from tests.placement.making import node
from tests.rules.evaluation import first_code, require_finding
from tests.rules.waiting_gangs import capacity_of, evidence_values, gang, pod_requests
from tests.sentence_values import values_in

TRIGGERED = "pod triggered scale-up: [{gpu-pool 2->4 (max: 10)}]"
NOT_TRIGGERED = "pod didn't trigger scale-up: 1 max node group size reached"
CLAIM = "Pod should schedule on: nodeclaim/gpu-x7k2p"


def gang_with(reason: str, note: str, *, pods: int = 2, seconds: float = 30) -> Unit:
    unit = gang(2, pod_requests(8), capacity_of(node("n0", used=4)))
    events = tuple(
        replace(an_event(pod, reason, note), first_seen=ago(seconds), last_seen=ago(seconds))
        for pod in unit.pods[:pods]
    )
    return replace(unit, events=events)


def test_cluster_autoscaler_scales_up() -> None:
    unit = gang_with("TriggeredScaleUp", TRIGGERED)
    finding = require_finding("waiting-for-nodes", unit)
    assert finding.health is Health.WAITING
    assert values_in(finding.message) == "cluster-autoscaler 2 2 gpu-pool 2 4 10"
    assert evidence_values(finding, "cluster-autoscaler says") == [TRIGGERED]
    assert finding.recheck_at == NOW + timedelta(minutes=15) - timedelta(seconds=30)
    assert first_code(unit) == "waiting-for-nodes"


def test_karpenter_has_created_a_claim() -> None:
    unit = gang_with("Nominated", CLAIM, pods=1)
    assert values_in(require_finding("waiting-for-nodes", unit).message) == "1 2 gpu-x7k2p"


@pytest.mark.parametrize(
    ("reason", "note", "seconds"),
    [
        ("NotTriggerScaleUp", NOT_TRIGGERED, 30),
        ("Nominated", "Pod should schedule on: node/n0", 30),
        ("Nominated", "Pod should schedule on: nodeclaim/gpu-x7k2p, node/n0", 30),
        ("Nominated", "by some other scheduler", 30),
        ("TriggeredScaleUp", TRIGGERED, 15 * 60 + 1),
    ],
)
def test_twins_for_which_no_node_comes(reason: str, note: str, seconds: float) -> None:
    assert first_code(gang_with(reason, note, seconds=seconds)) == "no-matching-node"


def test_karpenter_withdrew_its_nomination() -> None:
    unit = gang_with("TriggeredScaleUp", TRIGGERED, seconds=120)
    later = an_event(unit.pods[0], "NotTriggerScaleUp", NOT_TRIGGERED)
    assert first_code(replace(unit, events=(*unit.events, later))) == "no-matching-node"


def test_events_about_deleted_pods_are_ignored() -> None:
    unit = gang_with("TriggeredScaleUp", TRIGGERED)
    deleted = tuple(
        replace(event, regarding=replace(event.regarding, uid=f"gone-{index}"))
        for index, event in enumerate(unit.events)
    )
    assert first_code(replace(unit, events=deleted)) == "no-matching-node"
