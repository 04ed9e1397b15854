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
from drf_spectacular.generators import SchemaGenerator
from pytest_django import DjangoDbBlocker

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
    return {one.word: signed_in(one.user) for one in tenants}


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


def ask(client: Client, method: str, address: str, body: Any = None) -> tuple[int, str]:
    """Return status and everything else of an answer; what the request did is undone."""
    cookies = client.cookies
    client.cookies = SimpleCookie({name: one.value for name, one in cookies.items()})
    options = {"content_type": JSON} if body is not None and address.startswith("/api/") else {}
    with transaction.atomic():
        response = getattr(client, method)(
            address, *([body] if body is not None else []), **options
        )
        shown = f"{response.headers}{response.cookies}"
        shown += b"".join(response).decode()
        response.close()
        transaction.set_rollback(True)
    client.cookies = cookies
    assert response.status_code < 500, (method, address, shown[-500:])
    return response.status_code, shown


def leaks(shown: str, reader: Tenant, asked: str) -> set[str]:
    """Return the canaries of others in an answer, without those that the reader has asked with."""
    others = {one for one in canaries(shown) if not one.startswith(f"{reader.word}-")}
    return others - canaries(asked)


def readable() -> list[str]:
    return [route for route, methods in {**PAGES, **API}.items() if "get" in methods]


def of_an_object(route: str) -> bool:
    return "<" in route or route.endswith(("/asked/", "/node/"))


def links(shown: str) -> set[str]:
    """Return the addresses of this installation in a page."""
    found = re.findall(r'(?:href|hx-get|action)="(/[^"#]*)', shown)
    return {html.unescape(one) for one in found if not one.startswith("/static/")}


def shape(address: str) -> tuple[str, tuple[str, ...]]:
    """Return what makes an address worth a request: its route, and the names in its query."""
    path, _, query = address.partition("?")
    names = sorted({one.partition("=")[0] for one in query.split("&")})
    return resolve(path).route, tuple(names)


def walk(client: Client, reader: Tenant) -> tuple[dict[str, set[str]], str]:
    """Read each page and list with the reader's own objects, and what they link to; return leaks and all texts.

    Of the addresses of one page that differ in the words of their query alone, one is read.
    """
    found: dict[str, set[str]] = {}
    texts = []
    own = [address_of(route, reader) for route in readable()]
    known: set[tuple[str, tuple[str, ...]]] = {shape(address) for address in own}
    linked: list[str] = []
    for address in chain(own, linked):
        _, shown = ask(client, "get", address)
        texts.append(shown)
        if bad := leaks(shown, reader, address):
            found[address] = bad
        for link in sorted(links(shown)) if address in own else ():
            if resolve(link.partition("?")[0]).route in readable() and shape(link) not in known:
                known.add(shape(link))
                linked.append(link)
    return found, "".join(texts)


@pytest.mark.parametrize("word", [FIRST, SECOND])
def test_pages_and_lists_contain_no_canary_of_another_tenant(
    tenants: Pair, clients: dict[str, Client], word: str
) -> None:
    reader = next(one for one in tenants if one.word == word)
    found, texts = walk(clients[word], reader)
    assert found == {}
    seen = {one for one in canaries(texts) if one.startswith(word)}
    missing = {one for one in planted() if one.startswith(f"{word}-")} - seen
    assert missing == {f"{word}-{field}" for field in NOT_SHOWN}, "a walk that misses a field"


WITHOUT_TENANTS = frozenset(
    {
        *("AuditHead", "FeedHead", "NotifyCursor", "Heartbeat", "Switch", "GroupRole"),
        *("Cluster", "Lease", "Chore", "Outage", "LeverRecord", "ClusterTrial"),
        *("ClusterCapacity", "NodeCapacity", "TrendPoint"),
        *("AccessToken", "SignInLink", "Attempts", "Grant", "BoardColumns", "RuleMark"),
    }
)
"""Tables of the installation, of a whole cluster, or without words that a tenant has chosen."""


def test_every_table_has_rows_of_both_tenants(tenants: Pair) -> None:
    empty = {
        model.__name__
        for model in apps.get_app_config("store").get_models()
        if not {FIRST, SECOND} <= {one[:3] for one in words_in(model)}
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
    reader, other = tenants
    found = {}
    for route, methods in {**PAGES, **API}.items():
        if not of_an_object(route):
            continue
        for method in methods:
            address, body = address_of(route, other), None if method == "get" else words_of(other)
            status, shown = ask(clients[FIRST], method, address, body)
            bad = leaks(shown, reader, f"{address} {body}")
            if bad or (
                method == "get" and status == 200 and methods[method] in ("place", "cluster")
            ):
                found[method, address] = (status, bad)
    assert found == {}


def test_hidden_and_missing_objects_look_the_same(
    tenants: Pair, clients: dict[str, Client]
) -> None:
    other = tenants[1]
    nothing = replace(other, parameters={**other.parameters, **NOTHING})
    found = {}
    for route, methods in API.items():
        if "<" in route:
            for method in methods:
                body = None if method == "get" else words_of(other)
                hidden = ask(clients[FIRST], method, address_of(route, other), body)
                missing = ask(clients[FIRST], method, address_of(route, nothing), body)
                if content(hidden) != content(missing):
                    found[method, route] = content(hidden), content(missing)
    assert found == {}


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
    """Return a body that names what the other one has."""
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
    reader, other = tenants
    found, exports = {}, set()
    for route, methods in {**PAGES, **API}.items():
        for method in set(methods) - {"get"}:
            address, body = address_of(route, reader), words_of(other)
            status, shown = ask(clients[FIRST], method, address, body)
            if bad := leaks(shown, reader, f"{address} {body}"):
                found[method, address] = bad
            if "export." in route and status == 200 and f"{FIRST}-ns" in shown:
                exports.add(route)
    assert found == {}
    assert exports == {route for route in PAGES if "export." in route}


def test_filters_orders_and_searches_reveal_no_other_tenant(
    tenants: Pair, clients: dict[str, Client]
) -> None:
    """Each choice of each list of the API, and words of the other one in each filter that takes a text."""
    reader, other = tenants
    asked = {
        "namespace": f"{other.word}-ns",
        "cluster": f"{SECOND}-cluster",
        "queue": f"{other.word}-localqueue",
        "code": f"{other.word}-code",
        "kind": f"{other.word}-kind",
        "actor": f"{other.word}-actor",
        "submitter": f"{other.word}-submitter",
        "label": f"{other.word}-labelkey={other.word}-labelvalue",
        "gang": other.parameters["<str:gang_id>"],
        "q": f"{other.word}-gang",
    }
    found = {}
    for path, parameter in list_parameters():
        choices = parameter["schema"].get("enum", ())
        for value in choices or [asked[one] for one in [parameter["name"]] if one in asked]:
            query = {parameter["name"]: value}
            status, shown = ask(clients[FIRST], "get", path, query)
            bad = leaks(shown, reader, str(query))
            has_rows = status == 200 and not choices and re.search(r'"results": ?\[\{', shown)
            if bad or (has_rows and path not in WITHOUT_NAMESPACES):
                found[path, parameter["name"], value] = bad, shown[-300:]
    for page in ("/", "/search/", "/find/", "/actions/", "/actions/audit/", "/holds/", "/groups/"):
        for name, value in asked.items():
            _, shown = ask(clients[FIRST], "get", page, {name: value})
            if bad := leaks(shown, reader, value):
                found[page, name, value] = bad, ""
    assert found == {}


WITHOUT_NAMESPACES: frozenset[str] = frozenset()
"""Lists whose rows belong to no namespace."""


def list_parameters() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the parameters in the query of each operation that has no parameter in its path."""
    document = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    for path, operations in document["paths"].items():
        if "get" in operations and "{" not in path:
            for parameter in operations["get"].get("parameters", ()):
                if parameter["in"] == "query":
                    yield path, parameter


def test_messages_contain_no_canary_of_another_tenant(tenants: Pair) -> None:
    post = Post(now=timezone.now())
    with transaction.atomic():
        orders = [*post.look(), *post.look(120)]
        transaction.set_rollback(True)
    told: dict[str, set[str]] = {FIRST: set(), SECOND: set()}
    for order in orders:
        (word,) = {one for one in told if f"{one}-address" in str(order["address"])}
        told[word] |= canaries(str(order))
    for word, found in told.items():
        assert {one for one in found if not one.startswith(f"{word}-")} == set()
        wanted = {"gang", "ns", "spanmessage", "gone", "actedjob", "actionmessage", "rule"}
        assert {f"{word}-{field}" for field in wanted} - found == set()


def test_names_of_another_tenant_are_redacted_from_a_verdict(
    tenants: Pair, clients: dict[str, Client]
) -> None:
    gang = tenants[0].parameters["<str:gang_id>"]
    _, shown = ask(clients[FIRST], "get", f"/api/v1/gangs/{gang}/")
    assert f"{FIRST}-message: a gang you may not see holds what it needs." in shown
    assert NOBODY not in shown
