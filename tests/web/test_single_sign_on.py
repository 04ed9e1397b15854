"""Sign-in by an OpenID provider: who gets in, with which roles, and which answers are refused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from gangboard.pages.sign_in.single_sign_on import adapters
from gangboard.pages.sign_in.single_sign_on.provider import forget_configuration
from gangboard.store import authentication, people, sessions
from gangboard.store.access import viewer_of
from gangboard.store.group_roles import grant_group, revoke_group
from gangboard.store.models import Attempts, AuditEntry, Identity, SessionRecord
from tests.web.fake_provider import CLIENT_ID, OTHER_KEY, SECRET, FakeProvider, fake_provider

pytestmark = pytest.mark.django_db

BEGIN, FINISH = "/sign-in/provider/", "/sign-in/provider/callback/"


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """A provider that is set as that of this installation."""
    with fake_provider() as running:
        for name, value in {
            "OIDC_ISSUER": running.issuer,
            "OIDC_NAME": "ACME",
            "OIDC_CLIENT_ID": CLIENT_ID,
            "OIDC_CLIENT_SECRET": SECRET,
        }.items():
            monkeypatch.setattr(settings, name, value)
        forget_configuration()
        yield running
        forget_configuration()


@pytest.fixture
def browser() -> Client:
    """A browser without a session."""
    return Client()


def sign_in(provider: FakeProvider, browser: Client, query: str = "", **changes: str) -> Any:
    """Sign in through the provider and return the last answer. `changes` replace returned parameters."""
    provider_page = browser.get(f"{BEGIN}{query}")
    assert provider_page.status_code == 302, provider_page.content
    parameters = provider.begin(provider_page["Location"])
    return browser.get(FINISH, {"code": "the-code", "state": parameters["state"], **changes})


def sentence_of(response: Any) -> str:
    """Return the message of the sign-in page."""
    return str(response.context["sentence"])


def signed_in(browser: Client) -> str:
    """Return the name of the signed-in user, or an empty text."""
    user_id = browser.session.get("_auth_user_id")
    return User.objects.get(pk=user_id).username if user_id else ""


# --- the way there and back


def test_the_button_comes_first_and_only_with_a_provider(
    provider: FakeProvider, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = browser.get("/sign-in/?next=/queues/").content.decode()
    assert "Sign in with ACME" in page
    assert page.index('id="provider"') < page.index('id="password"')
    assert f'href="{BEGIN}?next=%2Fqueues%2F"' in page
    monkeypatch.setattr(settings, "OIDC_ISSUER", "")
    assert 'id="provider"' not in browser.get("/sign-in/").content.decode()
    assert browser.get(BEGIN).status_code == 404
    assert browser.get(FINISH).status_code == 404


def test_the_way_to_the_provider_has_pkce_state_and_nonce(
    provider: FakeProvider, browser: Client
) -> None:
    location = browser.get(BEGIN)["Location"]
    sent = provider.begin(location)
    assert location.startswith(f"{provider.issuer}/authorize?")
    assert (sent["response_type"], sent["code_challenge_method"]) == ("code", "S256")
    assert sent["redirect_uri"] == f"http://testserver{FINISH}"
    assert set(sent["scope"].split()) == {"openid", "profile", "email"}
    assert len(sent["state"]) >= 16
    assert len(sent["nonce"]) == 32
    assert SECRET not in location


def test_extra_query_parameters_do_not_reach_the_provider(
    provider: FakeProvider, browser: Client
) -> None:
    location = browser.get(f"{BEGIN}?scope=admin&auth_params=prompt%3Dnone&process=connect")
    assert not {"admin", "none"} & set(location["Location"].replace("&", "=").split("="))


def test_a_user_signs_in_and_groups_decide_the_roles(
    provider: FakeProvider, browser: Client
) -> None:
    grant_group(group="ml", role="operator", namespace="research")
    response = sign_in(provider, browser, "?next=/queues/")
    assert (response.status_code, response["Location"]) == (302, "/queues/")
    ada = User.objects.get(username="ada")
    assert signed_in(browser) == "ada"
    assert [scope.namespace for scope in viewer_of(ada).scopes] == ["research"]
    identity = Identity.objects.get(user=ada)
    assert (identity.issuer, identity.subject) == (provider.issuer, "person-1")
    record = SessionRecord.objects.get(user=ada)
    assert (record.method, record.address) == ("provider", "127.0.0.1")
    last = AuditEntry.objects.order_by("-number")[0]
    assert (last.event, last.sentence) == ("signed-in", "ada signed in by ACME.")


def test_a_group_that_is_removed_ends_its_role_at_the_next_sign_in(
    provider: FakeProvider, browser: Client
) -> None:
    grant_group(group="ml", role="viewer")
    sign_in(provider, browser)
    ada = User.objects.get(username="ada")
    assert viewer_of(ada).sees_everything
    provider.claims = {"groups": []}
    sign_in(provider, browser)
    assert not viewer_of(ada).scopes
    assert "no-groups" not in browser.get("/").content.decode()


def test_groups_and_name_may_come_from_userinfo(provider: FakeProvider, browser: Client) -> None:
    grant_group(group="ml", role="viewer")
    provider.claims = {"groups": None, "preferred_username": None}
    provider.userinfo = {"sub": "person-1", "groups": "ml", "preferred_username": "ada"}
    sign_in(provider, browser)
    assert viewer_of(User.objects.get(username="ada")).sees_everything
    assert provider.asked[-1] == "/userinfo"


def test_a_dot_in_a_claim_name_reads_a_nested_object(
    provider: FakeProvider, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "OIDC_GROUPS_CLAIM", "realm_access.roles")
    grant_group(group="sre", role="viewer")
    provider.claims = {"realm_access": {"roles": ["sre", 7]}}
    sign_in(provider, browser)
    assert viewer_of(User.objects.get(username="ada")).sees_everything


def test_a_renamed_groups_claim_signs_in_without_roles_and_says_so(
    provider: FakeProvider, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "CONTACT", "the platform team, #gpu-help")
    grant_group(group="ml", role="viewer")
    provider.claims, provider.userinfo = {"groups": None}, {"sub": "person-1", "Groups": ["ml"]}
    assert sign_in(provider, browser).status_code == 302
    page = browser.get("/").content.decode()
    assert "You have no role yet, so there is nothing to see." in page
    assert "<b>the platform team, #gpu-help</b>" in page
    assert "ACME sent no groups: your sign-in had no claim <code>groups</code>." in page


def test_two_people_with_one_mail_address_stay_two(
    provider: FakeProvider, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "OIDC_NAME_CLAIM", "email")
    grant_group(group="ml", role="viewer")
    provider.claims = {"email": "a@example.com"}
    sign_in(provider, browser)
    provider.claims = {"email": "a@example.com", "sub": "person-2", "groups": []}
    sign_in(provider, browser)
    first, second = User.objects.order_by("pk")
    assert (first.username, second.username) == ("a@example.com", "a@example.com-2")
    assert (len(viewer_of(first).scopes), len(viewer_of(second).scopes)) == (1, 0)


def test_the_name_of_a_local_admin_is_not_taken_over(
    provider: FakeProvider, browser: Client
) -> None:
    local, _ = people.create_user(name="admin", role="admin")
    provider.claims = {"preferred_username": "admin", "email": "admin@example.com"}
    sign_in(provider, browser)
    assert signed_in(browser) == "admin-2"
    assert not Identity.objects.filter(user=local).exists()


def test_a_disabled_person_is_not_signed_in(provider: FakeProvider, browser: Client) -> None:
    sign_in(provider, browser)
    people.disable_user(name="ada")
    assert browser.get("/").status_code == 302
    response = sign_in(provider, browser)
    assert (response.status_code, signed_in(browser)) == (403, "")
    assert sentence_of(response) == "The account of ada is disabled; an admin can enable it again."


@pytest.mark.parametrize("address", ["https://evil.example/", "//evil.example", "javascript:x"])
def test_a_sign_in_never_redirects_to_another_host(
    provider: FakeProvider, browser: Client, address: str
) -> None:
    assert sign_in(provider, browser, f"?next={address}")["Location"] == "/"


# --- answers that are refused


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"exp": time.time() - 3600}, "it has expired"),
    ({"aud": "another-app"}, "it is for another application"),
    ({"aud": [CLIENT_ID, "another-app"]}, "it is for another application"),
    ({"azp": "another-app"}, "it is for another application"),
    ({"iss": "https://evil.example"}, "it is of another issuer"),
    ({"nonce": "of-another-sign-in"}, "it belongs to another sign-in"),
    ({"sub": None}, "it has no sub"),
    ({"exp": None}, "it has no exp"),
    ({"iat": time.time() + 3600}, "it cannot be read"),
]


@pytest.mark.parametrize(("claims", "why"), REFUSED)
def test_a_wrong_answer_is_refused(
    provider: FakeProvider, browser: Client, claims: dict[str, Any], why: str
) -> None:
    provider.claims = claims
    response = sign_in(provider, browser)
    assert (response.status_code, signed_in(browser)) == (403, "")
    assert sentence_of(response) == f"The answer of ACME was not accepted: {why}."
    assert User.objects.count() == 0
    (line,) = AuditEntry.objects.all()
    assert (line.event, line.source) == ("sign-in-failed", "127.0.0.1")


@pytest.mark.parametrize(
    ("key", "algorithm", "why"),
    [
        (OTHER_KEY, "RS256", "its signature is wrong"),
        (SECRET * 2, "HS256", "it cannot be read"),
        (None, "none", "it cannot be read"),
    ],
)
def test_a_forged_signature_is_refused(
    provider: FakeProvider, browser: Client, key: Any, algorithm: str, why: str
) -> None:
    provider.key, provider.algorithm = key, algorithm
    response = sign_in(provider, browser)
    assert sentence_of(response) == f"The answer of ACME was not accepted: {why}."
    assert (response.status_code, signed_in(browser)) == (403, "")


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        ({"access_token": "opaque"}, "The answer of ACME was not accepted: it has no ID token."),
        (
            {"access_token": "opaque", "id_token": "x"},
            "The answer of ACME was not accepted: it cannot be read.",
        ),
        ({}, "ACME refused to finish this sign-in. Begin again."),
    ],
)
def test_an_answer_without_a_token_is_refused(
    provider: FakeProvider, browser: Client, tokens: dict[str, Any], sentence: str
) -> None:
    provider.tokens = tokens
    response = sign_in(provider, browser)
    assert (response.status_code, sentence_of(response)) == (403, sentence)


def test_userinfo_of_another_person_is_refused(provider: FakeProvider, browser: Client) -> None:
    provider.claims, provider.userinfo = {"groups": None}, {"sub": "person-2", "groups": ["ml"]}
    response = sign_in(provider, browser)
    assert sentence_of(response) == "The answer of ACME was not accepted: it names two people."


def test_a_replayed_answer_is_refused(provider: FakeProvider, browser: Client) -> None:
    parameters = provider.begin(browser.get(BEGIN)["Location"])
    answer = {"code": "the-code", "state": parameters["state"]}
    assert Client().get(FINISH, answer).status_code == 403  # in another browser
    assert browser.get(FINISH, answer).status_code == 302
    browser.post("/sign-out/")
    repeated = browser.get(FINISH, answer)
    assert (repeated.status_code, signed_in(browser)) == (403, "")
    assert sentence_of(repeated).startswith(
        "This sign-in was begun in another browser, was finished"
    )


def test_a_sign_in_that_took_too_long_is_refused(
    provider: FakeProvider, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = provider.begin(browser.get(BEGIN)["Location"])
    now = time.time()
    monkeypatch.setattr("allauth.socialaccount.internal.statekit.time.time", lambda: now + 601)
    response = browser.get(FINISH, {"code": "the-code", "state": parameters["state"]})
    assert (response.status_code, signed_in(browser)) == (403, "")


def test_another_code_is_refused(provider: FakeProvider, browser: Client) -> None:
    response = sign_in(provider, browser, code="of-somebody-else")
    assert (response.status_code, sentence_of(response)) == (
        403,
        "ACME refused to finish this sign-in. Begin again.",
    )


def test_a_cancelled_sign_in_is_refused(provider: FakeProvider, browser: Client) -> None:
    response = sign_in(provider, browser, error="access_denied")
    assert response.status_code == 403
    assert (
        sentence_of(response)
        == "ACME did not sign you in: you cancelled, or a rule there refused you."
    )


# --- a provider that is down


def test_an_unreachable_provider_is_reported_in_one_sentence(
    provider: FakeProvider, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "OIDC_ISSUER", "http://127.0.0.1:9")
    response = browser.get(BEGIN)
    assert (response.status_code, response["Retry-After"]) == (503, "2")
    assert sentence_of(response) == (
        "ACME does not answer correctly, so signing in with it does not work now. Try again later."
    )


def test_a_provider_that_fails_half_way_is_reported(
    provider: FakeProvider, browser: Client
) -> None:
    parameters = provider.begin(browser.get(BEGIN)["Location"])
    provider.status = 500
    response = browser.get(FINISH, {"code": "the-code", "state": parameters["state"]})
    assert (response.status_code, signed_in(browser)) == (403, "")
    provider.status = 200
    assert sign_in(provider, browser).status_code == 302


def test_an_endless_answer_is_aborted(
    provider: FakeProvider, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapters, "LARGEST_ANSWER", 50)
    assert browser.get(BEGIN).status_code == 503
    monkeypatch.setattr(adapters, "LARGEST_ANSWER", 10_000)
    monkeypatch.setattr(adapters, "DEADLINE", 0.000001)
    assert browser.get(BEGIN).status_code == 503


@pytest.mark.parametrize(
    "changes", [{"issuer": "https://evil.example"}, {"token_endpoint": None}, {"jwks_uri": 7}]
)
def test_an_invalid_configuration_is_refused(
    provider: FakeProvider, browser: Client, changes: dict[str, Any]
) -> None:
    provider.configuration = changes
    response = browser.get(BEGIN)
    assert response.status_code == 503
    assert sentence_of(response).startswith("The answer of ACME was not accepted: its config")


# --- fresh sign-ins


def test_a_fresh_sign_in_asks_the_provider_to_ask_again(
    provider: FakeProvider, browser: Client
) -> None:
    grant_group(group="ml", role="viewer")
    sign_in(provider, browser)
    provider.claims = {"auth_time": time.time() - 3600}
    provider_request = provider.begin(browser.get(f"{BEGIN}?fresh=1")["Location"])
    assert (provider_request["prompt"], provider_request["max_age"]) == ("login", "0")
    response = browser.get(FINISH, {"code": "the-code", "state": provider_request["state"]})
    assert response.status_code == 403
    assert sentence_of(response).startswith("ACME did not ask for your credentials again")
    provider.claims = {"auth_time": time.time()}
    assert sign_in(provider, browser, "?fresh=1&next=/account/")["Location"] == "/account/"
    assert sessions.is_fresh(browser.session)


def test_a_sign_in_of_an_hour_ago_at_the_provider_is_not_fresh(
    provider: FakeProvider, browser: Client
) -> None:
    provider.claims = {"auth_time": time.time() - 3600}
    sign_in(provider, browser)
    assert signed_in(browser) == "ada"
    assert not sessions.is_fresh(browser.session)


def test_a_network_that_begins_too_many_sign_ins_waits(
    provider: FakeProvider, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "MOST_SIGN_IN_STARTS", 2)
    assert [browser.get(BEGIN).status_code for _ in range(2)] == [302, 302]
    before, lines = Session.objects.count(), AuditEntry.objects.count()
    refused = Client().get(BEGIN)
    assert refused.status_code == 429
    assert 1 <= int(refused["Retry-After"]) <= 60
    assert sentence_of(refused).startswith("Too many sign-ins were begun from your network.")
    assert (Session.objects.count(), AuditEntry.objects.count()) == (before, lines)
    assert browser.get(BEGIN, REMOTE_ADDR="192.0.2.7").status_code == 302
    Attempts.objects.update(ends_at=timezone.now())
    sign_in(provider, browser)
    assert signed_in(browser), "a minute later"


def test_a_session_has_an_absolute_end(provider: FakeProvider, browser: Client) -> None:
    before = timezone.now()
    sign_in(provider, browser)
    end = browser.session.get_expiry_date()
    assert timedelta(hours=12) <= end - before < timedelta(hours=12, minutes=1)


def test_a_role_of_a_group_that_is_revoked_ends_at_once(
    provider: FakeProvider, browser: Client
) -> None:
    grant_group(group="ml", role="viewer")
    sign_in(provider, browser)
    revoke_group(group="ml", role="viewer")
    assert "You have no role yet" in browser.get("/").content.decode()


def test_a_late_form_is_restored_after_single_sign_on(
    provider: FakeProvider, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_in(provider, browser)
    SessionRecord.objects.update(ends_at=timezone.now() - timedelta(minutes=1))
    Session.objects.update(expire_date=timezone.now() - timedelta(minutes=1))
    late = browser.post("/account/tokens/", {"days": "17"})
    page = browser.get(late["Location"])
    href = page.context["provider_href"]
    back = sign_in(provider, browser, href.removeprefix(BEGIN))
    assert back["Location"] == page.context["next"]
    assert 'value="17"' in browser.get(back["Location"]).content.decode()
