"""People, on the page and in the API: reads and changes of admins, and refusals for other people."""

from __future__ import annotations

import re
from datetime import timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils import timezone

from gangboard.store import authentication, group_roles, people
from gangboard.store.models import AccessToken, AuditEntry, Grant, Identity, SessionRecord
from tests.factories import make_cluster
from tests.personas import PASSWORD, Person

LINK = re.compile(r"http://testserver/sign-in/link/[\w-]+/")
JSON = "application/json"


def send(
    person: Person, method: str, address: str, **body: object
) -> tuple[int, dict[str, object]]:
    response = getattr(person.client, method)(f"/api/v1/{address}", body, content_type=JSON)
    return response.status_code, response.json() if response.content else {}


def names(person: Person, query: str = "") -> list[str]:
    response = person.client.get(f"/api/v1/people/{query}")
    assert response.status_code == 200, response.content
    return [row["name"] for row in response.json()["results"]]


def events() -> list[str]:
    return list(AuditEntry.objects.order_by("number").values_list("event", flat=True))


# --- people


def test_a_person_is_added_with_a_role(owner: Person) -> None:
    make_cluster("east")
    form = {"name": "vera", "role": "viewer", "cluster": "east", "namespace": "research"}
    response = owner.client.post("/people/", form)
    assert (response.status_code, response["Location"]) == (303, "/people/users/vera/")
    page = owner.client.get("/people/").content.decode()
    assert "may see research on east, may not act" in page
    row = owner.client.get("/api/v1/people/vera/").json()
    assert row == {
        "name": "vera",
        "disabled": False,
        "rights": ["may see research on east, may not act"],
        "groups": [],
        "last_seen_at": None,
        "tokens": 0,
        "sessions": 0,
        "roles": [{"role": "viewer", "cluster": "east", "namespace": "research", "origin": "hand"}],
    }
    assert events() == ["user-made", "role-given"]
    assert set(AuditEntry.objects.values_list("actor_name", flat=True)) == {"olga"}
    assert owner.client.post("/people/", form).status_code == 409
    assert send(owner, "post", "people/", **form)[0] == 409


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"name": "a b"}, 409),
        ({"name": ""}, 400),
        ({"name": "x" * 151}, 400),
        ({"role": "god"}, 400),
        ({"cluster": "west"}, 409),
        ({"namespace": "Team A"}, 409),
    ],
)
def test_an_invalid_user_is_reported_and_not_created(
    owner: Person, change: dict[str, str], status: int
) -> None:
    body = {"name": "vera", "role": "viewer", **change}
    assert send(owner, "post", "people/", **body)[0] == status
    # The page offers the clusters that there are, so another one is no valid choice.
    response = owner.client.post("/people/", body)
    assert response.status_code in {status, 400}
    assert 'role="alert"' in response.content.decode()
    assert User.objects.count() == 1


def test_roles_are_granted_and_revoked(owner: Person, reader: Person) -> None:
    role = {"role": "operator", "cluster": "eu-train", "namespace": "research"}
    assert send(owner, "post", "people/rene/roles/", **role)[0] == 200
    assert names(owner, "?role=operator") == ["rene"]
    taken = owner.client.delete(
        "/api/v1/people/rene/roles/?role=operator&cluster=eu-train&namespace=research"
    )
    assert taken.status_code == 204
    owner.client.post("/people/users/rene/roles/", role)
    assert Grant.objects.filter(user=reader.user).count() == 2
    response = owner.client.post("/people/users/rene/roles/take/", role)
    assert (response.status_code, response["Location"]) == (303, "/people/users/rene/#roles")
    assert owner.client.post("/people/users/rene/roles/take/", role).status_code == 409
    assert list(reader.user.grants.values_list("role", flat=True)) == ["viewer"]
    assert events() == ["role-given", "role-taken"] * 2


def test_the_last_admin_keeps_the_role_and_the_account(owner: Person) -> None:
    page = owner.client.post("/people/users/olga/roles/take/", {"role": "admin"})
    assert page.status_code == 409
    assert "This is the last admin of everything" in page.content.decode()
    assert owner.client.delete("/api/v1/people/olga/roles/?role=admin").status_code == 409
    assert owner.client.post("/people/users/olga/disable/").status_code == 409
    assert send(owner, "patch", "people/olga/", disabled=True)[0] == 409
    assert owner.viewer.is_admin
    assert events() == []


def test_the_last_admin_by_a_group_keeps_the_role(owner: Person) -> None:
    Identity.objects.create(user=owner.user, issuer="https://id", subject="1", groups=["ops"])
    Grant.objects.filter(user=owner.user).delete()
    group_roles.grant_group(group="ops", role="admin")
    (row,) = group_roles.list_group_roles()
    assert owner.client.post(f"/people/groups/{row.id}/take/").status_code == 409
    assert owner.client.delete(f"/api/v1/group-roles/{row.id}/").status_code == 409
    assert owner.viewer.is_admin


def test_a_link_is_shown_once_and_signs_in(owner: Person, stranger: Person) -> None:
    page = owner.client.post("/people/users/stan/link/").content.decode()
    (link,) = set(LINK.findall(page))
    assert not LINK.search(owner.client.get("/people/users/stan/").content.decode())
    secret = link.rstrip("/").rpartition("/")[2]
    assert Client().post("/sign-in/link/", {"secret": secret}).status_code == 302
    status, answer = send(owner, "post", "people/stan/links/")
    assert status == 201
    assert LINK.fullmatch(str(answer["link"]))
    assert events() == ["link-made", "signed-in", "link-made"]


def test_an_account_is_disabled_and_enabled_again(owner: Person, reader: Person) -> None:
    token = authentication.issue_token(user=reader.user)
    assert owner.client.post("/people/users/rene/disable/").status_code == 303
    assert reader.client.get("/").status_code == 302
    assert authentication.find_token(token) is None
    assert names(owner, "?state=disabled") == ["rene"]
    assert "This account is disabled" in owner.client.get("/people/users/rene/").content.decode()
    assert owner.client.post("/people/users/rene/link/").status_code == 409
    assert send(owner, "post", "people/rene/roles/", role="viewer")[0] == 409
    status, row = send(owner, "patch", "people/rene/", disabled=False)
    assert (status, row["disabled"], row["roles"]) == (200, False, [])
    owner.client.post("/people/users/rene/open/")
    assert events()[-2:] == ["user-disabled", "user-enabled"]


def test_people_are_searched_sorted_and_paged(owner: Person) -> None:
    now = timezone.now()
    User.objects.bulk_create(
        User(username=f"p{number:03}", last_login=now - timedelta(hours=number + 1))
        for number in range(150)
    )
    assert names(owner, "?q=P14") == [f"p14{digit}" for digit in range(10)]
    assert names(owner, "?role=none&limit=2") == ["p000", "p001"]
    assert names(owner, "?ordering=-name&limit=2") == ["p149", "p148"]
    assert names(owner, "?ordering=last_seen_at&limit=2") == ["p149", "p148"]
    assert owner.client.get("/api/v1/people/?ordering=password").status_code == 400
    walked: list[str] = []
    following = "/api/v1/people/?ordering=-last_seen_at&limit=60"
    while following:
        answer = owner.client.get(following).json()
        walked += [row["name"] for row in answer["results"]]
        following = (answer["next"] or "").removeprefix("http://testserver")
    assert walked[0] == "olga"
    assert walked[1:] == [f"p{number:03}" for number in range(150)]
    page = owner.client.get("/people/?ordering=-last_seen_at").content.decode()
    assert page.count('href="/people/users/') == 100
    assert 'aria-sort="descending"' in page
    (following,) = re.findall(r'href="(/people/\?[^"]*cursor[^"]*)" rel="next"', page)
    page = owner.client.get(following.replace("&amp;", "&")).content.decode()
    assert page.count('href="/people/users/') == 51
    assert owner.client.get("/people/?cursor=nonsense").status_code == 200
    assert owner.client.get("/api/v1/people/?cursor=nonsense").status_code == 400


def test_a_list_of_users_has_a_fixed_number_of_queries(
    owner: Person, django_assert_max_num_queries: object
) -> None:
    for number in range(5):
        user, _ = people.create_user(name=f"p{number}", role="viewer")
        authentication.issue_token(user=user)
    with django_assert_max_num_queries(8):  # type: ignore[operator]  # session, user, roles and the layout's
        assert len(names(owner)) == 6


# --- tokens


def test_tokens_of_all_users_are_listed_and_revoked(owner: Person, reader: Person) -> None:
    tokens = [authentication.issue_token(user=reader.user) for _ in range(3)]
    authentication.issue_token(user=owner.user, may_act=True)
    rows = owner.client.get("/api/v1/tokens/?q=rene&ordering=created_at").json()["results"]
    assert [row["id"] for row in rows] == [token.rpartition("_")[0] for token in tokens]
    assert {row["owner"] for row in rows} == {"rene"}
    for ordering in ("owner", "-owner", "last_used_at", "-last_used_at", "-expires_at"):
        answer = owner.client.get(f"/api/v1/tokens/?ordering={ordering}&limit=1").json()
        assert owner.client.get(answer["next"]).status_code == 200, ordering
    assert owner.client.get("/people/tokens/?q=gb_").content.decode().count("Revoke<") == 4
    assert owner.client.delete(f"/api/v1/tokens/{rows[0]['id']}/").status_code == 204
    response = owner.client.post(f"/people/tokens/{rows[1]['id']}/revoke/")
    assert response["Location"] == "/people/tokens/"
    response = owner.client.post(f"/people/tokens/{rows[2]['id']}/revoke/", {"back": "person"})
    assert response["Location"] == "/people/users/rene/#tokens"
    assert owner.client.post(f"/people/tokens/{rows[2]['id']}/revoke/").status_code == 404
    assert owner.client.delete("/api/v1/tokens/gb_0/").status_code == 404
    assert AccessToken.objects.count() == 1
    assert events().count("token-revoked") == 3


# --- sessions


def test_sessions_of_all_users_are_listed_and_ended(owner: Person, reader: Person) -> None:
    browsers = [Client() for _ in range(3)]
    for browser in browsers:
        browser.post("/sign-in/", {"name": "rene", "password": PASSWORD})
    rows = owner.client.get("/api/v1/sessions/?q=rene&ordering=created_at").json()["results"]
    assert [(row["owner"], row["is_current"]) for row in rows] == [("rene", False)] * 3
    assert owner.client.get("/api/v1/people/rene/").json()["sessions"] == 3
    page = owner.client.get("/api/v1/sessions/?ordering=-owner&limit=1").json()
    assert owner.client.get(page["next"]).json()["results"][0]["owner"] == "rene"
    assert owner.client.delete(f"/api/v1/sessions/{rows[0]['id']}/").status_code == 204
    response = owner.client.post(f"/people/sessions/{rows[1]['id']}/end/")
    assert response["Location"] == "/people/sessions/"
    response = owner.client.post(f"/people/sessions/{rows[2]['id']}/end/", {"back": "person"})
    assert response["Location"] == "/people/users/rene/#sessions"
    assert [browser.get("/").status_code for browser in browsers] == [302] * 3
    assert owner.client.post(f"/people/sessions/{rows[2]['id']}/end/").status_code == 404
    assert owner.client.delete(f"/api/v1/sessions/{2**70}/").status_code == 404
    assert events().count("sessions-ended") == 3
    assert owner.client.get("/people/sessions/?q=rene").status_code == 200


def test_more_sessions_than_a_page_holds_are_read_to_the_last(
    owner: Person, reader: Person
) -> None:
    now = timezone.now()
    Session.objects.bulk_create(
        Session(session_key=f"k{number}", session_data="", expire_date=now + timedelta(hours=1))
        for number in range(130)
    )
    SessionRecord.objects.bulk_create(
        SessionRecord(
            session_key=f"k{number}",
            user=reader.user,
            method="password",
            address=f"192.0.2.{number}",
            created_at=now,
            last_seen_at=now - timedelta(minutes=number // 50),  # many at the same minute
            ends_at=now + timedelta(hours=1),
        )
        for number in range(130)
    )
    walked: list[str] = []
    following = "/api/v1/sessions/?limit=60"
    while following:
        answer = owner.client.get(following).json()
        walked += [row["address"] for row in answer["results"]]
        following = (answer["next"] or "").removeprefix("http://testserver")
    assert walked == [f"192.0.2.{number}" for number in range(130)]
    page = owner.client.get("/people/sessions/").content.decode()
    assert page.count("/end/") == 100
    (following,) = re.findall(r'href="(/people/sessions/\?[^"]*cursor[^"]*)" rel="next"', page)
    page = owner.client.get(following.replace("&amp;", "&")).content.decode()
    assert page.count("/end/") == 30
    assert owner.client.get("/people/users/rene/").content.decode().count("/end/") == 130


def test_sessions_without_a_record_are_ended_by_the_upgrade(owner: Person, reader: Person) -> None:
    listed = Client()
    listed.post("/sign-in/", {"name": "rene", "password": PASSWORD})
    migration = import_module("gangboard.store.migrations.0010_unlisted_sessions")
    migration.end_unlisted_sessions(apps, connection.schema_editor())
    assert listed.get("/account/").status_code == 200
    assert owner.client.get("/account/").status_code == 302
    assert Session.objects.count() == 1


def test_a_session_that_has_ended_is_not_listed(owner: Person, reader: Person) -> None:
    Client().post("/sign-in/", {"name": "rene", "password": PASSWORD})
    Session.objects.filter(pk=SessionRecord.objects.get().session_key).update(
        expire_date=timezone.now()
    )
    assert owner.client.get("/api/v1/sessions/").json()["results"] == []
    row = owner.client.get("/api/v1/people/rene/").json()
    assert (row["sessions"], row["last_seen_at"] is None) == (0, False)


# --- groups


def test_a_role_of_a_group_reaches_its_members(owner: Person, stranger: Person) -> None:
    make_cluster("east")
    Identity.objects.create(user=stranger.user, issuer="https://id", subject="1", groups=["ml"])
    form = {"group": "ml", "role": "viewer", "cluster": "east", "namespace": ""}
    assert owner.client.post("/people/groups/", form)["Location"] == "/people/groups/"
    assert [scope.role for scope in stranger.viewer.scopes] == ["viewer"]
    (row,) = owner.client.get("/api/v1/group-roles/").json()["results"]
    assert row == {
        "group": "ml",
        "role": "viewer",
        "cluster": "east",
        "namespace": None,
        "members": 1,
        "id": row["id"],
    }
    person = owner.client.get("/api/v1/people/stan/").json()
    assert (person["groups"], person["roles"][0]["origin"]) == (["ml"], "group")
    page = owner.client.get("/people/users/stan/").content.decode()
    assert "viewer of everything on east" not in page, (
        "there is no button to take back a role of a group"
    )
    assert owner.client.delete(f"/api/v1/group-roles/{row['id']}/").status_code == 204
    assert stranger.viewer.scopes == ()
    status, answer = send(owner, "post", "group-roles/", group="ml", role="operator")
    assert (status, answer["cluster"], answer["members"]) == (201, None, 1)
    assert owner.client.post(f"/people/groups/{answer['id']}/take/").status_code == 303
    assert owner.client.post(f"/people/groups/{answer['id']}/take/").status_code == 404


def test_a_role_of_a_group_is_on_a_pattern_of_namespaces(owner: Person, stranger: Person) -> None:
    east = make_cluster("east").pk
    Identity.objects.create(user=stranger.user, issuer="https://id", subject="1", groups=["ml"])
    form = {"group": "ml", "role": "viewer", "cluster": "east", "namespace": "team-*"}
    assert owner.client.post("/people/groups/", form).status_code == 303
    (row,) = owner.client.get("/api/v1/group-roles/").json()["results"]
    assert row["namespace"] == "team-*"
    assert stranger.viewer.sees(east, "team-a")
    assert not stranger.viewer.sees(east, "steam-a")
    own = stranger.client.get("/account/").content.decode()
    assert "May see namespaces team-* on east, may not act." in own
    (right,) = owner.client.get("/api/v1/people/stan/").json()["rights"]
    assert right == "may see namespaces team-* on east, may not act"
    refused = owner.client.post("/people/groups/", {**form, "namespace": "*"})
    assert refused.status_code == 409
    assert "Leave out the namespace to select all namespaces" in refused.content.decode()
    assert send(owner, "post", "group-roles/", **{**form, "namespace": "Team*"})[0] == 409


@pytest.mark.parametrize("group", ["", "a\nb", "x" * 256])
def test_a_name_that_is_no_group_is_refused(owner: Person, group: str) -> None:
    assert send(owner, "post", "group-roles/", group=group, role="viewer")[0] in {400, 409}
    form = {"group": group, "role": "viewer"}
    assert owner.client.post("/people/groups/", form).status_code in {400, 409}
    assert group_roles.list_group_roles() == ()


# --- who may


def test_an_admin_token_reads_and_cannot_change_users(owner: Person, reader: Person) -> None:
    token = authentication.issue_token(user=owner.user, may_act=True)
    robot = Person(owner.user, Client(headers={"Authorization": f"Bearer {token}"}))
    assert names(robot) == ["olga", "rene"]
    assert send(robot, "post", "people/", name="eve", role="admin")[0] == 403
    assert send(robot, "patch", "people/rene/", disabled=True)[0] == 403
    assert send(robot, "post", "people/rene/roles/", role="admin")[0] == 403
    assert send(robot, "post", "people/rene/links/")[0] == 403
    assert send(robot, "post", "group-roles/", group="ml", role="admin")[0] == 403
    assert robot.client.delete("/api/v1/people/rene/roles/?role=viewer").status_code == 403
    assert robot.client.delete(f"/api/v1/tokens/{token.rpartition('_')[0]}/").status_code == 403
    assert events() == ["token-made"]


@pytest.mark.parametrize("name", ["nobody", "%00", "..%2f", "a b"])
def test_a_missing_user_is_a_404(owner: Person, name: str) -> None:
    for address in (f"/people/users/{name}/", f"/api/v1/people/{name}/"):
        assert owner.client.get(address).status_code == 404
    assert owner.client.post(f"/people/users/{name}/disable/").status_code == 404
