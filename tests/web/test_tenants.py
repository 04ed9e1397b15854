"""Two tenants with canaries in every field: no canary of one reaches the other, on no page and by no message."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from http.cookies import SimpleCookie
from itertools import chain
from typing import Any

import pytest
from django.apps import apps
from django.db import transaction
from django.db.models import Model
from django.test import Client
from django.urls import resolve
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from gangboard.pages.core.api.views import read_document
from gangboard.store.models import Gang
from tests.notify.conftest import Post
from tests.web.access_table import API, PAGES
from tests.web.tenants import FIRST, NOBODY, SECOND, Tenant, canaries, make_tenants
from tests.web.test_access_matrix import signed_in

pytestmark = pytest.mark.django_db

JSON = "application/json"
NOT_SHOWN = frozenset(
    {
        *("key", "aliasuid", "localqueueuid", "e", "event", "reporter"),  # to nobody
        *("channelerror", "deliveryerror", "idgroup"),  # to admins
        *("bottleneck", "gonemessage"),  # where another field says it better
    }
)
"""Fields that the tenant does not read either."""
Pair = tuple[Tenant, Tenant]


@pytest.fixture(scope="module")
def tenants(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Pair]:
    """Write both once for all tests of this file."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield make_tenants()
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def clients(tenants: Pair) -> dict[str, Client]:
    """A browser of each."""
    return {tenant.word: signed_in(tenant.user) for tenant in tenants}


def address_of(route: str, tenant: Tenant, query: str = "") -> str:
    """Return the address of the tenant's object at a route."""
    for parameter, value in tenant.parameters.items():
        route = route.replace(parameter, value)
    assert "<" not in route, f"the test knows no object for {route}"
    if route in ("actions/node/", "live/node/"):
        query = f"?cluster=shared&node={tenant.word}-onnode"
    if route == "live/asked/":
        query = f"?batch={tenant.parameters['<str:batch>']}"
    return f"/{route}{query}"


def send_request(client: Client, method: str, address: str, body: Any = None) -> tuple[int, str]:
    """Return status, headers and body of an answer, and roll back the request's changes."""
    cookies = client.cookies
    client.cookies = SimpleCookie({name: item.value for name, item in cookies.items()})
    options = {"content_type": JSON} if body is not None and address.startswith("/api/") else {}
    with transaction.atomic():
        response = getattr(client, method)(
            address, *([body] if body is not None else []), **options
        )
        visible = f"{response.headers}{response.cookies}"
        visible += b"".join(response).decode()
        response.close()
        transaction.set_rollback(True)
    client.cookies = cookies
    assert response.status_code < 500, (method, address, visible[-500:])
    return response.status_code, visible


def leaks(shown: str, reader: Tenant, asked: str) -> set[str]:
    """Return the canaries of others in an answer, without those that the reader has asked with."""
    remaining = {canary for canary in canaries(shown) if not canary.startswith(f"{reader.word}-")}
    return remaining - canaries(asked)


def readable() -> list[str]:
    return [route for route, methods in {**PAGES, **API}.items() if "get" in methods]


def of_an_object(route: str) -> bool:
    return "<" in route or route.endswith(("/asked/", "/node/"))


def links(shown: str) -> set[str]:
    """Return the addresses of this installation in a page."""
    matches = re.findall(r'(?:href|hx-get|action)="(/[^"#]*)', shown)
    return {html.unescape(item) for item in matches if not item.startswith("/static/")}


def shape(address: str) -> tuple[str, tuple[str, ...]]:
    """Return the route and the query parameter names of an address."""
    path, _, query = address.partition("?")
    names = sorted({item.partition("=")[0] for item in query.split("&")})
    return resolve(path).route, tuple(names)


def walk(client: Client, reader: Tenant) -> tuple[dict[str, set[str]], str]:
    """Read each page and list with the reader's own objects and their links. Return leaks and all texts.

    Addresses that differ only in query values are read once.
    """
    result: dict[str, set[str]] = {}
    texts = []
    own = [address_of(route, reader) for route in readable()]
    known: set[tuple[str, tuple[str, ...]]] = {shape(address) for address in own}
    linked: list[str] = []
    for address in chain(own, linked):
        _, visible = send_request(client, "get", address)
        texts.append(visible)
        if bad := leaks(visible, reader, address):
            result[address] = bad
        for link in sorted(links(visible)) if address in own else ():
            if resolve(link.partition("?")[0]).route in readable() and shape(link) not in known:
                known.add(shape(link))
                linked.append(link)
    return result, "".join(texts)


@pytest.mark.parametrize("text", [FIRST, SECOND])
def test_pages_and_lists_contain_no_canary_of_another_tenant(
    tenants: Pair, clients: dict[str, Client], text: str
) -> None:
    reader = next(canary for canary in tenants if canary.word == text)
    result, texts = walk(clients[text], reader)
    assert result == {}
    observed = {canary for canary in canaries(texts) if canary.startswith(text)}
    missing = {canary for canary in planted() if canary.startswith(f"{text}-")} - observed
    assert missing == {f"{text}-{field}" for field in NOT_SHOWN}, "a walk that misses a field"


WITHOUT_TENANTS = frozenset(
    {
        *("AuditHead", "FeedHead", "NotifyCursor", "Heartbeat", "Switch", "GroupRole"),
        *("Cluster", "Lease", "Chore", "Outage", "LeverRecord", "ClusterTrial", "UseSource"),
        *("ClusterCapacity", "NodeCapacity", "TrendPoint"),
        *("AccessToken", "SignInLink", "Attempts", "Grant", "BoardColumns", "RuleMark"),
    }
)
"""Tables of the installation, of a whole cluster, or without words that a tenant has chosen."""


def test_every_table_has_rows_of_both_tenants(tenants: Pair) -> None:
    empty = {
        model.__name__
        for model in apps.get_app_config("store").get_models()
        if not {FIRST, SECOND} <= {item[:3] for item in words_in(model)}
    }
    assert empty == WITHOUT_TENANTS


def planted() -> set[str]:
    """Return all canaries of the database."""
    return set().union(*map(words_in, apps.get_app_config("store").get_models()))


def words_in(model: type[Model]) -> set[str]:
    """Return the canaries of a table."""
    return {
        canary
        for row in model._default_manager.values_list()
        for value in row
        for canary in canaries(
            bytes(value).decode("latin-1") if isinstance(value, bytes | memoryview) else str(value)
        )
    }


def test_objects_of_another_tenant_get_404_by_every_method(
    tenants: Pair, clients: dict[str, Client]
) -> None:
    reader, another = tenants
    result = {}
    for route, methods in {**PAGES, **API}.items():
        if not of_an_object(route):
            continue
        for method in methods:
            address, body = (
                address_of(route, another),
                None if method == "get" else words_of(another),
            )
            status, visible = send_request(clients[FIRST], method, address, body)
            bad = leaks(visible, reader, f"{address} {body}")
            if bad or (
                method == "get" and status == 200 and methods[method] in ("place", "cluster")
            ):
                result[method, address] = (status, bad)
    assert result == {}


def test_hidden_and_missing_objects_look_the_same(
    tenants: Pair, clients: dict[str, Client]
) -> None:
    other_tenants = tenants[1]
    nothing = replace(other_tenants, parameters={**other_tenants.parameters, **NOTHING})
    result = {}
    for route, methods in API.items():
        if "<" in route:
            for method in methods:
                body = None if method == "get" else words_of(other_tenants)
                hidden = send_request(
                    clients[FIRST], method, address_of(route, other_tenants), body
                )
                missing = send_request(clients[FIRST], method, address_of(route, nothing), body)
                if content(hidden) != content(missing):
                    result[method, route] = content(hidden), content(missing)
    assert result == {}


NOTHING = {
    "<str:gang_id>": "0" * 16,
    "<str:group_id>": "shared~nothing",
    "<str:action_id>": "f" * 32,
    "<str:channel_id>": "999",
    "<str:rule_id>": "999",
    "<str:token_id>": "gb_0000000000000000",
    "<int:session_id>": "999",
    "<int:role_id>": "999",
    "people/<str:name>": "people/zqx-person",
    "nodes/<str:cluster>/<str:name>": "nodes/zqx-cluster/zqx-node",
    "queues/<str:cluster>/<str:name>": "queues/zqx-cluster/zqx-clusterqueue",
    "<str:name>": "zqx-cluster",
}
"""Objects that do not exist, by parameters of routes."""


def content(answer: tuple[int, str]) -> tuple[int, str]:
    """Return status and body of an answer of `ask`."""
    return answer[0], answer[1].partition("}")[2].replace("zqx-", f"{SECOND}-")


def words_of(other: Tenant) -> dict[str, Any]:
    """Return a body that names objects of the other tenant."""
    gang = Gang.objects.get(pk=other.parameters["<str:gang_id>"])
    return {
        "name": "mine",
        "role": "viewer",
        "reason": "a reason of mine",
        "hours": 1,
        "days": 1,
        "trigger": "verdict",
        "channels": [f"{other.word}-channel"],
        "cluster": f"{SECOND}-cluster",
        "namespace": gang.namespace,
        "verb": "suspend",
        "target": f"shared/{gang.api_group}/{gang.kind}/{gang.namespace}/{gang.name}/{gang.uid}/1",
        "gang": gang.pk,
    }


def test_changes_reveal_no_other_tenant(tenants: Pair, clients: dict[str, Client]) -> None:
    reader, another = tenants
    result, exports = {}, set()
    for route, methods in {**PAGES, **API}.items():
        for method in set(methods) - {"get"}:
            address, body = address_of(route, reader), words_of(another)
            status, visible = send_request(clients[FIRST], method, address, body)
            if bad := leaks(visible, reader, f"{address} {body}"):
                result[method, address] = bad
            if "export." in route and status == 200 and f"{FIRST}-ns" in visible:
                exports.add(route)
    assert result == {}
    assert exports == {route for route in PAGES if "export." in route}


def test_filters_orders_and_searches_reveal_no_other_tenant(
    tenants: Pair, clients: dict[str, Client]
) -> None:
    """Each choice of each list of the API, and words of the other one in each filter that takes a text."""
    reader, another = tenants
    requested = {
        "namespace": f"{another.word}-ns",
        "cluster": f"{SECOND}-cluster",
        "queue": f"{another.word}-localqueue",
        "code": f"{another.word}-code",
        "kind": f"{another.word}-kind",
        "actor": f"{another.word}-actor",
        "submitter": f"{another.word}-submitter",
        "label": f"{another.word}-labelkey={another.word}-labelvalue",
        "gang": another.parameters["<str:gang_id>"],
        "q": f"{another.word}-gang",
    }
    result = {}
    for path, parameter in list_parameters():
        choices = parameter["schema"].get("enum", ())
        for value in choices or [
            requested[item] for item in [parameter["name"]] if item in requested
        ]:
            query = {parameter["name"]: value}
            status, visible = send_request(clients[FIRST], "get", path, query)
            bad = leaks(visible, reader, str(query))
            has_rows = status == 200 and not choices and re.search(r'"results": ?\[\{', visible)
            if bad or (has_rows and path not in WITHOUT_NAMESPACES):
                result[path, parameter["name"], value] = bad, visible[-300:]
    for page in ("/", "/search/", "/find/", "/actions/", "/actions/audit/", "/holds/", "/groups/"):
        for name, value in requested.items():
            _, visible = send_request(clients[FIRST], "get", page, {name: value})
            if bad := leaks(visible, reader, value):
                result[page, name, value] = bad, ""
    assert result == {}


WITHOUT_NAMESPACES: frozenset[str] = frozenset()
"""Lists whose rows belong to no namespace."""


def list_parameters() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the parameters in the query of each operation that has no parameter in its path."""
    for path, operations in read_document()["paths"].items():
        if "get" in operations and "{" not in path:
            for parameter in operations["get"].get("parameters", ()):
                if parameter["in"] == "query":
                    yield path, parameter


def test_messages_contain_no_canary_of_another_tenant(tenants: Pair) -> None:
    post = Post(now=timezone.now())
    with transaction.atomic():
        orders = [*post.look(), *post.look(120)]
        transaction.set_rollback(True)
    canaries_by_tenant: dict[str, set[str]] = {FIRST: set(), SECOND: set()}
    for order in orders:
        (text,) = {
            item for item in canaries_by_tenant if f"{item}-address" in str(order["address"])
        }
        canaries_by_tenant[text] |= canaries(str(order))
    for text, result in canaries_by_tenant.items():
        assert {item for item in result if not item.startswith(f"{text}-")} == set()
        desired = {"gang", "ns", "spanmessage", "gone", "actedjob", "actionmessage", "rule"}
        assert {f"{text}-{field}" for field in desired} - result == set()


def test_names_of_another_tenant_are_redacted_from_a_verdict(
    tenants: Pair, clients: dict[str, Client]
) -> None:
    gang = tenants[0].parameters["<str:gang_id>"]
    _, visible = send_request(clients[FIRST], "get", f"/api/v1/gangs/{gang}/")
    assert f"{FIRST}-message: a gang you may not see holds what it needs." in visible
    assert NOBODY not in visible
