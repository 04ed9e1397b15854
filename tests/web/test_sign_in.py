"""Signing in with a password, with a link, and out again."""

from __future__ import annotations

import re
from contextlib import ExitStack
from ipaddress import ip_network
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from gangboard.pages.core.password_throttle import MOST_OF_ONE, password_throttle
from gangboard.store import authentication
from tests.personas import PASSWORD, Person, make_owner

pytestmark = pytest.mark.django_db


def attempt(client: Client, password: str = PASSWORD, **fields: str) -> int:
    return client.post("/sign-in/", {"name": "olga", "password": password, **fields}).status_code


def test_the_right_password_signs_in(anonymous: Client) -> None:
    make_owner()
    response = anonymous.post(
        "/sign-in/", {"name": "olga", "password": PASSWORD, "next": "/clusters/"}
    )
    assert (response.status_code, response["Location"]) == (302, "/clusters/")
    assert anonymous.get("/clusters/").status_code == 200


def test_a_wrong_password_and_a_wrong_name_look_the_same(anonymous: Client) -> None:
    make_owner()
    wrong = anonymous.post("/sign-in/", {"name": "olga", "password": "wrong"})
    nobody = anonymous.post("/sign-in/", {"name": "nobody", "password": "wrong"})
    assert wrong.status_code == nobody.status_code == 403
    assert "password is wrong" in wrong.content.decode()
    assert "password is wrong" in nobody.content.decode()


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:x"])
def test_a_sign_in_never_redirects_to_another_host(anonymous: Client, target: str) -> None:
    make_owner()
    response = anonymous.post("/sign-in/", {"name": "olga", "password": PASSWORD, "next": target})
    assert response["Location"] == "/"


def test_attempts_are_limited(anonymous: Client) -> None:
    make_owner()
    statuses = [attempt(anonymous, "wrong") for _ in range(authentication.MOST_WRONG_PASSWORDS + 1)]
    assert statuses[-1] == 429
    response = anonymous.post("/sign-in/", {"name": "olga", "password": PASSWORD})
    assert response.status_code == 429, "also with the right password"
    assert int(response["Retry-After"]) > 0


def test_a_right_password_resets_the_count() -> None:
    make_owner()
    wrong = ["wrong"] * (authentication.MOST_WRONG_PASSWORDS - 1)
    statuses = [attempt(Client(), password) for password in [*wrong, PASSWORD, *wrong, PASSWORD]]
    assert statuses == [*[403] * len(wrong), 302] * 2


def test_a_name_has_one_limit_in_any_spelling(anonymous: Client) -> None:
    make_owner()
    # Full-width letters, which Unicode and Django take for the same name, and blanks around it.
    spellings = ("olga", "\uff4flga", "OLGA", " olga ")
    statuses = [
        anonymous.post(
            "/sign-in/", {"name": spellings[number % len(spellings)], "password": "wrong"}
        ).status_code
        for number in range(authentication.MOST_WRONG_PASSWORDS + 1)
    ]
    assert statuses == [403] * authentication.MOST_WRONG_PASSWORDS + [429]


@pytest.mark.parametrize("fields", [{}, {"name": "olga"}, {"password": "wrong"}, {"name": "o\0"}])
def test_an_empty_form_is_refused(anonymous: Client, fields: dict[str, str]) -> None:
    make_owner()
    response = anonymous.post("/sign-in/", fields)
    assert response.status_code == 403
    assert "password is wrong" in response.content.decode()


def lock_out(client: Client, name: str = "olga") -> None:
    """Submit wrong passwords until the account is locked."""
    for _ in range(authentication.MOST_WRONG_PASSWORDS):
        assert client.post("/sign-in/", {"name": name, "password": "wrong"}).status_code == 403
    assert client.post("/sign-in/", {"name": name, "password": "wrong"}).status_code == 429


def test_wrong_passwords_from_elsewhere_do_not_lock_out_the_user() -> None:
    make_owner()
    lock_out(Client(REMOTE_ADDR="203.0.113.9"))
    assert attempt(Client(REMOTE_ADDR="198.51.100.1")) == 302


def test_wrong_passwords_for_many_names_do_not_lock_out_the_address(anonymous: Client) -> None:
    make_owner()
    for number in range(60):
        anonymous.post("/sign-in/", {"name": f"u{number}", "password": "wrong"})
    assert attempt(anonymous) == 302


def test_clients_behind_a_trusted_proxy_are_counted_separately(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_owner()
    monkeypatch.setattr(settings, "TRUSTED_PROXIES", (ip_network("127.0.0.1"),))
    lock_out(Client(headers={"X-Forwarded-For": "1.1.1.1, 203.0.113.9"}))
    assert attempt(Client(headers={"X-Forwarded-For": "203.0.113.9"})) == 429
    assert attempt(Client(headers={"X-Forwarded-For": "198.51.100.1"})) == 302


def test_a_forged_header_does_not_escape_the_limit() -> None:
    make_owner()
    statuses = {
        attempt(Client(headers={"X-Forwarded-For": f"203.0.113.{number}"}), "wrong")
        for number in range(authentication.MOST_WRONG_PASSWORDS + 1)
    }
    assert statuses == {403, 429}


def test_an_ipv6_64_prefix_counts_as_one_client() -> None:
    make_owner()
    lock_out(Client(REMOTE_ADDR="2001:db8:0:1::1"))
    assert attempt(Client(REMOTE_ADDR="2001:db8:0:1:ffff::2")) == 429
    assert attempt(Client(REMOTE_ADDR="2001:db8:0:2::1")) == 302


def test_a_session_or_link_is_never_locked_out(owner: Person) -> None:
    lock_out(Client())
    assert owner.client.get("/").status_code == 200, "who is signed in stays"
    assert attempt(owner.client) == 302, "and may type the password again"
    assert attempt(Client()) == 429
    _, secret = link_of(owner)
    assert use(Client(), secret).status_code == 302


def test_attempts_of_a_signed_in_user_are_limited(owner: Person) -> None:
    lock_out(owner.client)
    assert attempt(Client()) == 302, "and they lock out nobody else"


def test_passwords_are_checked_only_within_the_limit(
    anonymous: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_owner()
    monkeypatch.setattr("gangboard.pages.core.password_throttle.PATIENCE", 0.01)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("a password was looked at without a slot")

    with ExitStack() as held:
        for _ in range(MOST_OF_ONE):
            assert held.enter_context(password_throttle.slot("127.0.0.1"))
        with monkeypatch.context() as patched:
            patched.setattr("django.contrib.auth.forms.authenticate", never)
            response = anonymous.post("/sign-in/", {"name": "olga", "password": PASSWORD})
        assert response.status_code == 503
        assert int(response["Retry-After"]) > 0
        assert attempt(Client(REMOTE_ADDR="198.51.100.1")) == 302
    assert attempt(anonymous) == 302


def link_of(person: Person) -> tuple[str, str]:
    """Return the address of a new link and the secret in it."""
    secret = authentication.create_sign_in_link(user=person.user)
    return f"/sign-in/link/{secret}/", secret


def use(client: Client, secret: str) -> Any:
    """Press the button on the page of a link."""
    return client.post("/sign-in/link/", {"secret": secret})


@pytest.mark.parametrize("method", ["get", "head", "options"])
def test_opening_a_link_page_does_not_use_the_link(anonymous: Client, method: str) -> None:
    address, secret = link_of(make_owner())
    for _ in range(2):  # a chat's preview, then a mail filter
        getattr(Client(), method)(address)
    response = anonymous.get(address)
    assert response.status_code == 200
    page = response.content.decode()
    assert "olga" in page
    assert "testserver" in page
    assert anonymous.get("/").status_code == 302, "nobody is signed in yet"
    used = use(anonymous, secret)
    assert (used.status_code, used["Location"]) == (302, "/")
    assert anonymous.get("/").status_code == 200


def test_a_link_signs_in_once(anonymous: Client) -> None:
    address, secret = link_of(make_owner())
    assert use(anonymous, secret).status_code == 302
    for repeated in (Client().get(address), use(Client(), secret)):
        assert repeated.status_code == 403
        assert "does not work any more" in repeated.content.decode()


def test_a_signed_in_user_is_warned_before_a_link_switches_accounts(owner: Person) -> None:
    mallory = make_owner("mallory")
    address, secret = link_of(mallory)
    page = owner.client.get(address).content.decode()
    assert "This browser is signed in as olga" in page
    assert "olga" in owner.client.get("/").content.decode(), "looking moved nobody"
    assert use(owner.client, secret).status_code == 302
    page = owner.client.get("/").content.decode()
    assert "mallory" in page


def test_the_user_of_a_link_is_not_warned(owner: Person) -> None:
    address, _ = link_of(owner)
    assert "This browser is signed in as" not in owner.client.get(address).content.decode()


def test_a_link_needs_the_csrf_token() -> None:
    client = Client(enforce_csrf_checks=True)
    address, secret = link_of(make_owner())
    assert use(client, secret).status_code == 403
    page = client.get(address).content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token is not None
    response = client.post(
        "/sign-in/link/", {"secret": secret, "csrfmiddlewaretoken": token.group(1)}
    )
    assert response.status_code == 302


def test_the_secret_of_a_link_is_not_leaked(caplog: pytest.LogCaptureFixture) -> None:
    address, secret = link_of(make_owner())
    client = Client(enforce_csrf_checks=True)
    response = client.get(address)
    assert response["Cache-Control"] == "no-store"
    # The origin is sent, which the check of forms needs, the path never.
    assert response["Referrer-Policy"] == "strict-origin"
    # A refused form logs its address, so the secret is in the body.
    assert 'action="/sign-in/link/"' in response.content.decode()
    assert use(client, secret).status_code == 403
    messages = [record.getMessage() for record in caplog.records]
    assert any("/sign-in/link/" in text for text in messages)
    assert not any(secret in text for text in messages)


def test_an_unknown_link_is_refused(anonymous: Client) -> None:
    assert anonymous.get("/sign-in/link/x/").status_code == 403
    assert use(anonymous, "x").status_code == 403
    assert use(anonymous, "").status_code == 403
    assert anonymous.get("/").status_code == 302


def test_signing_out_needs_a_form_and_ends_the_session(owner: Person) -> None:
    assert owner.client.get("/sign-out/").status_code == 405
    assert owner.client.post("/sign-out/")["Location"] == "/sign-in/"
    assert owner.client.post("/sign-out/")["Location"] == "/sign-in/", "also once more"
    assert owner.client.get("/").status_code == 302


def test_forms_of_other_sites_are_refused() -> None:
    client = Client(enforce_csrf_checks=True)
    User.objects.create_user("olga", password=PASSWORD)
    response = client.post("/sign-in/", {"name": "olga", "password": PASSWORD})
    assert response.status_code == 403
    assert "too old" in response.content.decode()
    assert "Content-Security-Policy" in response.headers
