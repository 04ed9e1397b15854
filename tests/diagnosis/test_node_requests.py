"""The members of a gang that wait for nodes, as the plan of the cluster gets them from its verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.pod_constraints import PodConstraints
from gangboard.domain.verdict import NodeRequests
from gangboard.facts.unit import Unit
from tests.placement.making import node
from tests.rules.waiting_gangs import capacity_of, gang, pod_requests, ungrouped_gang

FULL = capacity_of(node("n0", used=4), node("n1", used=4))
FREE = capacity_of(node("n0"), node("n1"))
FOUR = pod_requests(4)


def requests_of(unit: Unit) -> NodeRequests | None:
    return assess(unit.gang).node_requests


@pytest.mark.parametrize("make", [gang, ungrouped_gang])
def test_members_that_lack_capacity_wait_for_nothing_else(make: Any) -> None:
    found = requests_of(make(2, FOUR, FULL))
    assert found is not None
    assert found.is_solved_by_capacity
    (request,) = found.requests
    assert (request.size, request.needed) == (2, 2)


def test_members_that_fit_wait_for_the_scheduler() -> None:
    found = requests_of(gang(2, FOUR, FREE))
    assert found is not None
    assert not found.is_solved_by_capacity


def test_a_requirement_that_is_not_worked_out_is_no_matter_of_capacity() -> None:
    found = requests_of(gang(2, FOUR, FREE, needs=PodConstraints(unsupported=("volumes",))))
    assert found is not None
    assert not found.is_solved_by_capacity


def test_another_scheduler_places_by_rules_of_its_own() -> None:
    unit = gang(2, FOUR, FULL)
    pods = tuple(replace(pod, scheduler_name="x", other_scheduler=True) for pod in unit.gang.pods)
    found = assess(replace(unit.gang, pods=pods)).node_requests
    assert found is not None
    assert not found.is_solved_by_capacity


def test_a_gang_with_all_its_nodes_waits_for_none() -> None:
    assert requests_of(gang(2, FOUR, FULL, on=("n0", "n1"))) is None


def test_unknown_nodes_prove_no_lack_of_capacity() -> None:
    found = requests_of(gang(2, FOUR, ClusterCapacity(why="nodes: forbidden")))
    assert found is not None
    assert not found.is_solved_by_capacity
