"""`volume-unavailable`: texts of volumebinding and its neighbours (1.35 to 1.37)."""

import pytest

from gangboard.domain.health import Health
from gangboard.domain.pod_constraints import PodConstraints
from tests.placement.making import node
from tests.rules.evaluation import first_code, require_finding
from tests.rules.waiting_gangs import (
    capacity_of,
    evidence_values,
    gang,
    message_of,
    pod_requests,
    ungrouped_gang,
)
from tests.sentence_values import values_in

NOT_THERE = '0/6 nodes are available: persistentvolumeclaim "data-0" not found.'
UNBOUND = "0/6 nodes are available: pod has unbound immediate PersistentVolumeClaims."
VOLUMES = PodConstraints(unsupported=("volumes",))
FREE = capacity_of(node("n0"), node("n1"))
FULL = capacity_of(node("n0", used=4), node("n1", used=4))


def test_a_claim_that_does_not_exist() -> None:
    unit = gang(2, pod_requests(4), FREE, needs=VOLUMES, text=NOT_THERE)
    finding = require_finding("volume-unavailable", unit)
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "2 1 data-0"
    assert evidence_values(finding, "scheduler says") == [NOT_THERE]
    assert first_code(unit) == "volume-unavailable"


@pytest.mark.parametrize(
    ("text", "health", "says"),
    [
        (UNBOUND, Health.WAITING, "not bound to a volume yet"),
        (
            "0/6 nodes are available: waiting for ephemeral volume controller to create the "
            'persistentvolumeclaim "train-0-scratch".',
            Health.WAITING,
            "train-0-scratch",
        ),
        (
            '0/6 nodes are available: persistentvolumeclaim "d" bound to non-existent '
            'persistentvolume "pv-7".',
            Health.BLOCKED,
            "PersistentVolume pv-7 does not exist",
        ),
        (
            '0/6 nodes are available: persistentvolumeclaim "d" is being deleted.',
            Health.BLOCKED,
            "is being deleted",
        ),
        (
            "0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity.",
            Health.BLOCKED,
            "the volume cannot be reached on 2 nodes",
        ),
        (
            "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) had volume node "
            "affinity conflict. preemption: 0/2 nodes are available: 2 Preemption is not helpful "
            "for scheduling.",
            Health.WAITING,
            "the volume cannot be reached on 1 node",
        ),
        (
            "0/2 nodes are available: 2 node(s) exceed max volume count.",
            Health.WAITING,
            "no further volume",
        ),
    ],
)
def test_other_volume_messages(text: str, health: Health, says: str) -> None:
    finding = require_finding(
        "volume-unavailable", gang(2, pod_requests(4), FREE, needs=VOLUMES, text=text)
    )
    assert finding.health is health
    assert says in finding.message


def test_the_blocked_cause_of_two_is_reported() -> None:
    """No room would help a pod whose claim does not exist; the lack of room is in the evidence."""
    finding = require_finding(
        "volume-unavailable", gang(2, pod_requests(4), FULL, needs=VOLUMES, text=NOT_THERE)
    )
    assert evidence_values(finding, "nvidia.com/gpu") == ["8 needed, 0 free now, 8 when empty"]


def test_node_facts_do_not_change_the_volume_finding() -> None:
    unit = gang(
        2, pod_requests(4), capacity_of(why="nodes: forbidden"), needs=VOLUMES, text=NOT_THERE
    )
    assert first_code(unit) == "volume-unavailable"


def test_twin_where_the_volume_is_not_all_that_is_in_the_way() -> None:
    """On nodes the text counts only where the amounts would fit."""
    text = "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) had volume node affinity conflict."
    assert (
        first_code(gang(2, pod_requests(4), FULL, needs=VOLUMES, text=text))
        == "insufficient-resources"
    )
    assert first_code(
        gang(2, pod_requests(4), capacity_of(node("n0")), needs=VOLUMES, text=NOT_THERE)
    ) == ("exceeds-capacity")


def test_all_pods_with_the_message_are_counted() -> None:
    unit = ungrouped_gang(2, pod_requests(4), FREE, needs=VOLUMES, text=UNBOUND)
    assert values_in(message_of("volume-unavailable", unit)) == "2"
