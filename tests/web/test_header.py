"""The header: who is signed in with which rights, also where there is no page."""

from __future__ import annotations

import re

from django.test import Client

from tests.personas import Person
from tests.web.conftest import World


def _header(client: Client, path: str) -> str:
    page = client.get(path).content.decode()
    match = re.search(r'<header class="top">.*?</header>', page, re.S)
    return match[0] if match else ""


def _rights(header: str) -> list[str]:
    menu = re.search(r'<details class="menu person-menu">.*?</details>', header, re.S)
    return re.findall(r"<li>([^<]*)</li>", menu[0]) if menu else []


def test_the_user_menu_lists_the_roles(owner: Person, reader: Person, world: World) -> None:
    (line,) = _rights(_header(owner.client, "/"))
    assert line == "May see everything, may act and administer."
    (line,) = _rights(_header(reader.client, "/"))
    assert line == "May see research on eu-train, may not act."


def test_a_user_without_roles_reads_that(stranger: Person, world: World) -> None:
    assert _rights(_header(stranger.client, "/")) == ["No role yet: ask an admin for one."]


def test_a_404_page_has_the_usual_header(owner: Person, world: World) -> None:
    missing = owner.client.get("/no-such-page/")
    assert missing.status_code == 404
    result, expected = _header(owner.client, "/no-such-page/"), _header(owner.client, "/")
    links = re.findall(r'href="([^"]+)"', result)
    assert links == re.findall(r'href="([^"]+)"', expected)
    assert "/clusters/eu-train/" in links
    assert "aria-current" not in result
    assert 'action="/sign-out/"' in result


def test_an_anonymous_404_page_has_no_menu(anonymous: Client, world: World) -> None:
    response = anonymous.get("/no-such-page/")
    assert response.status_code in (302, 404)
    assert "<nav" not in response.content.decode()
