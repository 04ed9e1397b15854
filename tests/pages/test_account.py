"""The viewer's own account: roles, tokens and views, on the page and in the API."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.test import Client

from gangboard.pages.account.changes import MOST_TOKENS
from gangboard.store import authentication, board_preferences
from gangboard.store.models import AccessToken, AuditEntry, Identity
from tests.personas import PASSWORD, Person

TOKEN = re.compile(r"gb_[0-9a-f]{16}_[0-9a-f]{64}")


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def make_token(person: Person, **body: object) -> str:
    response = person.client.post("/api/v1/me/tokens/", body, content_type="application/json")
    assert response.status_code == 201, response.content
    return str(response.json()["token"])


def test_me_returns_the_current_user(reader: Person) -> None:
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
    another = make_token(owner).rpartition("_")[0]
    response = owner.client.post(f"/account/tokens/{another}/revoke/")
    assert (response.status_code, response["Location"]) == (303, "/account/#tokens")
    assert not AccessToken.objects.exists()


def test_a_user_cannot_revoke_another_users_token(owner: Person, reader: Person) -> None:
    public = make_token(owner).rpartition("_")[0]
    assert reader.client.delete(f"/api/v1/me/tokens/{public}/").status_code == 404
    assert reader.client.post(f"/account/tokens/{public}/revoke/").status_code == 404
    assert reader.client.get("/api/v1/me/tokens/").json()["results"] == []
    assert AccessToken.objects.count() == 1


def test_a_token_cannot_create_or_revoke_tokens(owner: Person) -> None:
    token = make_token(owner, may_act=True)
    public = token.rpartition("_")[0]
    robot = Client(headers=bearer(token))
    created = robot.post("/api/v1/me/tokens/", {}, content_type="application/json")
    assert (created.status_code, robot.delete(f"/api/v1/me/tokens/{public}/").status_code) == (
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
def test_an_invalid_number_of_days_is_a_field_error(owner: Person, days: str) -> None:
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
    board_preferences.save_view(owner.user.pk, "mine", "health=blocked")
    board_preferences.save_view(reader.user.pk, "theirs", "")
    page = owner.client.get("/account/").content.decode()
    assert 'href="/?health=blocked"' in page
    assert "theirs" not in page
    (view,) = board_preferences.read_views(owner.user.pk)
    owner.client.post(f"/account/views/{view.id}/remove/")
    assert board_preferences.read_views(owner.user.pk) == ()
    assert len(board_preferences.read_views(reader.user.pk)) == 1


def test_the_account_page_needs_a_sign_in(anonymous: Client, stranger: Person) -> None:
    assert anonymous.get("/account/").status_code == 302
    assert anonymous.get("/api/v1/me/").status_code == 401
    page = stranger.client.get("/account/")
    assert page.status_code == 200
    assert stranger.client.get("/api/v1/me/").json()["roles"] == []


def test_the_name_in_the_header_leads_to_the_account(reader: Person) -> None:
    assert '<li><a href="/account/">' in reader.client.get("/").content.decode()


# --- sessions and password

NEW = "another correct horse battery"


def sign_in(name: str, password: str = PASSWORD) -> Client:
    """Return a browser in which a person has signed in by password."""
    client = Client()
    assert client.post("/sign-in/", {"name": name, "password": password}).status_code == 302
    return client


def test_own_sessions_are_listed_and_ended(owner: Person, reader: Person) -> None:
    own_session, other_session, third = sign_in("olga"), sign_in("olga"), sign_in("olga")
    theirs = sign_in("rene")
    rows = own_session.get("/api/v1/me/sessions/").json()["results"]
    assert [row["is_current"] for row in rows].count(True) == 1
    assert {(row["owner"], row["method"], row["address"]) for row in rows} == {
        ("olga", "password", "127.0.0.1")
    }
    ids = [row["id"] for row in other_session.get("/api/v1/me/sessions/").json()["results"]]
    (own,) = (
        row["id"]
        for row in third.get("/api/v1/me/sessions/").json()["results"]
        if row["is_current"]
    )
    assert len(ids) == 3
    assert theirs.delete(f"/api/v1/me/sessions/{own}/").status_code == 404
    assert theirs.post(f"/account/sessions/{own}/end/").status_code == 404
    assert own_session.post(f"/account/sessions/{own}/end/")["Location"] == "/account/#sessions"
    assert third.get("/account/").status_code == 302
    assert "End all other sessions" in own_session.get("/account/").content.decode()
    assert own_session.post("/account/sessions/end-others/").status_code == 303
    assert "End all other sessions" not in own_session.get("/account/").content.decode()
    assert other_session.get("/account/").status_code == 302
    assert theirs.get("/account/").status_code == 200
    assert AuditEntry.objects.filter(event="sessions-ended", actor_name="olga").count() == 2


def test_the_api_ends_other_sessions(owner: Person) -> None:
    own_session, other_session = sign_in("olga"), sign_in("olga")
    robot = Client(headers=bearer(authentication.issue_token(user=owner.user, may_act=True)))
    assert robot.delete("/api/v1/me/sessions/").status_code == 403
    assert own_session.delete("/api/v1/me/sessions/").status_code == 204
    assert other_session.get("/account/").status_code == 302
    assert own_session.get("/account/").status_code == 200
    assert own_session.delete(f"/api/v1/me/sessions/{2**70}/").status_code == 404


def test_the_password_is_changed_and_other_sessions_end(reader: Person) -> None:
    own_session, other_session = sign_in("rene"), sign_in("rene")
    body = {"current": PASSWORD, "new": NEW, "again": NEW}
    page = own_session.post("/account/password/", body)
    assert page.status_code == 200
    assert NEW not in page.content.decode()
    assert own_session.get("/account/").status_code == 200
    assert other_session.get("/account/").status_code == 302
    assert len(own_session.get("/api/v1/me/sessions/").json()["results"]) == 1
    sign_in("rene", NEW)
    assert AuditEntry.objects.get(event="password-changed").actor_name == "rene"


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"current": "wrong"}, 403, "current"),
        ({"current": ""}, 400, "current"),
        ({"again": "another one altogether"}, 400, "again"),
        ({"new": "short", "again": "short"}, 400, "new"),
    ],
)
def test_an_invalid_password_is_a_field_error(
    reader: Person, change: dict[str, str], status: int, field: str
) -> None:
    body = {"current": PASSWORD, "new": NEW, "again": NEW, **change}
    page = sign_in("rene").post("/account/password/", body)
    assert page.status_code == status
    text = page.content.decode()
    assert [name for name in ("current", "new", "again") if _is_invalid(text, name)] == [field]
    reader.user.refresh_from_db()
    assert reader.user.check_password(PASSWORD)


def _is_invalid(page: str, name: str) -> bool:
    (field,) = re.findall(rf'<input[^>]*name="{name}"[^>]*>', page)
    return 'aria-invalid="true"' in field


def test_the_current_password_cannot_be_guessed(reader: Person) -> None:
    local = sign_in("rene")
    body = {"current": "wrong", "new": NEW, "again": NEW}
    for _ in range(authentication.MOST_WRONG_PASSWORDS):
        local.post("/account/password/", body)
    page = local.post("/account/password/", {**body, "current": PASSWORD})
    assert page.status_code == 403
    assert "Too many wrong passwords" in page.content.decode()
    assert AuditEntry.objects.filter(event="sign-in-failed").count() == 2


def test_a_user_with_a_sign_in_link_sets_a_first_password(reader: Person) -> None:
    reader.user.set_unusable_password()
    reader.user.save()
    client = Client()
    secret = authentication.create_sign_in_link(user=reader.user)
    client.post("/sign-in/link/", {"secret": secret})
    assert 'name="current"' not in client.get("/account/").content.decode()
    assert client.post("/account/password/", {"new": NEW, "again": NEW}).status_code == 200
    sign_in("rene", NEW)


def test_a_person_of_a_provider_has_no_password_here(
    owner: Person, reader: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    Identity.objects.create(user=reader.user, issuer="https://id", subject="1")
    assert "My password" not in reader.client.get("/account/").content.decode()
    assert reader.client.post("/account/password/", {}).status_code == 404
    monkeypatch.setattr(settings, "LOCAL_SIGN_IN", ("link",))
    assert owner.client.post("/account/password/", {}).status_code == 404


def test_credential_changes_need_a_fresh_sign_in(owner: Person, reader: Person) -> None:
    session = owner.client.session
    session["signed_in_at"] -= 3600
    session.save()
    new = {"name": "eve", "role": "admin"}
    for address, body in {
        "/account/password/": {},
        "/people/": new,
        "/people/users/rene/roles/": {"role": "admin"},
        "/people/users/rene/link/": {},
        "/people/groups/": {"group": "ml", "role": "admin"},
        "/add-cluster/": {},
        "/clusters/eu-train/credentials/": {},
        "/notifications/channels/": {},
    }.items():
        response = owner.client.post(address, body)
        assert (response.status_code, response["Location"][:9]) == (303, "/sign-in/"), address
    for form in ("/add-cluster/", "/clusters/eu-train/manage/"):
        assert owner.client.get(form).status_code == 303, "nothing is typed in vain"
    for address in (
        *("people/", "people/rene/roles/", "people/rene/links/", "group-roles/"),
        *("clusters/", "clusters/trials/", "notifications/channels/"),
    ):
        response = owner.client.post(f"/api/v1/{address}", new, content_type="application/json")
        assert response.status_code == 403, address
    taken = owner.client.post("/people/users/rene/disable/")
    assert taken["Location"] == "/people/users/rene/", "what takes rights away does not wait"
