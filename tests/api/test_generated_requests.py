"""Thousands of requests that nobody has thought of: each answer is what the OpenAPI document says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangboard.store.models import Cluster
from tests import random_sets
from tests.api.conftest import Run, World
from tests.api.generated_requests import Tally, headers_of, operations_of, try_operation
from tests.domain_objects import a_node, a_queue
from tests.factories import store_object
from tests.readmodels.room import make_capacity, make_node
from tests.recorded_actions import make_action
from tests.stored_queues import store

Ask = Callable[..., Any]
CASES = random_sets.sized(70, 1000)
"""Requests of one person, over all operations."""


@pytest.fixture
def objects(world: World, runs: dict[str, Run]) -> dict[str, dict[str, Any]]:
    """One object of each kind, by the path of its operations."""
    east = Cluster.objects.get(name="east")
    group = world.groups["east/team-a"]
    store(east, a_queue("gpu"))
    store_object(east, "nodes", a_node("h100-09", allocatable={"nvidia.com/gpu": 8}))
    make_node(east, "h100-09")
    make_capacity(east)
    action = make_action(east, steps=(("patch", "Suspend the Job", "done", ""),))
    gang = runs["east/team-a"].gang
    return {
        "/api/v1/actions/{action_id}/": {"action_id": action.pk},
        "/api/v1/clusters/{name}/": {"name": "east"},
        "/api/v1/gangs/{gang_id}/": {"gang_id": gang.pk},
        "/api/v1/gangs/{gang_id}/bundle/": {"gang_id": gang.pk},
        "/api/v1/groups/{group_id}/": {"group_id": f"east~{group.uid}"},
        "/api/v1/nodes/{cluster}/{name}/": {"cluster": "east", "name": "h100-09"},
        "/api/v1/people/{name}/": {"name": "reader"},
        "/api/v1/people/{name}/links/": {"name": "reader"},
        "/api/v1/people/{name}/roles/": {"name": "reader"},
        "/api/v1/queues/{cluster}/{name}/": {"cluster": "east", "name": "gpu"},
    }


@pytest.mark.parametrize("persona", ["reader", "operator", "admin"])
def test_every_answer_is_as_the_document_says(
    ask: Ask,
    objects: dict[str, dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    persona: str,
) -> None:
    monkeypatch.setattr("gangboard.api.read_limit.BURST", 10**9)
    for one in ("reader", "operator", "admin"):
        headers_of(one)
    headers, tally = headers_of(persona), Tally()
    operations = operations_of(ask("admin", "schema/").json(), objects)
    for number, operation in enumerate(operations):
        share = CASES * (number + 1) // len(operations) - CASES * number // len(operations)
        try_operation(operation, headers, tally, cases=share, number=number + 1)
    print(f"{persona}: {tally.cases} requests, {dict(sorted(tally.statuses.items()))}")
    assert not tally.failures, "\n\n".join(
        f"{what}\n{report}" for what, report in sorted(tally.failures.items())
    )
