"""What answers whom: every address of the project asks for sign-in, but for those that are listed here."""

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
"""Route → what an anonymous gets: answers of the view itself."""
METHOD = {"sign-in/link/": "post", "sign-out/": "post"}
API = "api/v1/"


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
PAGES = [route for route in ROUTES if route not in OPEN and not route.startswith(API)]


def test_what_is_open_is_there() -> None:
    assert set(OPEN) <= set(ROUTES)
    assert len(PAGES) > 25


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("route", PAGES)
def test_a_page_sends_an_anonymous_to_sign_in(anonymous: Client, route: str, method: str) -> None:
    response = getattr(anonymous, method)(address_of(route))
    assert response.status_code == 302
    assert response["Location"].split("?")[0] == "/sign-in/"


@pytest.mark.parametrize("route", [route for route in ROUTES if route.startswith(API)])
def test_the_api_answers_401(anonymous: Client, route: str) -> None:
    assert anonymous.get(address_of(route)).status_code == 401


@pytest.mark.parametrize("route", OPEN)
def test_what_is_open_answers_by_itself(anonymous: Client, route: str) -> None:
    response = getattr(anonymous, METHOD.get(route, "get"))(address_of(route))
    assert response.status_code == OPEN[route]
    assert "?next=" not in response.headers.get("Location", "")


def test_a_health_check_asks_no_database_who_asks(owner: Person) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert owner.client.get("/healthz").status_code == 200
    assert len(queries) == 0


def test_no_page_of_allauth_is_served() -> None:
    names = [
        pattern.name or "" for pattern in get_resolver().url_patterns if hasattr(pattern, "name")
    ]
    assert not [name for name in names if name.startswith(("account_", "socialaccount_", "openid"))]
    assert not [route for route in ROUTES if "signup" in route or "password" in route]
