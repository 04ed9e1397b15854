"""The process that sends one message: deliveries, refusals, and that it always ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from email import message_from_string
from email.header import decode_header, make_header
from ipaddress import ip_network
from time import monotonic

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings
from standardwebhooks import Webhook, WebhookVerificationError

from gangboard.notify import posting
from gangboard.notify.addresses import is_allowed
from gangboard.notify.posting import run_sender, sign
from tests.notify.receivers import Receiver, http_receiver, mail_receiver
from tests.notify.warm_sender import WarmSender

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # of the specification
WORDS = {"do": "apprise", "title": "Blocked", "body": "JobSet llama waits."}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with http_receiver() as http:
        yield http


@pytest.fixture(scope="module")
def send() -> Iterator[WarmSender]:
    with WarmSender() as sender:
        yield sender


@pytest.fixture
def loopback(settings: Settings) -> None:
    settings.NOTIFY_NETWORKS = (ip_network("127.0.0.0/8"),)


def webhook(receiver: Receiver, body: str = "{}") -> dict[str, object]:
    headers = sign(SECRET, "msg_1", datetime.now(UTC), body)
    return {
        "do": "webhook",
        "address": f"http://{receiver.address}/x",
        "headers": headers,
        "body": body,
    }


@pytest.mark.usefixtures("loopback")
class TestWhatArrives:
    def test_a_webhook_is_signed_by_the_standard_webhooks_spec(self, receiver: Receiver) -> None:
        assert run_sender(webhook(receiver, '{"name":"größe"}')).ok
        ((headers, body),) = receiver.requests
        assert Webhook(SECRET).verify(body, headers) == {"name": "größe"}
        with pytest.raises(WebhookVerificationError):
            Webhook(SECRET).verify(body + b" ", headers)

    def test_apprise_sends_to_its_service(self, receiver: Receiver) -> None:
        assert run_sender({**WORDS, "address": f"json://{receiver.address}/x"}).ok
        ((_, body),) = receiver.requests
        assert b"JobSet llama waits." in body

    def test_a_mail_arrives(self, send: WarmSender) -> None:
        mails: list[str] = []
        with mail_receiver(mails) as port:
            address = (
                f"mailto://example.com:{port}?smtp=127.0.0.1&from=g@example.com&to=ada@example.com"
            )
            assert send({**WORDS, "address": address}).ok
        (mail,) = map(message_from_string, mails)
        assert str(make_header(decode_header(mail["Subject"]))) == "Blocked"
        assert "ada@example.com" in mail["To"]


@pytest.mark.usefixtures("loopback")
class TestReceiversThatFail:
    @pytest.mark.parametrize(("status", "final"), [(500, False), (429, False), (410, True)])
    def test_an_error_is_reported_with_its_status(
        self, send: WarmSender, receiver: Receiver, status: int, final: bool
    ) -> None:
        receiver.status = status
        outcome = send(webhook(receiver))
        assert (outcome.ok, outcome.final) == (False, final)
        assert str(status) in outcome.sentence

    def test_apprise_reports_the_status(self, send: WarmSender, receiver: Receiver) -> None:
        receiver.status = 503
        outcome = send({**WORDS, "address": f"json://{receiver.address}/x"})
        assert outcome.sentence == "The receiver answered with 503."

    def test_a_hanging_receiver_times_out(
        self, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(posting, "DEADLINE", 0.5)
        receiver.wait = 30
        started_at = monotonic()
        outcome = run_sender(webhook(receiver))
        assert outcome.sentence == "The receiver did not answer within 0.5 seconds."
        assert monotonic() - started_at < 15

    @pytest.mark.parametrize("scheme", ["webhook", "json"])
    def test_a_200_mb_response_is_not_read(
        self, send: WarmSender, receiver: Receiver, scheme: str
    ) -> None:
        receiver.size = 200_000_000
        if scheme == "webhook":
            assert send(webhook(receiver)).ok
        else:
            outcome = send({**WORDS, "address": f"json://{receiver.address}/x"})
            assert outcome.sentence == "The receiver answered with more than 64 KiB."
        assert receiver.sent < 20_000_000

    def test_a_refused_connection_is_reported(self, send: WarmSender) -> None:
        address = "http://127.0.0.1:9/"
        outcome = send({"do": "webhook", "address": address, "headers": {}, "body": "{}"})
        assert outcome.sentence == "The receiver cannot be reached."

    def test_a_redirect_is_not_followed(self, send: WarmSender, receiver: Receiver) -> None:
        receiver.status, receiver.location = 307, f"http://{receiver.address}/other"
        assert "307" in send(webhook(receiver)).sentence
        assert "307" in send({**WORDS, "address": f"json://{receiver.address}/"}).sentence
        assert len(receiver.requests) == 2


class TestAddresses:
    @pytest.mark.parametrize("do", ["webhook", "apprise", "mail"])
    def test_a_name_that_resolves_to_this_machine_is_refused_on_connect(
        self, send: WarmSender, receiver: Receiver, do: str
    ) -> None:
        order = webhook(receiver) | {"address": f"http://localhost:{receiver.port}/"}
        if do == "apprise":
            order = {**WORDS, "address": f"json://localhost:{receiver.port}/"}
        if do == "mail":
            address = f"mailto://example.com:{receiver.port}?smtp=localhost&from=g@example.com&to=a@example.com"
            order = {**WORDS, "address": address}
        outcome = send(order)
        assert not outcome.ok
        assert "not public" in outcome.sentence
        assert receiver.requests == []

    def test_a_name_whose_address_changes_after_the_check_is_refused(
        self, receiver: Receiver
    ) -> None:
        """The name resolves to a public address in the check and to a private one on connect."""
        script = f"""
import socket
from gangboard.notify import addresses, sender
answers = iter(["93.184.215.14"])
def resolve(host, port, *rest, **options):
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers, "127.0.0.1"), port))]
socket.getaddrinfo = resolve
seen = socket.getaddrinfo("hook.example.com", {receiver.port})[0][4][0]
assert addresses.is_allowed(seen, [])
addresses.guard_connections([])
print(sender.send_webhook(dict(address="http://hook.example.com:{receiver.port}/", headers=dict(), body="")))
"""
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
            cwd=django_settings.BASE_DIR,
        )
        assert "127.0.0.1, which is not public" in done.stdout
        assert receiver.requests == []

    @pytest.mark.parametrize(
        ("address", "allowed"),
        [
            ("93.184.215.14", True),
            ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
            ("127.0.0.1", False),
            ("10.1.2.3", False),
            ("172.16.0.1", False),
            ("192.168.0.1", False),
            ("169.254.169.254", False),
            ("100.64.0.1", False),
            ("0.0.0.0", False),
            ("224.0.0.1", False),
            ("255.255.255.255", False),
            ("::1", False),
            ("::", False),
            ("fe80::1%eth0", False),
            ("fd00::1", False),
            ("ff02::1", False),
            ("::ffff:127.0.0.1", False),
            ("::ffff:93.184.215.14", True),
            ("64:ff9b::7f00:1", False),
            ("2002:7f00:1::", False),
            ("localhost", False),
            ("", False),
        ],
    )
    def test_only_public_addresses_are_allowed(self, address: str, allowed: bool) -> None:
        assert is_allowed(address, []) is allowed

    def test_a_network_can_be_allowed(self) -> None:
        network = [ip_network("10.0.0.0/8")]
        assert is_allowed("10.1.2.3", network)
        assert is_allowed("::ffff:10.1.2.3", network)
        assert not is_allowed("192.168.0.1", network)


def test_a_check_names_the_service_and_opens_no_connection(send: WarmSender) -> None:
    assert (
        send(
            {"do": "check", "address": "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"}
        ).service
        == "Slack"
    )
    for wrong in ("slack://", "syslog://"):
        assert not send({"do": "check", "address": wrong}).ok
