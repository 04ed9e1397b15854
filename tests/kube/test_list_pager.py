"""Paged lists from slow, large, forgetful and incorrect servers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from gangboard.kube.connection import Connection
from gangboard.kube.errors import KubeError
from gangboard.kube.list_pager import pages
from tests.kube.server import Request, Server, Wire

Serve = Callable[..., Server]
Connect = Callable[..., Connection]
PODS = "/api/v1/pods"


@dataclass(frozen=True)
class Items:
    items: list[int]
    continue_token: str
    resource_version: str


def decode(body: bytes) -> Items:
    document = json.loads(body)
    meta = document["metadata"]
    return Items(document["items"], meta.get("continue", ""), meta["resourceVersion"])


def count_to(total: int, weight: int = 0) -> Callable[[Request, Wire], None]:
    """An honest server with that many objects, each `weight` bytes long."""

    def script(request: Request, wire: Wire) -> None:
        start = int(request.query.get("continue", "0"))
        stop = min(start + int(request.query["limit"]), total)
        meta = {"resourceVersion": "7"} | ({"continue": str(stop)} if stop < total else {})
        padding = "x" * weight * (stop - start)
        wire.json({"items": list(range(start, stop)), "metadata": meta, "padding": padding})

    return script


def test_all_pages_arrive_in_order(serve: Serve, connect: Connect) -> None:
    server = serve(count_to(7))
    batches = list(pages(connect(server), PODS, decode, limit=3, query=[("fieldSelector", "a=b")]))
    assert [page.items for page in batches] == [[0, 1, 2], [3, 4, 5], [6]]
    assert batches[-1].resource_version == "7"
    assert all(request.query["fieldSelector"] == "a=b" for request in server.requests)
    assert "continue" not in server.requests[0].query


def test_an_empty_list_is_one_page(serve: Serve, connect: Connect) -> None:
    batches = list(pages(connect(serve(count_to(0))), PODS, decode))
    assert [page.items for page in batches] == [[]]


def limits(server: Server) -> list[int]:
    return [int(request.query["limit"]) for request in server.requests]


def test_the_limit_is_halved_while_pages_are_too_heavy(serve: Serve, connect: Connect) -> None:
    server = serve(count_to(20, weight=100))
    batches = pages(connect(server), PODS, decode, limit=8, page_bytes_target=500)
    assert [item for page in batches for item in page.items] == list(range(20))
    assert limits(server)[:4] == [8, 4, 4, 4]


def test_an_oversized_page_is_fetched_again_in_halves(serve: Serve, connect: Connect) -> None:
    server = serve(count_to(10, weight=1000))
    batches = pages(connect(server, max_bytes=3000), PODS, decode, limit=8)
    assert [item for page in batches for item in page.items] == list(range(10))
    assert limits(server) == [8, 4, 2, 2, 2, 2, 2]


def test_an_oversized_object_is_an_error(serve: Serve, connect: Connect) -> None:
    server = serve(count_to(10, weight=5000))
    with pytest.raises(KubeError) as caught:
        list(pages(connect(server, max_bytes=3000), PODS, decode, limit=4))
    assert caught.value.code == "too-large"
    assert limits(server) == [4, 2, 1]


def test_an_expired_snapshot_is_gone(serve: Serve, connect: Connect) -> None:
    honest = count_to(9)

    def script(request: Request, wire: Wire) -> None:
        if request.query.get("continue") == "6":
            wire.json({"kind": "Status", "message": "too old", "reason": "Expired"}, 410)
        else:
            honest(request, wire)

    sizes: list[int] = []
    with pytest.raises(KubeError) as caught:
        sizes.extend(
            item
            for page in pages(connect(serve(script)), PODS, decode, limit=3)
            for item in page.items
        )
    assert (caught.value.code, sizes) == ("gone", [0, 1, 2, 3, 4, 5])


@pytest.mark.parametrize("tokens", [["a"], ["a", "b"]])
def test_a_repeated_continue_token_is_an_error(
    serve: Serve, connect: Connect, tokens: list[str]
) -> None:
    def script(request: Request, wire: Wire) -> None:
        token = tokens[len(server.requests) % len(tokens)]
        wire.json({"items": [], "metadata": {"resourceVersion": "7", "continue": token}})

    server = serve(script)
    with pytest.raises(KubeError, match="same continue token twice") as caught:
        list(pages(connect(server), PODS, decode))
    assert caught.value.code == "server-error"
    assert len(server.requests) == len(tokens) + 1


def test_an_endless_list_is_an_error(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gangboard.kube.list_pager.MAX_PAGES", 5)

    def script(request: Request, wire: Wire) -> None:
        token = str(len(server.requests))
        wire.json({"items": [], "metadata": {"resourceVersion": "7", "continue": token}})

    server = serve(script)
    with pytest.raises(KubeError, match="does not end the list: 5 pages") as caught:
        list(pages(connect(server), PODS, decode))
    assert (caught.value.code, len(server.requests)) == ("too-large", 5)


def test_a_list_with_too_many_bytes_is_an_error(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gangboard.kube.list_pager.MAX_LIST_BYTES", 3 * 1024)

    def script(request: Request, wire: Wire) -> None:
        token = str(len(server.requests))
        meta = {"resourceVersion": "7", "continue": token, "padding": "x" * 1000}
        wire.json({"items": [], "metadata": meta})

    server = serve(script)
    with pytest.raises(KubeError, match="GiB while listing") as caught:
        list(pages(connect(server), PODS, decode))
    assert (caught.value.code, len(server.requests)) == ("too-large", 3)


def test_each_page_has_its_own_deadline(serve: Serve, connect: Connect) -> None:
    honest = count_to(4)

    def script(request: Request, wire: Wire) -> None:
        if int(request.query.get("continue", "0")) == 3:
            wire.hold()
        honest(request, wire)

    sizes: list[Items] = []
    with pytest.raises(KubeError) as caught:
        sizes.extend(pages(connect(serve(script), total_deadline=2.0), PODS, decode, limit=1))
    assert (caught.value.code, len(sizes)) == ("timeout", 3)
