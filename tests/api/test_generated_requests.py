"""Thousands of generated requests, whose answers must match the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangboard.store import group_roles
from gangboard.store.models import AccessToken, Channel, Cluster, Rule
from tests import random_sets
from tests.api.conftest import SINCE, Run, World, token_of
from tests.api.generated_requests import (
    Known,
    Tally,
    operations_of,
    sender_of,
    try_operation,
)
from tests.domain_objects import a_node, a_queue
from tests.factories import store_object
from tests.readmodels.room import make_capacity, make_node
from tests.recorded_actions import make_action
from tests.stored_queues import store

GetApi = Callable[..., Any]
CASES = random_sets.sized(68, 950)
"""Requests of one of four people, over all operations; some operations have fewer that differ."""


@pytest.fixture
def known(world: World, runs: dict[str, Run]) -> Known:
    """One object of each kind."""
    east = Cluster.objects.get(name="east")
    group = world.groups["east/team-a"]
    store(east, a_queue("gpu"))
    store_object(east, "nodes", a_node("h100-09", allocatable={"nvidia.com/gpu": 8}))
    make_node(east, "h100-09")
    make_capacity(east)
    action = make_action(east, steps=(("patch", "Suspend the Job", "done", ""),))
    token_of("reader")
    channel = Channel.objects.create(
        name="room", kind="webhook", service="https://a.example", address=b"", created_at=SINCE
    )
    rule = Rule.objects.create(name="mine", trigger="verdict", created_at=SINCE)
    group_roles.grant_group(group="team", role="viewer", namespace="x")
    (role,) = group_roles.list_group_roles()
    (token,) = AccessToken.objects.all()
    gang = runs["east/team-a"].gang
    person = {"name": "reader"}
    objects: dict[str, dict[str, Any]] = {
        "/api/v1/actions/{action_id}/": {"action_id": action.pk},
        "/api/v1/clusters/{name}/": {"name": "east"},
        "/api/v1/gangs/{gang_id}/": {"gang_id": gang.pk},
        "/api/v1/gangs/{gang_id}/bundle/": {"gang_id": gang.pk},
        "/api/v1/group-roles/{role_id}/": {"role_id": role.id},
        "/api/v1/groups/{group_id}/": {"group_id": f"east~{group.uid}"},
        "/api/v1/nodes/{cluster}/{name}/": {"cluster": "east", "name": "h100-09"},
        "/api/v1/notifications/channels/{channel_id}/": {"channel_id": str(channel.pk)},
        "/api/v1/notifications/channels/{channel_id}/test/": {"channel_id": str(channel.pk)},
        "/api/v1/notifications/rules/{rule_id}/": {"rule_id": str(rule.pk)},
        "/api/v1/notifications/rules/{rule_id}/mute/": {"rule_id": str(rule.pk)},
        "/api/v1/people/{name}/": person,
        "/api/v1/people/{name}/links/": person,
        "/api/v1/people/{name}/roles/": person,
        "/api/v1/queues/{cluster}/{name}/": {"cluster": "east", "name": "gpu"},
        "/api/v1/tokens/{token_id}/": {"token_id": f"gb_{token.pk}"},
    }
    query = {"cluster": "east", "namespace": "team-a", "code": "fragmented", "label": "team"}
    schemas = {"TargetRequest": runs["east/team-a"].target()}
    return Known(objects, query, schemas)


def test_every_answer_matches_the_schema(
    get_api: GetApi, known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gangboard.pages.core.api.read_limit.BURST", 10**9)
    operations = operations_of(get_api("admin", "schema/").json(), known)
    failures: dict[str, str] = {}
    for persona in ("reader", "operator", "admin", "browser"):
        sender, tally = sender_of(persona), Tally()
        for number, operation in enumerate(operations):
            share = CASES * (number + 1) // len(operations) - CASES * number // len(operations)
            try_operation(operation, sender, tally, cases=share, number=number + 1)
        print(f"{persona}: {tally.cases} requests, {dict(sorted(tally.statuses.items()))}")
        good = sum(count for status, count in tally.statuses.items() if status < 300)
        assert good > tally.cases / 10, "requests that are taken are tried, too"
        failures |= {f"{persona}: {subject}": text for subject, text in tally.failures.items()}
    assert not failures, "\n\n".join(f"{subject}\n{text}" for subject, text in failures.items())
