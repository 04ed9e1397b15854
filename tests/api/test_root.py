"""`/api/v1/`, HEAD, the last slash, and the places of `summary/`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.test import Client

from tests.api.conftest import World, token_of

GetApi = Callable[..., Any]


def test_the_root_lists_all_resources(get_api: GetApi, world: World) -> None:
    data = get_api("reader", "/api/v1/").json()
    assert len(data) == 16
    assert {get_api("admin", address).status_code for address in data.values()} == {200}
    assert get_api("anonymous", "/api/v1/").status_code == 401


def test_head_answers_like_get_without_a_body(world: World) -> None:
    client = Client(headers={"authorization": f"Bearer {token_of('admin')}"})
    for address in ("/api/v1/gangs/", "/api/v1/events/", "/api/v1/"):
        response = client.head(address)
        assert (response.status_code, response.content) == (200, b"")


def test_a_request_to_act_needs_no_last_slash(world: World) -> None:
    client = Client(headers={"authorization": f"Bearer {token_of('admin', may_act=True)}"})
    response = client.post("/api/v1/actions", {}, content_type="application/json")
    assert response.status_code == 400


def test_a_summary_filters_by_cluster_and_namespace(get_api: GetApi, world: World) -> None:
    assert get_api("admin", "summary/").json()["gangs"] == 3
    east = get_api("admin", "summary/", cluster="east").json()
    assert (east["gangs"], list(east["by_cluster"])) == (2, ["east"])
    assert get_api("admin", "summary/", cluster="east", namespace="team-a").json()["gangs"] == 1
    assert get_api("reader", "summary/", cluster="west").status_code == 400
