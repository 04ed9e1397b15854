"""`/api/v1/`, HEAD, the last slash, and the places of `summary/`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.test import Client

from tests.api.conftest import World, token_of

Ask = Callable[..., Any]


def test_the_root_lists_all_resources(ask: Ask, world: World) -> None:
    data = ask("reader", "/api/v1/").json()
    assert len(data) == 14
    assert {ask("admin", address).status_code for address in data.values()} == {200}
    assert ask("anonymous", "/api/v1/").status_code == 401


def test_head_answers_like_get_without_a_body(world: World) -> None:
    client = Client(headers={"authorization": f"Bearer {token_of('admin')}"})
    for address in ("/api/v1/gangs/", "/api/v1/events/", "/api/v1/"):
        response = client.head(address)
        assert (response.status_code, response.content) == (200, b"")


def test_a_request_to_act_needs_no_last_slash(world: World) -> None:
    client = Client(headers={"authorization": f"Bearer {token_of('admin', may_act=True)}"})
    response = client.post("/api/v1/actions", {}, content_type="application/json")
    assert response.status_code == 400


def test_a_summary_filters_by_cluster_and_namespace(ask: Ask, world: World) -> None:
    assert ask("admin", "summary/").json()["gangs"] == 3
    east = ask("admin", "summary/", cluster="east").json()
    assert (east["gangs"], list(east["by_cluster"])) == (2, ["east"])
    assert ask("admin", "summary/", cluster="east", namespace="team-a").json()["gangs"] == 1
    assert ask("reader", "summary/", cluster="west").status_code == 400
