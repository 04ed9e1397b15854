"""Channels, rules and messages, on the page and in the API: rights, and no disclosed secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client

from gangboard.notify import channels
from gangboard.notify.posting import Receipt
from gangboard.notify.rules import MOST_RULES
from gangboard.store import authentication
from gangboard.store.models import AuditEntry, Channel, Cluster, Delivery, Rule
from gangboard.store.secrets import unseal
from tests.factories import make_cluster, make_gang
from tests.notify.conftest import make_channel, make_rule
from tests.personas import Person, make_operator

API = "/api/v1/notifications"
SLACK = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
HOOK = "https://hooks.example.com/canary-path"
JSON = "application/json"


@pytest.fixture(autouse=True)
def no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check addresses without a process."""

    def check(order: Mapping[str, Any]) -> Receipt:
        known = str(order["address"]).startswith("slack://")
        return Receipt(True, service="Slack") if known else Receipt(False, "This is no address.")

    defaults = channels.make_channel.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "post", check)


def form_of_channel(**options: str) -> dict[str, str]:
    return {"name": "ops", "kind": "apprise", "address": SLACK, "used_by": "admins", **options}


def post(person: Person, path: str, body: Mapping[str, Any]) -> Any:
    return person.client.post(f"{API}/{path}", body, content_type=JSON)


class TestChannels:
    def test_an_address_is_stored_encrypted_and_never_shown(self, owner: Person) -> None:
        response = owner.client.post("/notifications/channels/", form_of_channel())
        assert (response.status_code, response["Location"]) == (303, "/notifications/#channels")
        channel = Channel.objects.get()
        assert unseal(bytes(channel.address)) == {"address": SLACK, "secret": ""}
        assert b"T1JJ3" not in bytes(channel.address)
        page = owner.client.get("/notifications/").content.decode()
        listed = owner.client.get(f"{API}/channels/").content.decode()
        audit = " ".join(map(str, AuditEntry.objects.values_list("sentence", "details")))
        assert "T1JJ3" not in page + listed + audit
        assert AuditEntry.objects.get(event="channel-made").object_name == "Channel/ops"

    def test_the_secret_of_a_webhook_is_shown_once(self, owner: Person) -> None:
        form = form_of_channel(kind="webhook", address=HOOK)
        page = owner.client.post("/notifications/channels/", form).content.decode()
        (secret,) = set(re.findall(r"whsec_[A-Za-z0-9+/=]{40,}", page))
        assert unseal(bytes(Channel.objects.get().address)) == {"address": HOOK, "secret": secret}
        page = owner.client.get("/notifications/").content.decode()
        assert "https://hooks.example.com" in page
        assert "whsec_" not in page
        assert "canary-path" not in page

    def test_the_api_manages_channels(self, owner: Person) -> None:
        body = {"name": "bot", "kind": "webhook", "address": HOOK, "for_everybody": True}
        created = post(owner, "channels/", body)
        assert created.status_code == 201
        assert created.json()["secret"].startswith("whsec_")
        (listed,) = owner.client.get(f"{API}/channels/").json()["results"]
        assert "secret" not in listed
        assert (listed["service"], listed["used_by"]) == ("https://hooks.example.com", "everybody")
        tested = post(owner, f"channels/{listed['id']}/test/", {})
        assert (tested.status_code, tested.json()["state"]) == (202, "waiting")
        assert owner.client.delete(f"{API}/channels/{listed['id']}/").status_code == 204
        assert not Channel.objects.exists()
        events = list(AuditEntry.objects.order_by("number").values_list("event", flat=True))
        assert events == ["channel-made", "channel-tested", "channel-removed"]

    @pytest.mark.parametrize(
        "address",
        [
            *("kram://x", "", "ftp://x.example.com", "https://", "https://u:p@x.example.com/"),
            *(
                "https://127.0.0.1/",
                "https://[::1]/",
                "http://localhost:8000/",
                "https://10.0.0.1/",
            ),
            *("https://x.example.com:0/", "https://x.exa\nmple.com/", "http://169.254.169.254/"),
        ],
    )
    def test_an_unusable_address_is_refused(self, owner: Person, address: str) -> None:
        for kind in ("webhook", "apprise"):
            response = post(owner, "channels/", {"name": "x", "kind": kind, "address": address})
            assert response.status_code in (400, 409)
            assert "u:p" not in response.content.decode()
        form = form_of_channel(kind="webhook", address=address)
        assert owner.client.post("/notifications/channels/", form).status_code in (400, 409)
        assert not Channel.objects.exists()

    def test_channel_names_are_unique_and_users_must_exist(self, owner: Person) -> None:
        make_channel("ops")
        assert owner.client.post("/notifications/channels/", form_of_channel()).status_code == 409
        for extra in ({"owner": "nobody"}, {"owner": ""}):
            form = form_of_channel(name="x", used_by="person", **extra)
            response = owner.client.post("/notifications/channels/", form)
            assert response.status_code in (400, 409)

    def test_only_admins_create_test_and_remove_channels(
        self, reader: Person, stranger: Person
    ) -> None:
        channel = make_channel(for_everybody=True)
        operator = make_operator(Cluster.objects.get())
        for person in (reader, stranger, operator):
            for path in ("", f"{channel.pk}/test/", f"{channel.pk}/remove/", "99/remove/"):
                response = person.client.post(f"/notifications/channels/{path}", form_of_channel())
                assert response.status_code == 403
            body = {"name": "x", "kind": "apprise", "address": SLACK}
            assert post(person, "channels/", body).status_code == 403
            assert post(person, f"channels/{channel.pk}/test/", {}).status_code == 403
            for id_ in (channel.pk, 99, "x"):
                assert person.client.delete(f"{API}/channels/{id_}/").status_code == 403
            assert "Create a channel" not in person.client.get("/notifications/").content.decode()
        assert Channel.objects.count() == 1
        assert not Delivery.objects.exists()

    def test_a_read_only_admin_token_creates_no_channel(self, owner: Person) -> None:
        token = authentication.issue_token(user=owner.user, may_act=False)
        robot = Client(headers={"Authorization": f"Bearer {token}"})
        body = {"name": "x", "kind": "apprise", "address": SLACK}
        assert robot.post(f"{API}/channels/", body, content_type=JSON).status_code == 403
        assert robot.get(f"{API}/channels/").status_code == 200
        channel = make_channel()
        rule = make_rule(channel, owner=owner.user)
        assert robot.delete(f"{API}/rules/{rule.pk}/").status_code == 403
        rule_body = {"name": "x", "trigger": "verdict", "channels": ["ops"]}
        assert robot.post(f"{API}/rules/", rule_body, content_type=JSON).status_code == 403

    def test_missing_channels_get_404(self, owner: Person) -> None:
        for id_ in ("99", "x", "9" * 30):
            assert owner.client.delete(f"{API}/channels/{id_}/").status_code == 404
            assert owner.client.delete(f"{API}/rules/{id_}/").status_code == 404
            assert owner.client.post(f"/notifications/channels/{id_}/remove/").status_code == 404
            assert owner.client.get(f"/notifications/rules/{id_}/mute/").status_code == 404


class TestRules:
    def test_every_user_makes_rules_on_open_channels(self, reader: Person) -> None:
        make_channel("open", for_everybody=True)
        make_channel("mine", owner=reader.user)
        make_channel("closed")
        names = [item["name"] for item in reader.client.get(f"{API}/channels/").json()["results"]]
        assert names == ["mine", "open"]
        body = {"name": "r", "trigger": "waits", "minutes": 10, "namespace": "res*"}
        created = post(reader, "rules/", {**body, "channels": ["open", "mine"]})
        assert created.status_code == 201
        assert (created.json()["owner"], created.json()["state"]) == ("rene", "in force")
        refused = post(reader, "rules/", {**body, "channels": ["closed"]})
        missing = post(reader, "rules/", {**body, "channels": ["xxxxxx"]})
        assert (refused.status_code, missing.status_code) == (409, 409)
        # A channel that may not be used looks like none.
        texts = (refused.json()["detail"], missing.json()["detail"])
        assert texts[0].replace("closed", "xxxxxx") == texts[1]
        form: dict[str, Any] = {"name": "by page", "trigger": "verdict", "channels": ["open"]}
        assert reader.client.post("/notifications/rules/", form).status_code == 303
        assert Rule.objects.filter(owner=reader.user).count() == 2
        assert AuditEntry.objects.filter(event="rule-made").count() == 2

    @pytest.mark.parametrize(
        "wrong",
        [
            {"trigger": "runs"},
            {"trigger": "waits"},
            {"trigger": "silent", "namespace": "x"},
            {"trigger": "verdict", "minutes": 5},
            {"cluster": "nowhere"},
            {"health": "ill"},
            {"channels": []},
            {"for_admins": True},
        ],
    )
    def test_invalid_rules_are_refused(self, reader: Person, wrong: dict[str, Any]) -> None:
        make_channel(for_everybody=True)
        body = {"name": "r", "trigger": "verdict", "channels": ["ops"], **wrong}
        assert post(reader, "rules/", body).status_code in (400, 409)
        assert reader.client.post("/notifications/rules/", body).status_code in (400, 409)
        assert not Rule.objects.exists()

    def test_a_hidden_cluster_looks_missing(self, reader: Person) -> None:
        make_channel(for_everybody=True)
        make_cluster("hidden")
        body = {"name": "r", "trigger": "verdict", "channels": ["ops"]}
        texts = [
            post(reader, "rules/", {**body, "cluster": name}).json()["detail"].replace(name, "")
            for name in ("hidden", "missing")
        ]
        assert texts[0] == texts[1]

    def test_rules_of_other_users_are_hidden_and_protected(
        self, owner: Person, reader: Person
    ) -> None:
        channel = make_channel(for_everybody=True)
        theirs = make_rule(channel, owner=owner.user, name="canary")
        admins = make_rule(channel, owner=None, name="canary-2")
        Delivery.objects.create(
            rule=theirs,
            channel=channel,
            state="sent",
            next_at="2026-11-21T10:00Z",
            created_at="2026-11-21T10:00Z",
        )
        for rule in (theirs, admins):
            path = f"/notifications/rules/{rule.pk}"
            assert reader.client.post(f"{path}/remove/").status_code == 404
            assert reader.client.post(f"{path}/mute/", {"hours": 1}).status_code == 404
            assert reader.client.get(f"{path}/mute/").status_code == 404
            assert reader.client.delete(f"{API}/rules/{rule.pk}/").status_code == 404
            assert post(reader, f"rules/{rule.pk}/mute/", {"hours": 1}).status_code == 404
        for path in (f"{API}/rules/", f"{API}/deliveries/", "/notifications/"):
            assert "canary" not in reader.client.get(path).content.decode()
            assert "canary" in owner.client.get(path).content.decode()
        mine = make_rule(channel, owner=reader.user)
        assert reader.client.post(f"/notifications/rules/{mine.pk}/remove/").status_code == 303
        assert owner.client.delete(f"{API}/rules/{admins.pk}/").status_code == 204
        assert list(Rule.objects.all()) == [theirs]

    def test_a_rule_is_muted_by_a_click(self, reader: Person) -> None:
        rule = make_rule(make_channel(for_everybody=True), owner=reader.user)
        path = f"/notifications/rules/{rule.pk}/mute/"
        assert "Mute for 8 hours" in reader.client.get(path).content.decode()
        assert reader.client.get(path).status_code == 200
        assert reader.client.post(path, {"hours": "x"}).status_code == 400
        assert reader.client.post(path, {"hours": "8"}).status_code == 303
        (listed,) = reader.client.get(f"{API}/rules/").json()["results"]
        assert (listed["state"], listed["muted_until"] is None) == ("muted", False)
        assert post(reader, f"rules/{rule.pk}/mute/", {"hours": 0}).json()["state"] == "in force"
        assert post(reader, f"rules/{rule.pk}/mute/", {"hours": -1}).status_code == 400
        assert AuditEntry.objects.filter(event="rule-muted").count() == 2

    def test_a_person_has_a_bounded_number_of_rules(self, reader: Person) -> None:
        make_channel(for_everybody=True)
        Rule.objects.bulk_create(
            Rule(name="r", owner=reader.user, trigger="verdict", created_at="2026-11-21T10:00Z")
            for _ in range(MOST_RULES)
        )
        body = {"name": "r", "trigger": "verdict", "channels": ["ops"]}
        assert post(reader, "rules/", body).status_code == 409


class TestRunNotification:
    def test_a_gang_page_links_to_the_form(self, reader: Person) -> None:
        gang = make_gang(Cluster.objects.get())
        make_channel("mail", owner=reader.user)
        path = f"/notifications/gangs/{gang.pk}/"
        assert f'href="{path}"' in reader.client.get(f"/gangs/{gang.pk}/").content.decode()
        assert "mail" in reader.client.get(path).content.decode()
        assert reader.client.post(path, {"channels": ["mail"]}).status_code == 303
        rule = Rule.objects.get()
        assert (rule.owner, rule.gang_id, rule.trigger) == (reader.user, gang.pk, "runs")
        # Once is enough.
        assert reader.client.post(path, {"channels": ["mail"]}).status_code == 409
        page = reader.client.get("/notifications/").content.decode()
        assert f"JobSet {gang.name} (research, eu-train) runs or ends" in page

    def test_the_form_explains_an_ended_wait(self, reader: Person) -> None:
        gang = make_gang(Cluster.objects.get(), health="running")
        make_channel(for_everybody=True)
        path = f"/notifications/gangs/{gang.pk}/"
        assert "it is running now" in reader.client.get(path).content.decode()
        assert reader.client.post(path, {"channels": ["ops"]}).status_code == 409

    def test_the_form_without_channels_names_a_contact(self, reader: Person) -> None:
        gang = make_gang(Cluster.objects.get())
        page = reader.client.get(f"/notifications/gangs/{gang.pk}/").content.decode()
        assert "Ask an admin" in page

    def test_a_hidden_gang_is_a_404(self, reader: Person) -> None:
        gang = make_gang(Cluster.objects.get(), namespace="secret")
        make_channel(for_everybody=True)
        for id_ in (gang.pk, "missing", "%00"):
            path = f"/notifications/gangs/{id_}/"
            assert reader.client.get(path).status_code == 404
            assert reader.client.post(path, {"channels": ["ops"]}).status_code == 404


def test_changes_need_the_csrf_token(owner: Person) -> None:
    channel = make_channel()
    rule = make_rule(channel, owner=owner.user)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(owner.user)
    for path in (
        *("channels/", f"channels/{channel.pk}/test/", f"channels/{channel.pk}/remove/"),
        *("rules/", f"rules/{rule.pk}/remove/", f"rules/{rule.pk}/mute/", "gangs/x/"),
    ):
        assert strict.post(f"/notifications/{path}", form_of_channel()).status_code == 403
    assert strict.delete(f"{API}/rules/{rule.pk}/").status_code == 403
    assert strict.post(f"{API}/channels/", "{}", content_type=JSON).status_code == 403
    assert (Channel.objects.count(), Rule.objects.count()) == (1, 1)


def test_deliveries_are_paginated(owner: Person) -> None:
    channel = make_channel()
    rule = make_rule(channel)
    Delivery.objects.bulk_create(
        Delivery(
            rule=rule,
            channel=channel,
            state="failed",
            error="The receiver answered with 500.",
            next_at="2026-11-21T10:00Z",
            created_at="2026-11-21T10:00Z",
        )
        for _ in range(3)
    )
    first = owner.client.get(f"{API}/deliveries/?limit=2").json()
    second = owner.client.get(first["next"]).json()
    ids = [int(item["id"]) for item in (*first["results"], *second["results"])]
    assert ids == sorted(ids, reverse=True)
    assert (len(ids), second["next"]) == (3, None)
    assert first["results"][0]["error"] == "The receiver answered with 500."
    assert owner.client.get(f"{API}/deliveries/?cursor=x").status_code == 400
    assert "answered with 500" in owner.client.get("/notifications/").content.decode()


def test_only_admins_see_errors_of_shared_channels(owner: Person, reader: Person) -> None:
    make_channel(for_everybody=True, error="Its address is 10.0.0.7.", failures=1)
    for path in (f"{API}/channels/", "/notifications/"):
        assert "10.0.0.7" in owner.client.get(path).content.decode()
        assert "10.0.0.7" not in reader.client.get(path).content.decode()


def test_the_page_needs_a_sign_in(anonymous: Client) -> None:
    assert anonymous.get("/notifications/").status_code == 302
    for name in ("channels", "rules", "deliveries"):
        assert anonymous.get(f"{API}/{name}/").status_code == 401


def test_links_in_messages_lead_to_pages() -> None:
    from django.urls import resolve

    for path, name in (
        ("/gangs/x/", "gang"),
        ("/actions/x/", "action"),
        ("/clusters/x/", "cluster"),
        ("/holds/", "holds"),
        ("/notifications/", "notifications"),
        ("/notifications/rules/1/mute/", "notification-rule-mute"),
    ):
        assert resolve(path).url_name == name
