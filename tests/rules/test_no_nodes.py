"""`no-nodes`: `no nodes available to schedule pods`."""

from dataclasses import replace

from gangboard.domain.health import Health
from tests.domain_objects import a_condition, ago
from tests.placement.making import node
from tests.rules.evaluation import first_code, require_finding
from tests.rules.texts import CLAIM_HIDDEN
from tests.rules.waiting_gangs import (
    capacity_of,
    evidence_values,
    gang,
    pod_requests,
    with_placement,
)
from tests.sentence_values import values_in

SAYS = "no nodes available to schedule pods"


def test_the_cluster_has_no_node() -> None:
    unit = gang(3, pod_requests(4), capacity_of(), text=SAYS)
    finding = require_finding("no-nodes", unit)
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "3"
    assert evidence_values(finding, "scheduler says") == [SAYS]
    assert first_code(unit) == "no-nodes"


def test_nodes_that_were_not_read_are_not_none() -> None:
    unit = gang(3, pod_requests(4), capacity_of(why="nodes: forbidden"), text=SAYS)
    assert first_code(unit) == "unschedulable"


def test_a_node_that_does_not_suit_is_a_node() -> None:
    assert (
        first_code(gang(3, pod_requests(4), capacity_of(node("n0", gpu=0)))) == "no-matching-node"
    )


def test_the_scheduler_reports_an_error_for_a_gang_instead() -> None:
    """`error in "DynamicResources" PodGroupPostFilter plugins: not found` on 1.37.0 (observed)."""
    error = a_condition("PodScheduled", "False", reason="SchedulerError", message=CLAIM_HIDDEN)
    unit = gang(3, pod_requests(4), capacity_of(), scheduled=error)
    finding = require_finding("no-nodes", unit)
    assert finding.health is Health.BLOCKED
    assert first_code(unit) == "no-nodes"
    with_nodes = gang(3, pod_requests(4), capacity_of(node("n0")), scheduled=error)
    assert first_code(with_nodes) == "scheduler-error"


def test_an_error_about_too_few_pods_stays_an_error() -> None:
    """One of its two pods is on its way out: arithmetic has no word for the one that is left."""
    error = a_condition("PodScheduled", "False", reason="SchedulerError", message=CLAIM_HIDDEN)
    unit = gang(2, pod_requests(4), capacity_of(), scheduled=error)
    old, new = unit.pods
    leaving = replace(old, meta=replace(old.meta, deleting_since=ago(5)))
    unit = with_placement(replace(unit, pods=(leaving, new), placing=None))
    assert first_code(unit) == "scheduler-error"
