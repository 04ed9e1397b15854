"""Roles of groups, and the accounts of people whom a provider vouches for."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from gangboard.store import clusters, people
from gangboard.store.access import viewer_of
from gangboard.store.group_roles import (
    grant_group,
    list_group_roles,
    revoke_group,
    revoke_group_role,
)
from gangboard.store.identities import Person, sign_in_person
from gangboard.store.models import AuditEntry, Grant, Identity
from gangboard.store.people import PeopleError

pytestmark = pytest.mark.django_db

ISSUER = "https://id.example.com"
Role = tuple[str, str | None, str, str]


def sign_in(subject: str = "1", name: str = "ada", *groups: str, issuer: str = ISSUER) -> User:
    return sign_in_person(Person(issuer, subject, name, groups))


def roles(user: User) -> list[Role]:
    """Return (role, cluster, namespace, origin) of a user."""
    rows = Grant.objects.filter(user=user).order_by("role", "origin")
    return list(rows.values_list("role", "cluster__name", "namespace", "origin"))


def events() -> list[tuple[str, str, str]]:
    """Return (event, who, about) of each line of the audit."""
    rows = AuditEntry.objects.order_by("number")
    return list(rows.values_list("event", "actor_name", "object_name"))


def test_members_get_the_roles_of_their_groups_at_sign_in() -> None:
    clusters.add_cluster(name="east", document={}, server="https://east")
    assert grant_group(group="ml", role="operator", cluster_name="east", namespace="research")
    assert grant_group(group="sre", role="admin")
    ada = sign_in("1", "ada", "ml", "chess")
    assert roles(ada) == [("operator", "east", "research", "group")]
    assert not ada.has_usable_password()


def test_group_roles_are_replaced_at_sign_in_and_manual_roles_stay() -> None:
    grant_group(group="ml", role="operator", namespace="research")
    grant_group(group="sre", role="admin")
    ada = sign_in("1", "ada", "ml")
    people.grant_role(user=ada, role="viewer", namespace="team-a")
    people.grant_role(user=ada, role="operator", namespace="research")
    assert sign_in("1", "ada", "sre") == ada
    assert roles(ada) == [
        ("admin", None, "", "group"),
        ("operator", None, "research", "hand"),
        ("viewer", None, "team-a", "hand"),
    ]
    assert sign_in("1", "ada") == ada
    assert [role[3] for role in roles(ada)] == ["hand", "hand"]


def test_unchanged_groups_write_no_row() -> None:
    grant_group(group="ml", role="operator")
    ada = sign_in("1", "ada", "ml")
    before = Grant.objects.get(user=ada).pk, len(events())
    sign_in("1", "ada", "ml")
    assert (Grant.objects.get(user=ada).pk, len(events())) == before


def test_a_change_of_the_table_takes_effect_at_once() -> None:
    ada = sign_in("1", "ada", "ml")
    assert not viewer_of(ada).scopes
    assert grant_group(group="ml", role="viewer")
    assert not grant_group(group="ml", role="viewer")
    assert viewer_of(ada).sees_everything
    assert revoke_group(group="ml", role="viewer") == ()
    assert not viewer_of(ada).scopes


def test_a_manual_role_and_a_group_role_form_one_scope() -> None:
    grant_group(group="ml", role="viewer")
    ada = sign_in("1", "ada", "ml")
    people.grant_role(user=ada, role="viewer")
    assert len(roles(ada)) == 2
    assert len(viewer_of(ada).scopes) == 1
    people.remove_role(name="ada", role="viewer")
    with pytest.raises(PeopleError, match=r"ada is viewer of everything by a group"):
        people.remove_role(name="ada", role="viewer")


def test_the_audit_names_the_granter_and_the_user() -> None:
    grant_group(group="ml", role="viewer", by="olga")
    sign_in("1", "ada", "ml")
    sign_in("1", "ada")
    revoke_group(group="ml", role="viewer", by="olga")
    assert events() == [
        ("role-given", "olga", ""),
        ("user-made", "gangboard", "User/ada"),
        ("role-given", "gangboard", "User/ada"),
        ("role-taken", "gangboard", "User/ada"),
        ("role-taken", "olga", ""),
    ]


def test_a_role_is_also_revoked_by_its_id() -> None:
    grant_group(group="ml", role="viewer")
    (row,) = list_group_roles()
    assert (row.group, row.role, row.cluster, row.namespace) == ("ml", "viewer", None, "")
    assert revoke_group_role(row.id)
    assert not revoke_group_role(row.id)
    assert list_group_roles() == ()


@pytest.mark.parametrize("group", ["", " ml", "a\nb", "x" * 256])
def test_a_group_needs_a_name(group: str) -> None:
    with pytest.raises(PeopleError, match="cannot be the name of a group"):
        grant_group(group=group, role="viewer")


def test_an_impossible_grant_or_revocation_is_reported() -> None:
    with pytest.raises(PeopleError, match="there is no role 'god'"):
        grant_group(group="ml", role="god")
    with pytest.raises(clusters.ClusterError, match="there is no cluster 'west'"):
        grant_group(group="ml", role="viewer", cluster_name="west")
    grant_group(group="ml", role="viewer")
    with pytest.raises(PeopleError, match=r"'ml' is not admin .* it is: viewer of everything"):
        revoke_group(group="ml", role="admin")


# --- whose account it is


def test_two_users_with_one_name_stay_separate() -> None:
    first, second = sign_in("1", "ada@example.com"), sign_in("2", "ada@example.com")
    assert (first.username, second.username) == ("ada@example.com", "ada@example.com-2")
    assert sign_in("1", "renamed") == first
    assert sign_in("1", "ada@example.com", issuer="https://other.example.com") not in (
        first,
        second,
    )
    assert Identity.objects.count() == 3


@pytest.mark.parametrize("name", ["admin", "ADMIN", "ａdmin"])
def test_the_name_of_a_local_account_is_not_taken_over(name: str) -> None:
    local, _ = people.create_user(name="admin", role="admin")
    user = sign_in("1", name)
    assert user != local
    assert user.username.lower() == "admin-2"
    assert not viewer_of(user).scopes


@pytest.mark.parametrize(
    ("name", "expected"),
    [("", "person"), ("Ada Lovelace", "Ada-Lovelace"), ("<b>\n", "b"), ("x" * 300, "x" * 120)],
)
def test_an_impossible_account_name_is_changed(name: str, expected: str) -> None:
    assert sign_in("1", name).username == expected


@pytest.mark.parametrize("subject", ["", "x" * 256, "a\0b"])
def test_an_unstorable_subject_creates_no_account(subject: str) -> None:
    with pytest.raises(PeopleError, match="a subject that cannot be stored"):
        sign_in(subject)
    assert User.objects.count() == 0


def test_a_disabled_account_stays_closed_for_any_groups() -> None:
    grant_group(group="ml", role="viewer")
    ada = sign_in("1", "ada", "ml")
    people.disable_user(name="ada")
    with pytest.raises(PeopleError, match="the account of ada is disabled"):
        sign_in("1", "ada", "ml")
    grant_group(group="ml", role="admin")
    assert roles(ada) == []
