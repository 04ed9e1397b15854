"""A late form is restored after the sign-in and is not submitted automatically."""

from __future__ import annotations

import html
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from gangboard.pages.core import saved_forms
from gangboard.store import authentication, people
from gangboard.store.models import Action, AuditEntry, Channel, Cluster, Gang, Rule, SessionRecord
from tests.personas import PASSWORD
from tests.web.acting import job_target
from tests.web.test_sessions import move

pytestmark = pytest.mark.django_db

FRESH, IDLE = timedelta(minutes=16), timedelta(hours=8, minutes=1)
REASON = "gpu-07 throws ECC errors"
PERSON = {"name": "vera", "role": "operator", "cluster": "", "namespace": "team-*"}


def make_person(name: str) -> User:
    user, _ = people.create_user(name=name, role="admin")
    user.set_password(PASSWORD)
    user.save()
    return user


def sign_in(client: Client, name: str = "ada", back_to: str = "/") -> Any:
    form = {"name": name, "password": PASSWORD, "next": back_to}
    answer = client.post("/sign-in/", form)
    assert answer.status_code == 302, answer.content
    return answer


@pytest.fixture
def client(db: None) -> Client:
    """A browser in which ada, an admin, has signed in."""
    make_person("ada")
    browser = Client()
    sign_in(browser)
    return browser


def to_sign_in(answer: Any, client: Client) -> tuple[str, str]:
    """Follow an answer to the sign-in page; return its text and where it leads back to."""
    address = answer.headers.get("HX-Redirect") or answer["Location"]
    assert address.startswith("/sign-in/?next=")
    page = client.get(address)
    return page.content.decode(), page.context["next"]


def text(answer: Any) -> str:
    assert answer.status_code == 200, answer.status_code
    return html.unescape(answer.content.decode())


def stored() -> str:
    """Return everything that sessions hold."""
    return str([row.get_decoded() for row in Session.objects.all()])


@pytest.mark.parametrize("late", [FRESH, IDLE])
def test_a_form_is_filled_in_again(
    client: Client, monkeypatch: pytest.MonkeyPatch, late: timedelta
) -> None:
    move(late, monkeypatch)
    before = AuditEntry.objects.count()
    door, back_to = to_sign_in(client.post("/people/", PERSON), client)
    assert "keeps your input for 15 minutes" in door
    assert "fill it in again" not in door
    assert back_to.startswith("/people/?kept=")
    assert back_to.endswith("#add")
    assert sign_in(client, back_to=back_to)["Location"] == back_to
    page = text(client.get(back_to))
    assert saved_forms.REFILLED in page
    assert 'value="vera"' in page
    assert '<option value="operator" selected>' in page
    assert 'value="team-*"' in page
    assert not User.objects.filter(username="vera").exists()
    assert AuditEntry.objects.count() == before + 1, "the sign-in"
    assert 'value="vera"' not in text(client.get("/people/"))
    assert client.post("/people/", PERSON).status_code == 303


@pytest.mark.parametrize("dialog", [True, False])
def test_a_suspension_keeps_its_reason(
    client: Client, gang: Gang, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, dialog: bool
) -> None:
    target, now = job_target(gang, 1), timezone.now()
    Cluster.objects.update(contact_at=now + IDLE)
    form = {"verb": "suspend", "target": target, "reason": REASON, "key": "k1", "until": ""}
    headers = {
        "HX-Request": "true",
        "HX-Target": "act-body",
        "HX-Current-URL": "http://testserver/",
    }
    move(IDLE, monkeypatch)
    answer = client.post("/actions/confirm/", form, headers=headers if dialog else {})
    _, back_to = to_sign_in(answer, client)
    sign_in(client, back_to=back_to)
    page = text(client.get(back_to))
    assert REASON in page
    assert target in page
    assert "Suspend Job" in page
    assert 'value="k1"' not in page, "a form of its own, not the one that was sent"
    assert Action.objects.count() == 0


def test_a_rule_keeps_its_channels(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ops", "night"):
        Channel.objects.create(
            name=name, kind="webhook", for_everybody=True, created_at=timezone.now()
        )
    move(IDLE, monkeypatch)
    form = {"name": "wakes me", "trigger": "waits", "minutes": "45", "channels": ["night"]}
    _, back_to = to_sign_in(client.post("/notifications/rules/", form), client)
    sign_in(client, back_to=back_to)
    page = text(client.get(back_to))
    assert 'value="wakes me"' in page
    assert 'value="45"' in page
    assert "night" in stored()
    assert '<details class="form-fold" open>' in page
    assert Rule.objects.count() == 0


def test_another_user_gets_an_empty_form(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    make_person("eve")
    move(IDLE, monkeypatch)
    _, back_to = to_sign_in(client.post("/people/", PERSON), client)
    assert "vera" in stored()
    sign_in(client, "eve", back_to)
    page = text(client.get(back_to))
    assert saved_forms.EXPIRED in page
    assert "vera" not in page
    assert "vera" not in stored()


def test_a_saved_form_expires_after_15_minutes(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    move(FRESH, monkeypatch)
    _, back_to = to_sign_in(client.post("/people/", PERSON), client)
    sign_in(client, back_to=back_to)
    move(saved_forms.LIFE, monkeypatch)
    page = text(client.get(back_to))
    assert saved_forms.EXPIRED in page
    assert "vera" not in page


def test_secrets_are_not_saved(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    move(FRESH, monkeypatch)
    secret = "hunter2-hunter2"
    channel = {
        "name": "room",
        "kind": "apprise",
        "address": f"slack://{secret}",
        "used_by": "admins",
    }
    _, back_to = to_sign_in(client.post("/notifications/channels/", channel), client)
    client.post("/account/password/", {"current": secret, "new": secret, "again": secret})
    client.post("/add-cluster/", {"name": "prod", "kubeconfig": secret})
    client.post("/people/", {**PERSON, "csrfmiddlewaretoken": secret, "password": secret})
    assert "room" in stored()
    assert secret not in stored()
    sign_in(client, back_to=back_to)
    assert 'value="room"' in text(client.get(back_to))


def test_an_unknown_sender_saves_no_form(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = Client()
    for cookie in ("", "no-such-session"):
        stranger.cookies["sessionid"] = cookie
        answer = stranger.post("/people/", PERSON, headers={"Referer": "http://testserver/people/"})
        assert answer["Location"] == "/sign-in/?next=/people/"
    # A session ended by an admin belongs to no user.
    SessionRecord.objects.all().delete()
    Session.objects.all().delete()
    answer = client.post("/people/", PERSON)
    assert answer["Location"] == "/sign-in/"
    assert Session.objects.count() == 0


def test_a_sign_in_link_restores_the_form(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    move(IDLE, monkeypatch)
    _, back_to = to_sign_in(client.post("/account/tokens/", {"days": "17"}), client)
    secret = authentication.create_sign_in_link(user=User.objects.get(username="ada"))
    answer = client.post("/sign-in/link/", {"secret": secret})
    assert answer["Location"] == back_to
    assert 'value="17"' in text(client.get(back_to))


def test_a_browser_saves_three_forms_and_no_huge_one(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    move(FRESH, monkeypatch)
    for name in ("p1", "p2", "p3", "p4"):
        client.post("/people/", {**PERSON, "name": name})
    client.post("/people/", {**PERSON, "name": "p5" * saved_forms.LARGEST})
    assert [name in stored() for name in ("p1", "p2", "p3", "p4", "p5")] == [
        *(False, True, True, True, False)
    ]
