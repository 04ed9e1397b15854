"""Every address by who asks and by method, against the table of `access_table`. A new address needs a row there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from http.cookies import SimpleCookie
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone

from gangboard.store import authentication, group_roles
from gangboard.store.models import (
    AccessToken,
    Channel,
    Cluster,
    Gang,
    Grant,
    Rule,
    SessionRecord,
)
from gangboard.store.sessions import begin_session
from tests.domain_objects import a_node, a_queue
from tests.factories import (
    make_cluster,
    make_heartbeats,
    make_podgroup,
    make_resource,
    store_object,
)
from tests.readmodels.room import make_node
from tests.recorded_actions import make_action
from tests.stored_queues import serve, store
from tests.web.access_table import API, PAGES
from tests.web.acting import make_acting_cluster, make_run
from tests.web.test_open_addresses import OPEN, routes

pytestmark = pytest.mark.django_db

HOME, FOREIGN = "research", "vision"
METHODS = ("get", "head", "post", "put", "patch", "delete")
JSON = "application/json"
IN = "in"
"""Statuses of requests that reached the view, with accepted or refused content."""
OUT = frozenset({"401", "403", "404", "405"})
OF_A_NAMESPACE = [
    (route, method)
    for route, methods in {**PAGES, **API}.items()
    for method, word in methods.items()
    if word in ("place", "operate", "logs")
]
"""Sent again about objects of another namespace, by people who have rights in only one."""
OF_ONE_NAMESPACE = ("viewer", "operator", "log reader")
ROLES: dict[str, tuple[str, str | None, str] | None] = {
    "stranger": None,
    "viewer": ("viewer", "eu-train", HOME),
    "operator": ("operator", "eu-train", HOME),
    "log reader": ("logs", "eu-train", HOME),
    "cluster viewer": ("viewer", "eu-train", ""),
    "admin": ("admin", None, ""),
}
SEES: dict[str, frozenset[str]] = {
    "anyone": frozenset(ROLES),
    "part": frozenset({"viewer", "operator", "log reader", "cluster viewer", "admin"}),
    "place": frozenset({"viewer", "operator", "log reader", "cluster viewer", "admin"}),
    "cluster": frozenset({"cluster viewer", "admin"}),
    "admin": frozenset({"admin"}),
    "nobody": frozenset(),
    "operate": frozenset({"operator", "admin"}),
    "logs": frozenset({"log reader"}),
}
TOKENS = {"reading token": "admin", "acting token": "operator"}
"""Token → whose it is."""
SIGNED_OUT = ("anonymous", "disabled", "expired token")
EVERYBODY = (*SIGNED_OUT, *ROLES, *TOKENS)


@dataclass(frozen=True)
class Place:
    """Objects of one namespace, by the parameters of routes."""

    gang: Gang
    parameters: dict[str, str]


@dataclass(frozen=True)
class World:
    """Objects in the operator's namespace and in another one."""

    home: Place
    foreign: Place

    def addresses(self, route: str, place: Place) -> str:
        """Return the address of an object of the place."""
        parameters = dict(place.parameters)
        if "nodes/<" in route or "queues/<" in route:
            parameters["<str:name>"] = "node-a" if "nodes/" in route else "gpu"
        if "users/<" in route or "people/<" in route:
            parameters["<str:name>"] = "vera"
        address = route
        for parameter, value in parameters.items():
            address = address.replace(parameter, value)
        assert "<" not in address, f"the test knows no object for {route}"
        return f"/{address}"


def make_place(cluster: Cluster, namespace: str) -> Place:
    now = timezone.now()
    gang = make_run(cluster, f"run-{namespace}", now=now, namespace=namespace)
    group = make_podgroup(cluster, f"group-{namespace}", namespace=namespace, now=now)
    batch = f"{namespace:b<32}"
    action = make_action(cluster, namespace=namespace, gang_id=gang.pk, batch=batch)
    return Place(
        gang,
        {
            "<str:gang_id>": gang.pk,
            "<str:group_id>": f"{cluster.name}~{group.meta.ref.uid}",
            "<str:action_id>": action.pk,
            "<str:batch>": batch,
        },
    )


@pytest.fixture(autouse=True)
def shown_logs(settings: Any) -> None:
    settings.LOGS = True


@pytest.fixture
def world(db: None) -> World:
    """Two namespaces of a cluster with the same things in both; a node and a queue; a person and their token."""
    now = timezone.now()
    make_heartbeats(now=now)
    cluster = make_acting_cluster(now=now)
    make_cluster("us-train", now=now)
    for resource in ("pods", "nodes"):
        make_resource(cluster, resource)
    serve(cluster)
    store(cluster, a_queue("gpu"))
    make_node(cluster, "node-a")
    store_object(cluster, "nodes", a_node("node-a"))
    vera = User.objects.create_user("vera")
    signed_in(vera)
    group_roles.grant_group(group="ml", role="viewer")
    (role,) = group_roles.list_group_roles()
    shared = {
        "<str:cluster>": "eu-train",
        "<str:name>": "eu-train",
        "<str:token_id>": authentication.issue_token(user=vera).rpartition("_")[0],
        "<int:role_id>": str(role.id),
        "<int:session_id>": str(SessionRecord.objects.get(user=vera).pk),
        "<str:resource>": "gangs",
        "<str:view_id>": "1",
        "<str:trial_id>": "0" * 32,
        "<str:check_id>": "0" * 32,
        "<str:channel_id>": str(
            Channel.objects.create(name="room", kind="webhook", created_at=now).pk
        ),
        "<str:rule_id>": str(
            Rule.objects.create(name="mine", owner=vera, trigger="changes", created_at=now).pk
        ),
        "<str:ending>": "csv",
        "<str:secret>": "none",
        "<path:rest>": "nowhere",
    }
    places = [make_place(cluster, namespace) for namespace in (HOME, FOREIGN)]
    for place in places:
        place.parameters.update(shared)
    return World(*places)


def signed_in(user: User) -> Client:
    """Return a browser in which a person has signed in just now."""
    client = Client()
    client.force_login(user)
    session = client.session
    begin_session(session, user=user, method="password", address="127.0.0.1")
    return client


def client_of(who: str) -> Client:
    """Return the browser or the program of one of EVERYBODY."""
    if who == "anonymous":
        return Client()
    user = User.objects.create_user(who.replace(" ", "-"))
    grant = ROLES.get(TOKENS.get(who, who), ROLES["admin"])
    if grant is not None:
        role, cluster_name, namespace = grant
        cluster = Cluster.objects.get(name=cluster_name) if cluster_name else None
        Grant.objects.create(user=user, role=role, cluster=cluster, namespace=namespace)
    if "token" in who:
        token = authentication.issue_token(user=user, may_act=who != "reading token")
        if who == "expired token":
            AccessToken.objects.filter(user=user).update(expires_at=timezone.now() - timedelta(1))
        return Client(headers={"Authorization": f"Bearer {token}"})
    client = signed_in(user)
    if who == "disabled":
        User.objects.filter(pk=user.pk).update(is_active=False)
    return client


def expected(who: str, route: str, method: str, *, foreign: bool = False) -> str:
    """Return the expected result of the table, which is `sign-in`, IN or a status."""
    is_api = route in API
    if who in SIGNED_OUT or (not is_api and who in TOKENS):
        return "401" if is_api else "sign-in"
    methods = (API if is_api else PAGES)[route]
    # An open page that waits for news has no HEAD.
    rule = methods.get("get" if method == "head" and not route.startswith("live/") else method)
    if rule is None:
        return "405"
    rule, _, session = rule.partition(" ")
    role = TOKENS.get(who, who)
    if foreign and rule in ("place", "operate", "logs") and role in OF_ONE_NAMESPACE:
        return "404"
    if rule == "operate":
        return _operate(who, role)
    if rule == "logs":
        return "404" if role == "stranger" else IN if role in SEES[rule] else "403"
    if rule == "manage":
        return IN if who == "admin" else "403"
    if rule == "another":
        return "404" if who == "admin" else "403"
    if rule in ("change", "owner"):
        allowed = rule == "change" or role == "admin"
        return "403" if who == "reading token" else IN if allowed else "404"
    if session and who in TOKENS and (role in SEES[rule] or rule == "nobody"):
        return "403"
    return IN if role in SEES[rule] else "404"


def _operate(who: str, role: str) -> str:
    if role == "stranger":
        return "404"
    return IN if role in SEES["operate"] and who != "reading token" else "403"


def outcome(response: Any) -> str:
    """Return the result of an answer in the terms of `expected`."""
    status = response.status_code
    assert status < 500, status
    if response.headers.get("HX-Refresh"):
        return "404"  # an open page whose object is gone or hidden is loaded again as a whole
    if status == 302 and response["Location"].startswith("/sign-in/"):
        return "sign-in"
    return str(status) if str(status) in OUT else IN


def query_of(route: str, place: Place) -> str:
    """Return the query of pages that take their objects from the query."""
    if route in ("actions/node/", "live/node/"):
        return "?cluster=eu-train&node=node-a"
    return f"?batch={place.parameters['<str:batch>']}" if route == "live/asked/" else ""


def body_of(route: str, place: Place) -> dict[str, Any]:
    """Return the body of a request; an empty one where its content does not matter."""
    if route.endswith("/mute/"):
        return {"hours": 1}
    if not route.startswith("api/v1/actions"):
        return {}
    gang = place.gang
    target = {
        "cluster": "eu-train",
        "api_group": gang.api_group,
        "kind": gang.kind,
        "namespace": gang.namespace,
        "name": gang.name,
        "uid": gang.uid,
    }
    return {"verb": "suspend", "target": target, "reason": "a drill"}


def send_request(client: Client, world: World, route: str, method: str, place: Place) -> str:
    """Send a request and roll back its changes."""
    address, cookies = world.addresses(route, place), client.cookies
    client.cookies = SimpleCookie({name: item.value for name, item in cookies.items()})
    address += query_of(route, place)
    with transaction.atomic():
        if route in API and method in ("post", "patch"):
            body = body_of(route, place)
            answer = getattr(client, method)(address, body, content_type=JSON)
        else:
            answer = getattr(client, method)(address)
        result = outcome(answer)
        answer.close()  # an unread file keeps its export slot
        transaction.set_rollback(True)
    client.cookies = cookies
    return result


def sent_requests(who: str) -> Iterator[tuple[str, str]]:
    """Yield routes and methods. Methods that no row has are tried by one person and by one program."""
    for route in (*PAGES, *API):
        known = (API if route in API else PAGES)[route]
        for method in METHODS:
            if method in known or who in ("stranger", "acting token", "anonymous"):
                yield route, method


def test_every_address_has_a_row() -> None:
    result = set(routes(get_resolver()))
    rows = set(OPEN) | set(PAGES) | set(API)
    assert result - rows == set(), "write these into access_table"
    assert rows - result == set(), "these are no addresses any more"


@pytest.mark.parametrize("user", EVERYBODY)
def test_each_address_answers_as_the_table_lists(world: World, user: str) -> None:
    client = client_of(user)
    requests = [(route, method, world.home) for route, method in sent_requests(user)]
    if TOKENS.get(user, user) in OF_ONE_NAMESPACE:
        requests += [(route, method, world.foreign) for route, method in OF_A_NAMESPACE]
    wrong = []
    for route, method, place in requests:
        expected_result = expected(user, route, method, foreign=place is world.foreign)
        result = send_request(client, world, route, method, place)
        if result != expected_result:
            wrong.append(
                f"{method} {world.addresses(route, place)}: {result}, not {expected_result}"
            )
    assert not wrong, "\n".join(wrong)
