"""`no-nodes`: `no nodes available to schedule pods`."""

from dataclasses import replace

from gangboard.domain.health import Health
from tests.domain_objects import a_condition, ago
from tests.placement.making import node
from tests.rules.evaluation import first, found
from tests.rules.texts import CLAIM_HIDDEN
from tests.rules.waiting_gangs import ask as asks
from tests.rules.waiting_gangs import gang, room_of, values, with_room
from tests.sentence_values import values_in

SAYS = "no nodes available to schedule pods"


def test_the_cluster_has_no_node() -> None:
    unit = gang(3, asks(4), room_of(), text=SAYS)
    finding = found("no-nodes", unit)
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "3"
    assert values(finding, "scheduler says") == [SAYS]
    assert first(unit) == "no-nodes"


def test_nodes_that_were_not_read_are_not_none() -> None:
    unit = gang(3, asks(4), room_of(why="nodes: forbidden"), text=SAYS)
    assert first(unit) == "unschedulable"


def test_a_node_that_does_not_suit_is_a_node() -> None:
    assert first(gang(3, asks(4), room_of(node("n0", gpu=0)))) == "no-matching-node"


def test_of_a_gang_the_scheduler_says_an_error_instead() -> None:
    """`error in "DynamicResources" PodGroupPostFilter plugins: not found` on 1.37.0 (observed)."""
    error = a_condition("PodScheduled", "False", reason="SchedulerError", message=CLAIM_HIDDEN)
    unit = gang(3, asks(4), room_of(), scheduled=error)
    finding = found("no-nodes", unit)
    assert finding.health is Health.BLOCKED
    assert first(unit) == "no-nodes"
    with_nodes = gang(3, asks(4), room_of(node("n0")), scheduled=error)
    assert first(with_nodes) == "scheduler-error"


def test_an_error_about_too_few_pods_stays_an_error() -> None:
    """One of its two pods is on its way out: arithmetic has no word for the one that is left."""
    error = a_condition("PodScheduled", "False", reason="SchedulerError", message=CLAIM_HIDDEN)
    unit = gang(2, asks(4), room_of(), scheduled=error)
    old, new = unit.pods
    leaving = replace(old, meta=replace(old.meta, deleting_since=ago(5)))
    unit = with_room(replace(unit, pods=(leaving, new), placing=None))
    assert first(unit) == "scheduler-error"
