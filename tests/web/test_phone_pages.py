"""Long lists have 25 rows on a phone."""

from __future__ import annotations

import html
import re

import pytest

from gangboard.pages.core.pagination import PAGE_SIZE, PHONE_PAGE_SIZE
from tests.factories import make_cluster, make_gang
from tests.personas import Person

ANDROID = "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148 Safari/604.1"
LAPTOP = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"


@pytest.fixture(autouse=True)
def gangs(owner: Person) -> None:
    cluster = make_cluster("long")
    for number in range(PHONE_PAGE_SIZE + 5):
        make_gang(cluster, name=f"gang-{number:02}")


def board(owner: Person, agent: str, path: str = "/?cluster=long") -> str:
    return owner.client.get(path, headers={"user-agent": agent}).content.decode()


def names(page: str) -> list[str]:
    return re.findall(r'data-name="([^"]+)"', page)


@pytest.mark.parametrize("agent", [ANDROID, IPHONE])
def test_a_phone_gets_the_list_in_pages_of_25(owner: Person, agent: str) -> None:
    first = board(owner, agent)
    (link,) = re.findall(r'<a href="([^"]+)" rel="next">', first)
    second = board(owner, agent, html.unescape(link))
    assert (len(names(first)), len(names(second))) == (PHONE_PAGE_SIZE, 5)
    assert not set(names(first)) & set(names(second))


def test_other_browsers_get_the_whole_list(owner: Person) -> None:
    page = board(owner, LAPTOP)
    assert len(names(page)) == PHONE_PAGE_SIZE + 5 < PAGE_SIZE
    assert 'rel="next"' not in page


def live_address(page: str) -> str:
    (address,) = re.findall(r'hx-get="(/live/[^"]+)"', page)
    return html.unescape(address)


def test_updates_on_a_phone_cover_its_page(owner: Person) -> None:
    """The answers are kept by their address, so a phone has one of its own."""
    phone, laptop = live_address(board(owner, ANDROID)), live_address(board(owner, LAPTOP))
    assert phone != laptop
    for _ in range(2):
        assert len(set(names(board(owner, LAPTOP, phone)))) == PHONE_PAGE_SIZE
        assert len(set(names(board(owner, ANDROID, laptop)))) == PHONE_PAGE_SIZE + 5
