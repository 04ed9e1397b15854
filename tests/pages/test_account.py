"""One's own account: roles, tokens and views, on the page and by the API."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from gangboard.pages.account.tokens import MOST_TOKENS
from gangboard.store import authentication, board_choices
from gangboard.store.models import AccessToken, AuditEntry
from tests.personas import Person

TOKEN = re.compile(r"gb_[0-9a-f]{16}_[0-9a-f]{64}")


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def make_token(person: Person, **body: object) -> str:
    response = person.client.post("/api/v1/me/tokens/", body, content_type="application/json")
    assert response.status_code == 201, response.content
    return str(response.json()["token"])


def test_me_says_who_sends_the_request(reader: Person) -> None:
    me = reader.client.get("/api/v1/me/").json()
    assert me["name"] == "rene"
    assert me["roles"] == [{"role": "viewer", "cluster": "eu-train", "namespace": "research"}]
    assert (me["token"], me["may_act"]) == (None, False)
    assert len(me["rights"]) == 1


def test_a_new_token_is_shown_once_and_works(owner: Person) -> None:
    page = owner.client.post("/account/tokens/", {"days": "7", "may_act": "on"})
    (token,) = set(TOKEN.findall(page.content.decode()))
    me = Client().get("/api/v1/me/", headers=bearer(token)).json()
    assert (me["name"], me["may_act"]) == ("olga", True)
    assert me["token"] == token.rpartition("_")[0]
    assert not TOKEN.search(owner.client.get("/account/").content.decode())
    assert me["token"] in owner.client.get("/account/").content.decode()
    assert AuditEntry.objects.filter(event="token-made").count() == 1


def test_a_revoked_token_is_refused(owner: Person) -> None:
    token = make_token(owner)
    public = token.rpartition("_")[0]
    assert owner.client.delete(f"/api/v1/me/tokens/{public}/").status_code == 204
    assert Client().get("/api/v1/me/", headers=bearer(token)).status_code == 401
    other = make_token(owner).rpartition("_")[0]
    response = owner.client.post(f"/account/tokens/{other}/revoke/")
    assert (response.status_code, response["Location"]) == (303, "/account/#tokens")
    assert not AccessToken.objects.exists()


def test_nobody_revokes_the_token_of_somebody_else(owner: Person, reader: Person) -> None:
    public = make_token(owner).rpartition("_")[0]
    assert reader.client.delete(f"/api/v1/me/tokens/{public}/").status_code == 404
    assert reader.client.post(f"/account/tokens/{public}/revoke/").status_code == 404
    assert reader.client.get("/api/v1/me/tokens/").json()["results"] == []
    assert AccessToken.objects.count() == 1


def test_a_token_makes_and_revokes_no_token(owner: Person) -> None:
    token = make_token(owner, may_act=True)
    public = token.rpartition("_")[0]
    robot = Client(headers=bearer(token))
    made = robot.post("/api/v1/me/tokens/", {}, content_type="application/json")
    assert (made.status_code, robot.delete(f"/api/v1/me/tokens/{public}/").status_code) == (
        403,
        403,
    )
    assert AccessToken.objects.count() == 1


def test_a_viewer_gets_no_token_that_acts(reader: Person) -> None:
    body = {"may_act": True}
    response = reader.client.post("/api/v1/me/tokens/", body, content_type="application/json")
    assert response.status_code == 409
    assert reader.client.post("/account/tokens/", {"days": "7", "may_act": "on"}).status_code == 409
    assert not AccessToken.objects.exists()


@pytest.mark.parametrize("days", ["0", "367", "x", ""])
def test_a_wrong_number_of_days_is_said_at_its_field(owner: Person, days: str) -> None:
    response = owner.client.post("/account/tokens/", {"days": days})
    assert response.status_code == 400
    assert 'aria-invalid="true"' in response.content.decode()
    body = {"days": days}
    response = owner.client.post("/api/v1/me/tokens/", body, content_type="application/json")
    assert response.status_code == 400
    assert set(response.json()["errors"]) == {"days"}


def test_a_person_has_a_bounded_number_of_tokens(owner: Person) -> None:
    for _ in range(MOST_TOKENS):
        authentication.issue_token(user=owner.user)
    response = owner.client.post("/api/v1/me/tokens/", {}, content_type="application/json")
    assert response.status_code == 409


def test_views_of_the_board_are_listed_and_removed(owner: Person, reader: Person) -> None:
    board_choices.save_view(owner.user.pk, "mine", "health=blocked")
    board_choices.save_view(reader.user.pk, "theirs", "")
    page = owner.client.get("/account/").content.decode()
    assert 'href="/?health=blocked"' in page
    assert "theirs" not in page
    (view,) = board_choices.read_views(owner.user.pk)
    owner.client.post(f"/account/views/{view.id}/remove/")
    assert board_choices.read_views(owner.user.pk) == ()
    assert len(board_choices.read_views(reader.user.pk)) == 1


def test_the_account_is_for_who_has_signed_in(anonymous: Client, stranger: Person) -> None:
    assert anonymous.get("/account/").status_code == 302
    assert anonymous.get("/api/v1/me/").status_code == 401
    page = stranger.client.get("/account/")
    assert page.status_code == 200
    assert stranger.client.get("/api/v1/me/").json()["roles"] == []


def test_the_name_in_the_header_leads_to_the_account(reader: Person) -> None:
    assert '<li><a href="/account/">' in reader.client.get("/").content.decode()
