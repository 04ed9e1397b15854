"""Addresses without sign-in. All others need one (`test_access_matrix`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver

from tests.personas import Person

pytestmark = pytest.mark.django_db

OPEN = {
    "healthz": 200,
    "readyz": 200,
    "metrics": 403,  # it has a token of its own
    "sign-in/": 200,
    "sign-in/link/": 403,
    "sign-in/link/<str:secret>/": 403,
    "sign-in/provider/": 404,  # no identity provider is set
    "sign-in/provider/callback/": 404,
    "sign-out/": 302,
}
"""Route → status for an anonymous request, answered by the view itself."""
METHOD = {"sign-in/link/": "post", "sign-out/": "post"}


def routes(resolver: URLResolver, before: str = "") -> Iterator[str]:
    """Return every route below a resolver."""
    for pattern in resolver.url_patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield route
        else:
            yield from routes(pattern, route)


def address_of(route: str) -> str:
    """Return an address that leads to a route."""
    return "/" + re.sub(r"<\w+:\w+>", "x", route)


ROUTES = sorted(routes(get_resolver()))


def test_open_addresses_exist() -> None:
    assert set(OPEN) <= set(ROUTES)


@pytest.mark.parametrize("route", OPEN)
def test_open_addresses_answer_anonymous_requests(anonymous: Client, route: str) -> None:
    response = getattr(anonymous, METHOD.get(route, "get"))(address_of(route))
    assert response.status_code == OPEN[route]
    assert "?next=" not in response.headers.get("Location", "")


def test_a_health_check_makes_no_queries(owner: Person) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert owner.client.get("/healthz").status_code == 200
    assert len(queries) == 0


def test_allauth_pages_are_not_served() -> None:
    names = [
        pattern.name or "" for pattern in get_resolver().url_patterns if hasattr(pattern, "name")
    ]
    assert not [name for name in names if name.startswith(("account_", "socialaccount_", "openid"))]
    ours = {"account/password/"}
    assert not [
        route
        for route in ROUTES
        if route not in ours and ("signup" in route or "password" in route)
    ]
