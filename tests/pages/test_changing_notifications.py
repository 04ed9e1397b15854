"""Changes of channels and rules, on the page and in the API: unchanged fields, and rights."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gangboard.notify import channels
from gangboard.notify.posting import Receipt
from gangboard.store import authentication
from gangboard.store.models import AuditEntry, Channel, Cluster, Delivery, Rule
from gangboard.store.secrets import unseal
from tests.factories import make_cluster, make_gang
from tests.notify.conftest import SECRET, make_channel, make_rule
from tests.pages.test_notifications import API, JSON, SLACK
from tests.personas import Person, make_operator

HOOK = "https://hooks.example.com/canary-path"


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Check addresses without a process; returns those that were checked."""
    addresses: list[str] = []

    def check(order: Mapping[str, Any]) -> Receipt:
        addresses.append(order["address"])
        known = str(order["address"]).startswith("slack://")
        return Receipt(True, service="Slack") if known else Receipt(False, "This is no address.")

    defaults = channels.change_channel.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "post", check)
    return addresses


def patch(person: Person, path: str, body: Mapping[str, Any]) -> Any:
    return person.client.patch(f"{API}/{path}", body, content_type=JSON)


def last_sentence() -> str:
    newest = AuditEntry.objects.order_by("-number").first()
    return newest.sentence if newest is not None else ""


def stored(channel: Channel) -> dict[str, Any]:
    channel.refresh_from_db()
    return unseal(bytes(channel.address))


class TestChannels:
    def test_an_empty_address_field_keeps_the_address(
        self, owner: Person, checked: list[str]
    ) -> None:
        channel = make_channel("ops")
        path = f"/notifications/channels/{channel.pk}/"
        page = owner.client.get(path).content.decode()
        assert 'value="ops"' in page
        assert "apprise://ops" not in page
        form = {"name": "on-call", "address": "", "used_by": "everybody"}
        answer = owner.client.post(path, form)
        assert (answer.status_code, answer["Location"]) == (303, "/notifications/#channels")
        assert stored(channel) == {"address": "apprise://ops", "secret": ""}
        assert (channel.name, channel.for_everybody, checked) == ("on-call", True, [])
        assert last_sentence() == (
            "Channel ops was changed: it is now called on-call, it is for everybody."
        )

    def test_a_new_address_keeps_the_secret_and_gets_pending_messages(self, owner: Person) -> None:
        channel = make_channel(
            "bot",
            kind="webhook",
            error="The receiver answered with 500.",
            failures=9,
            next_at=timezone.now() + timedelta(hours=1),
            sent_at=timezone.now(),
        )
        later = timezone.now() + timedelta(hours=1)
        columns = {"state": "failed", "next_at": later, "created_at": timezone.now()}
        waits = Delivery.objects.create(rule=make_rule(channel), channel=channel, **columns)
        answer = patch(owner, f"channels/{channel.pk}/", {"address": HOOK})
        assert answer.status_code == 200
        assert stored(channel) == {"address": HOOK, "secret": SECRET}
        row = answer.json()
        assert (row["service"], row["state"], row["error"]) == (
            "https://hooks.example.com",
            "new",
            "",
        )
        assert channel.next_at is None
        waits.refresh_from_db()
        assert waits.next_at <= timezone.now()
        sentence = last_sentence()
        assert (
            sentence == "Channel bot was changed: it has a new address (https://hooks.example.com)."
        )
        for text in (answer.content.decode(), sentence):
            assert "canary-path" not in text
            assert SECRET not in text

    @pytest.mark.parametrize(
        "address",
        ["https://10.0.0.1/", "http://localhost/", "kram://x", "https://u:p@x.example.com/"],
    )
    def test_a_new_address_is_validated_like_the_first(self, owner: Person, address: str) -> None:
        for kind in ("webhook", "apprise"):
            channel = make_channel(f"old-{kind}", kind=kind)
            before = stored(channel)
            answer = patch(owner, f"channels/{channel.pk}/", {"address": address})
            assert answer.status_code == 409
            form = {"name": "new", "address": address, "used_by": "admins"}
            page = owner.client.post(f"/notifications/channels/{channel.pk}/", form)
            assert page.status_code == 409
            assert stored(channel) == before
        assert not AuditEntry.objects.filter(event="channel-changed").exists()

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            ({"for_everybody": True}, "everybody"),
            ({"owner": ""}, "admins"),
            ({"for_everybody": False}, "rene"),
            ({"name": "other"}, "rene"),
            ({"owner": "olga"}, "olga"),
        ],
    )
    def test_a_channel_can_be_limited_to_users(
        self, owner: Person, reader: Person, body: dict[str, Any], expected: str
    ) -> None:
        channel = make_channel("ops", owner=reader.user)
        answer = patch(owner, f"channels/{channel.pk}/", body)
        assert (answer.status_code, answer.json()["used_by"]) == (200, expected)

    def test_an_invalid_channel_is_refused(self, owner: Person) -> None:
        channel, _ = make_channel("ops"), make_channel("taken")
        for body in (
            {"name": "taken"},
            {"owner": "no-such-person"},
            {"owner": "olga", "for_everybody": True},
        ):
            assert patch(owner, f"channels/{channel.pk}/", body).status_code == 409
        assert patch(owner, f"channels/{channel.pk}/", {"name": ""}).status_code == 400
        form = {"name": "ops", "used_by": "person", "owner": ""}
        path = f"/notifications/channels/{channel.pk}/"
        assert owner.client.post(path, form).status_code == 400
        Channel.objects.filter(pk=channel.pk).update(address=b"x")
        answer = patch(owner, f"channels/{channel.pk}/", {"address": SLACK})
        assert (answer.status_code, "cannot be decrypted" in answer.json()["detail"]) == (409, True)

    def test_an_unchanged_form_is_not_audited(self, owner: Person) -> None:
        channel = make_channel("ops")
        for body in ({}, {"name": "ops"}, {"for_everybody": False, "address": ""}):
            assert patch(owner, f"channels/{channel.pk}/", body).status_code == 200
        assert not AuditEntry.objects.filter(event="channel-changed").exists()

    def test_only_admins_change_channels_after_a_fresh_sign_in(
        self, owner: Person, reader: Person
    ) -> None:
        channel = make_channel("ops", for_everybody=True)
        path, body = f"channels/{channel.pk}/", {"name": "mine"}
        for person in (reader, make_operator(Cluster.objects.get())):
            assert patch(person, path, body).status_code == 403
            assert person.client.get(f"/notifications/{path}").status_code == 403
            assert person.client.post(f"/notifications/{path}", body).status_code == 403
        token = authentication.issue_token(user=owner.user, may_act=False)
        robot = Client(headers={"Authorization": f"Bearer {token}"})
        assert robot.patch(f"{API}/{path}", body, content_type=JSON).status_code == 403
        stale = Client()
        stale.force_login(owner.user)
        assert stale.patch(f"{API}/{path}", body, content_type=JSON).status_code == 403
        for answer in (
            stale.get(f"/notifications/{path}"),
            stale.post(f"/notifications/{path}", body),
        ):
            assert answer["Location"].startswith("/sign-in/")
        for id_ in ("99", "x"):
            assert patch(owner, f"channels/{id_}/", body).status_code == 404
            assert owner.client.get(f"/notifications/channels/{id_}/").status_code == 404
        channel.refresh_from_db()
        assert channel.name == "ops"


class TestRules:
    def test_a_rule_is_changed_by_form(self, reader: Person) -> None:
        mail = make_channel("mail", for_everybody=True)
        make_channel("chat", for_everybody=True)
        rule = make_rule(mail, owner=reader.user, trigger="waits", minutes=10, namespace="res*")
        path = f"/notifications/rules/{rule.pk}/"
        page = reader.client.get(path).content.decode()
        assert 'name="minutes" value="10"' in page
        assert 'value="mail" id="id_channels_1" checked' in page
        form = {"name": "slow", "trigger": "waits", "minutes": "5", "channels": ["mail", "chat"]}
        answer = reader.client.post(path, form)
        assert (answer.status_code, answer["Location"]) == (303, "/notifications/#rules")
        rule.refresh_from_db()
        assert (rule.name, rule.minutes, rule.namespace) == ("slow", 5, "")
        assert last_sentence() == (
            "Rule blocked was changed: name from blocked to slow, channels from mail to chat and"
            " mail, namespace from res* to any, minutes from 10 to 5."
        )

    def test_the_api_keeps_omitted_fields(self, reader: Person) -> None:
        rule = make_rule(
            make_channel(for_everybody=True), owner=reader.user, trigger="waits", minutes=10
        )
        answer = patch(reader, f"rules/{rule.pk}/", {"code": "image-pull"})
        assert answer.status_code == 200
        row = answer.json()
        assert (row["name"], row["minutes"], row["code"]) == ("blocked", 10, "image-pull")
        assert row["channels"] == ["ops"]
        # An answer of the API is a body for it.
        assert patch(reader, f"rules/{rule.pk}/", row).json() == row
        assert AuditEntry.objects.filter(event="rule-changed").count() == 1

    @pytest.mark.parametrize(
        "wrong",
        [
            {"trigger": "runs"},
            {"trigger": "silent"},
            {"minutes": None},
            {"cluster": "nowhere"},
            {"channels": []},
            {"channels": ["closed"]},
            {"name": ""},
        ],
    )
    def test_invalid_values_leave_the_rule_unchanged(
        self, reader: Person, wrong: dict[str, Any]
    ) -> None:
        make_channel("closed")
        channel = make_channel(for_everybody=True)
        rule = make_rule(channel, owner=reader.user, trigger="waits", minutes=10)
        assert patch(reader, f"rules/{rule.pk}/", wrong).status_code in (400, 409)
        form: dict[str, Any] = {"name": "r", "trigger": "waits", "minutes": 7, "channels": ["ops"]}
        form |= {name: value or "" for name, value in wrong.items()}
        answer = reader.client.post(f"/notifications/rules/{rule.pk}/", form)
        assert answer.status_code in (400, 409)
        rule.refresh_from_db()
        assert (rule.name, rule.trigger, rule.minutes) == ("blocked", "waits", 10)
        assert list(rule.channels.all()) == [channel]

    def test_rules_of_other_users_get_404(self, owner: Person, reader: Person) -> None:
        channel = make_channel(for_everybody=True)
        for rule in (make_rule(channel, owner=owner.user), make_rule(channel, owner=None)):
            path = f"rules/{rule.pk}/"
            assert patch(reader, path, {"name": "x"}).status_code == 404
            assert reader.client.get(f"/notifications/{path}").status_code == 404
            assert reader.client.post(f"/notifications/{path}", {"name": "x"}).status_code == 404
        ended = make_rule(channel, owner=reader.user, ended_at="2026-11-21T10:00Z")
        assert patch(reader, f"rules/{ended.pk}/", {"name": "x"}).status_code == 404
        assert not Rule.objects.filter(name="x").exists()

    def test_an_admin_cannot_extend_the_rights_of_a_users_rule(
        self, owner: Person, reader: Person
    ) -> None:
        make_cluster("hidden")
        make_channel("closed")
        rule = make_rule(make_channel(for_everybody=True), owner=reader.user)
        path = f"rules/{rule.pk}/"
        for body in ({"channels": ["closed"]}, {"cluster": "hidden"}):
            assert patch(owner, path, body).status_code == 409
        page = owner.client.get(f"/notifications/{path}").content.decode()
        assert "closed" not in page
        assert "hidden</option>" not in page
        assert patch(owner, path, {"name": "shorter"}).status_code == 200
        rule.refresh_from_db()
        assert (rule.name, rule.owner) == ("shorter", reader.user)
        token = authentication.issue_token(user=owner.user, may_act=False)
        robot = Client(headers={"Authorization": f"Bearer {token}"})
        assert robot.patch(f"{API}/{path}", {"name": "x"}, content_type=JSON).status_code == 403

    def test_messages_to_a_removed_channel_are_not_sent(self, reader: Person) -> None:
        first, second = (make_channel(name, for_everybody=True) for name in ("first", "second"))
        rule = make_rule(first, second, owner=reader.user)
        for channel in (first, second):
            for state, finished in (("waiting", None), ("sent", timezone.now())):
                Delivery.objects.create(
                    rule=rule,
                    channel=channel,
                    state=state,
                    next_at=timezone.now(),
                    created_at=timezone.now(),
                    finished_at=finished,
                )
        assert patch(reader, f"rules/{rule.pk}/", {"channels": ["second"]}).status_code == 200
        remaining = Delivery.objects.order_by("pk").values_list("channel__name", "state")
        assert list(remaining) == [("first", "sent"), ("second", "waiting"), ("second", "sent")]

    def test_a_rule_about_one_gang_has_a_name_and_channels(self, reader: Person) -> None:
        gang = make_gang(Cluster.objects.get())
        make_channel("mail", for_everybody=True)
        rule = make_rule(
            make_channel("chat", for_everybody=True),
            owner=reader.user,
            trigger="runs",
            gang_id=gang.pk,
        )
        path = f"/notifications/rules/{rule.pk}/"
        page = reader.client.get(path).content.decode()
        assert 'name="minutes"' not in page
        form = {"name": "llama", "channels": ["mail"]}
        assert reader.client.post(path, form).status_code == 303
        assert [channel.name for channel in rule.channels.all()] == ["mail"]
        assert patch(reader, f"rules/{rule.pk}/", {"minutes": 5}).status_code == 409
        # It sends one message, so a mute would mean to lose it.
        assert "cannot be muted" in reader.client.get(f"{path}mute/").content.decode()
        assert reader.client.post(f"{path}mute/", {"hours": 1}).status_code == 409
        answer = reader.client.post(f"{API}/rules/{rule.pk}/mute/", {"hours": 1}, content_type=JSON)
        assert answer.status_code == 409
        assert f"rules/{rule.pk}/mute/" not in reader.client.get("/notifications/").content.decode()


def test_the_page_mentions_the_queue_limit(reader: Person) -> None:
    page = reader.client.get("/notifications/").content.decode()
    assert "At most 500 messages wait for a channel." in page
