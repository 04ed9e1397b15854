"""Signing in with a password, with a link, and out again."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from gangboard.store import people
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
    assert "do not belong together" in wrong.content.decode()
    assert "do not belong together" in nobody.content.decode()


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:x"])
def test_nobody_is_sent_elsewhere_after_it(anonymous: Client, target: str) -> None:
    make_owner()
    response = anonymous.post("/sign-in/", {"name": "olga", "password": PASSWORD, "next": target})
    assert response["Location"] == "/"


def test_attempts_are_limited(anonymous: Client) -> None:
    make_owner()
    statuses = [attempt(anonymous, "wrong") for _ in range(people.ATTEMPTS_PER_NAME + 1)]
    assert statuses[-1] == 429
    response = anonymous.post("/sign-in/", {"name": "olga", "password": PASSWORD})
    assert response.status_code == 429, "also with the right password"
    assert int(response["Retry-After"]) > 0


def test_a_link_signs_in_once(anonymous: Client) -> None:
    person = make_owner()
    address = f"/sign-in/link/{people.create_sign_in_link(user=person.user)}/"
    response = anonymous.get(address)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert anonymous.get("/").status_code == 200
    again = Client().get(address)
    assert again.status_code == 403
    assert "does not work any more" in again.content.decode()


def test_an_unknown_link_signs_nobody_in(anonymous: Client) -> None:
    assert anonymous.get("/sign-in/link/x/").status_code == 403
    assert anonymous.get("/").status_code == 302


def test_signing_out_needs_a_form_and_ends_the_session(owner: Person) -> None:
    assert owner.client.get("/sign-out/").status_code == 405
    assert owner.client.post("/sign-out/")["Location"] == "/sign-in/"
    assert owner.client.get("/").status_code == 302


def test_forms_of_other_sites_are_refused() -> None:
    client = Client(enforce_csrf_checks=True)
    User.objects.create_user("olga", password=PASSWORD)
    response = client.post("/sign-in/", {"name": "olga", "password": PASSWORD})
    assert response.status_code == 403
    assert "too old" in response.content.decode()
    assert "Content-Security-Policy" in response.headers
