"""Roles, sign-in links, tokens and the limit on password attempts."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.db.models import QuerySet
from django.utils import timezone

from gangboard.store import authentication, clusters, people
from gangboard.store.access import viewer_of
from gangboard.store.models import AccessToken, Attempts, Grant, SignInLink

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return people.create_user(name="ada", role="viewer")[0]


# --- users and roles


def test_a_new_user_has_the_role_and_no_password() -> None:
    user, created = people.create_user(name="ada", role="operator", namespace="team-a")
    assert created
    assert not user.has_usable_password()
    grant = Grant.objects.get(user=user)
    assert (grant.role, grant.cluster, grant.namespace) == ("operator", None, "team-a")


def test_creating_a_user_again_adds_the_role_and_keeps_the_user(ada: User) -> None:
    same_user, created = people.create_user(name="ada", role="admin")
    assert not created
    assert same_user.pk == ada.pk
    assert sorted(ada.grants.values_list("role", flat=True)) == ["admin", "viewer"]
    people.create_user(name="ada", role="admin")
    assert ada.grants.count() == 2


def test_a_role_can_be_for_one_cluster_only(ada: User) -> None:
    cluster = clusters.add_cluster(name="east", document={}, server="https://east")
    assert people.grant_role(user=ada, role="operator", cluster_name="east", namespace="team-a")
    assert Grant.objects.get(user=ada, role="operator").cluster == cluster


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"role": "god"}, "there is no role 'god'; the roles are viewer, operator, admin"),
        ({"cluster_name": "west"}, "there is no cluster 'west'; the clusters are: none"),
        ({"namespace": "Team A"}, "'Team A' cannot be the name of a namespace"),
        ({"name": "a b"}, "'a b' cannot be a user name"),
        ({"name": ""}, "'' cannot be a user name"),
    ],
)
def test_a_failed_grant_creates_no_user(changes: dict[str, str], sentence: str) -> None:
    with pytest.raises((people.PeopleError, clusters.ClusterError), match=sentence):
        people.create_user(**{"name": "eve", "role": "viewer", **changes})
    assert not User.objects.exists()


def test_a_role_is_revoked_only_in_its_scope(ada: User) -> None:
    clusters.add_cluster(name="east", document={}, server="https://east")
    people.grant_role(user=ada, role="viewer", cluster_name="east", namespace="team-a")
    people.grant_role(user=ada, role="admin", cluster_name="east")
    remaining = people.remove_role(name="ada", role="admin", cluster_name="east")
    assert sorted(remaining) == [
        "viewer of everything",
        "viewer of team-a on east",
    ]
    assert people.remove_role(name="ada", role="viewer") == ["viewer of team-a on east"]
    assert not viewer_of(ada).sees_everything


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": "eve"}, "there is no user 'eve'; the users are: ada"),
        (
            {"role": "admin"},
            "ada is not admin of everything; ada is: viewer of everything",
        ),
        ({"namespace": "team-a"}, "ada is not viewer of team-a on every cluster"),
        ({"cluster_name": "west"}, "there is no cluster 'west'; the clusters are: none"),
    ],
)
def test_a_missing_role_cannot_be_revoked(
    ada: User, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises((people.PeopleError, clusters.ClusterError), match=sentence):
        people.remove_role(**{"name": "ada", "role": "viewer", **changes})
    assert ada.grants.count() == 1


def test_a_disabled_user_has_no_credentials_left(ada: User) -> None:
    ada.set_password("correct horse battery staple")
    ada.save()
    token, link = authentication.issue_token(user=ada), authentication.create_sign_in_link(user=ada)
    people.disable_user(name="ada")
    same_user, created = people.create_user(name="ada", role="viewer", namespace="team-a")
    assert (same_user.pk, created, same_user.is_active) == (ada.pk, False, True)
    assert list(same_user.grants.values_list("role", "namespace")) == [("viewer", "team-a")]
    assert not same_user.has_usable_password()
    assert authentication.find_token(token) is None
    assert authentication.consume_sign_in_link(link) is None


def test_a_disabled_user_is_given_no_token(ada: User) -> None:
    people.disable_user(name="ada")
    with pytest.raises(people.PeopleError, match="the account of ada is disabled"):
        authentication.issue_token(user=User.objects.get())


def test_an_unknown_user_cannot_be_disabled() -> None:
    with pytest.raises(people.PeopleError, match="there is no user 'eve'; the users are: none"):
        people.disable_user(name="eve")


# --- sign-in links


def test_a_link_signs_in_once(ada: User) -> None:
    secret = authentication.create_sign_in_link(user=ada)
    assert authentication.consume_sign_in_link(secret) == ada
    assert authentication.consume_sign_in_link(secret) is None


def test_an_expired_link_does_not_work(ada: User) -> None:
    secret = authentication.create_sign_in_link(user=ada, life=timedelta(seconds=-1))
    assert authentication.consume_sign_in_link(secret) is None


def test_a_link_of_a_disabled_user_does_not_work(ada: User) -> None:
    secret = authentication.create_sign_in_link(user=ada)
    User.objects.update(is_active=False)
    assert authentication.consume_sign_in_link(secret) is None


def test_an_invalid_link_does_not_work(ada: User) -> None:
    authentication.create_sign_in_link(user=ada)
    assert authentication.consume_sign_in_link("") is None
    assert authentication.consume_sign_in_link("\x00") is None


def test_the_secret_of_a_link_is_not_stored(ada: User) -> None:
    secret = authentication.create_sign_in_link(user=ada)
    assert secret not in str(list(SignInLink.objects.values()))


# --- tokens


def test_a_token_belongs_to_its_user_and_is_read_only_by_default(ada: User) -> None:
    reading = authentication.find_token(authentication.issue_token(user=ada))
    acting = authentication.find_token(authentication.issue_token(user=ada, may_act=True))
    assert reading is not None
    assert acting is not None
    assert (reading.user, reading.may_act) == (ada, False)
    assert (acting.user, acting.may_act) == (ada, True)


def test_a_token_has_the_documented_form_and_its_secret_is_not_stored(ada: User) -> None:
    token = authentication.issue_token(user=ada)
    prefix, token_id, secret = token.split("_")
    assert prefix == "gb"
    assert len(secret) * 4 >= 256
    stored = str(list(AccessToken.objects.values()))
    assert token_id in stored
    assert secret not in stored


def test_invalid_tokens_are_not_accepted(ada: User) -> None:
    token = authentication.issue_token(user=ada)
    _, token_id, secret = token.split("_")
    for wrong in (
        "",
        "gb",
        "gb__",
        f"gb_{token_id}_",
        f"gb_{token_id}_{secret[:-1]}",
        f"gb_{token_id}_{secret}0",
        f"gb_0000000000000000_{secret}",
        f"xx_{token_id}_{secret}",
        secret,
        f"gb_{token_id}\x00_{secret}",
        f"gb_é_{secret}",
    ):
        assert authentication.find_token(wrong) is None, wrong


def test_a_token_ends_by_expiry_revocation_or_with_its_user(ada: User) -> None:
    old, revoked, valid = (authentication.issue_token(user=ada) for _ in range(3))
    AccessToken.objects.filter(pk=old.split("_")[1]).update(expires_at=timezone.now())
    assert authentication.find_token(old) is None
    assert authentication.revoke_token(revoked) == ada
    assert authentication.find_token(revoked) is None
    assert authentication.find_token(valid) is not None
    User.objects.update(is_active=False)
    assert authentication.find_token(valid) is None


def test_the_public_part_of_a_token_revokes_it(ada: User) -> None:
    token, valid = authentication.issue_token(user=ada), authentication.issue_token(user=ada)
    assert authentication.revoke_token(token.rpartition("_")[0]) == ada
    assert authentication.find_token(token) is None
    assert authentication.find_token(valid) is not None


@pytest.mark.parametrize(
    "wrong", ["", "gb_", "gb_0000000000000000_sesame", "sesame", "\x00", "gb_\x00"]
)
def test_a_missing_token_cannot_be_revoked_and_is_not_quoted(wrong: str) -> None:
    with pytest.raises(people.PeopleError, match="there is no such token") as caught:
        authentication.revoke_token(wrong)
    assert "sesame" not in str(caught.value)


def test_all_tokens_of_one_user_can_be_revoked(ada: User) -> None:
    bob = people.create_user(name="bob", role="viewer")[0]
    tokens, valid = (
        [authentication.issue_token(user=ada) for _ in range(2)],
        authentication.issue_token(user=bob),
    )
    assert authentication.revoke_tokens(name="ada") == 2
    assert [authentication.find_token(token) for token in tokens] == [None, None]
    assert authentication.find_token(valid) is not None
    assert authentication.revoke_tokens(name="ada") == 0


@pytest.mark.parametrize("days", [0, -1, 367])
def test_a_token_needs_an_expiry(ada: User, days: int) -> None:
    with pytest.raises(people.PeopleError, match="from 1 to 366 days"):
        authentication.issue_token(user=ada, days=days)


def test_token_use_is_recorded_at_most_once_a_minute(ada: User) -> None:
    token = authentication.issue_token(user=ada)
    assert AccessToken.objects.get().last_used_at is None
    authentication.find_token(token)
    first = AccessToken.objects.get().last_used_at
    assert first is not None
    authentication.find_token(token)
    assert AccessToken.objects.get().last_used_at == first
    earlier = timezone.now() - timedelta(seconds=61)
    AccessToken.objects.update(last_used_at=earlier)
    authentication.find_token(token)
    noted = AccessToken.objects.get().last_used_at
    assert noted is not None
    assert noted > first


def test_a_token_reads_although_its_use_cannot_be_recorded(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = authentication.issue_token(user=ada)
    writes = []

    def full(_: QuerySet[AccessToken], **values: object) -> int:
        writes.append(values)
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(QuerySet, "update", full)
    monkeypatch.setattr(authentication, "_writes_paused_until", 0.0)
    assert authentication.find_token(token) is not None
    assert authentication.find_token(token) is not None
    assert len(writes) == 1, "each read waits for the lock of a busy database"


# --- password attempts


def tries(number: int, *, name: str = "ada", place: str = "10.0.0.1") -> list[int]:
    return [
        authentication.count_password_attempt(name=name, place=place).wait for _ in range(number)
    ]


def test_the_eleventh_wrong_password_from_an_address_has_to_wait() -> None:
    waits = tries(11)
    assert waits[:10] == [0] * 10
    assert 290 <= waits[10] <= 300


def test_wrong_passwords_from_elsewhere_or_for_others_lock_no_user_out() -> None:
    tries(11)
    assert tries(1, place="10.0.0.2") == [0]
    assert tries(1, name="bob") == [0]


def test_the_case_of_a_name_does_not_give_more_attempts() -> None:
    for name in ["ada", "ADA"] * 5:
        tries(1, name=name)
    assert tries(1, name="Ada")[0] > 0


def test_attempts_are_forgotten_after_the_window_and_after_success() -> None:
    tries(11)
    authentication.reset_password_attempts(name="ada", place="10.0.0.1")
    assert tries(11)[0] == 0
    Attempts.objects.update(ends_at=timezone.now())
    assert tries(1) == [0]


def test_a_mistyped_user_name_is_not_stored() -> None:
    tries(1, name="my-password")
    assert "my-password" not in str(list(Attempts.objects.values()))


# --- the last admin, and accounts that are opened again


def test_the_last_global_admin_stays(ada: User) -> None:
    people.grant_role(user=ada, role="admin")
    with pytest.raises(people.PeopleError, match="the last admin"):
        people.remove_role(name="ada", role="admin", keep_admin=True)
    with pytest.raises(people.PeopleError, match="the last admin"):
        people.disable_user(name="ada", keep_admin=True)
    assert viewer_of(User.objects.get(pk=ada.pk)).is_admin
    people.create_user(name="eve", role="admin")
    people.remove_role(name="ada", role="admin", keep_admin=True)
    assert not viewer_of(ada).is_admin


def test_a_disabled_admin_does_not_count(ada: User) -> None:
    eve, _ = people.create_user(name="eve", role="admin")
    User.objects.filter(pk=eve.pk).update(is_active=False)
    people.grant_role(user=ada, role="admin")
    with pytest.raises(people.PeopleError, match="the last admin"):
        people.remove_role(name="ada", role="admin", keep_admin=True)


def test_a_reopened_account_has_no_role(ada: User) -> None:
    people.disable_user(name="ada")
    people.enable_user(name="ada")
    ada.refresh_from_db()
    assert ada.is_active
    assert not ada.grants.exists()
    with pytest.raises(people.PeopleError, match="enabled already"):
        people.enable_user(name="ada")


def test_a_user_is_created_once(ada: User) -> None:
    with pytest.raises(people.PeopleError, match="already"):
        people.create_new_user(name="ada", role="admin")
    assert list(ada.grants.values_list("role", flat=True)) == ["viewer"]
    assert people.create_new_user(name="eve", role="admin").username == "eve"
