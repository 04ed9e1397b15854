"""Channels: making, testing and removing them, and sending one message to one."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from gangboard.addresses import address_problem
from gangboard.logs import get_logger
from gangboard.notify.addresses import is_allowed, is_literal
from gangboard.notify.errors import NotifyError
from gangboard.notify.messages import Message
from gangboard.store.access import Viewer
from gangboard.store.audit import audit
from gangboard.store.models import Channel, Delivery, Rule
from gangboard.store.secrets import SecretUnreadableError, seal, unseal

log = get_logger(__name__)

APPRISE = "apprise"
WEBHOOK = "webhook"
KINDS = (APPRISE, WEBHOOK)
DEADLINE = 10.0
"""Seconds for one message, from the start of its process to its end."""
MOST_CHANNELS = 200
LONGEST_ADDRESS = 2000
_PASSED_ON = ("PATH", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
"""Variables of the environment that a sender gets: no key, no database, no proxy."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of one attempt."""

    ok: bool
    sentence: str = ""
    final: bool = False
    """Sending the same again is of no use."""
    service: str = ""


Post = Callable[[Mapping[str, Any]], Receipt]


def run_sender(order: Mapping[str, Any]) -> Receipt:
    """Carry out an order in a process of its own, which ends within DEADLINE."""
    document = {**order, "networks": [str(one) for one in settings.NOTIFY_NETWORKS]}
    try:
        done = subprocess.run(
            (sys.executable, "-m", "gangboard.notify.sender"),
            input=json.dumps(document).encode(),
            capture_output=True,
            timeout=DEADLINE,
            check=False,
            cwd=settings.BASE_DIR,
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        )
    except subprocess.TimeoutExpired:
        return Receipt(False, f"The receiver did not answer within {DEADLINE:g} seconds.")
    except OSError as error:
        return Receipt(False, f"No process could be started to send it: {error.strerror}.")
    try:
        answer = json.loads(done.stdout)
        return Receipt(answer["ok"], answer["sentence"], answer["final"], answer["service"])
    except (ValueError, KeyError):
        log.warning("a sender failed", code=done.returncode)
        return Receipt(False, "The process that sends it failed.")


def make_channel(
    *,
    viewer: Viewer,
    name: str,
    kind: str,
    address: str,
    owner: str = "",
    for_everybody: bool = False,
    post: Post = run_sender,
) -> tuple[Channel, str]:
    """Return a new channel and the secret of a webhook, which is shown this once.

    `owner` is the name of the one person who may use it. Raises NotifyError.
    """
    if owner and for_everybody:
        raise NotifyError("a channel is for one person or for everybody, not for both")
    person = User.objects.filter(username=owner).first() if owner else None
    if owner and person is None:
        raise NotifyError(f"there is no user {owner!r}")
    service = _service_of(kind, address, post)
    secret = (
        f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}" if kind == WEBHOOK else ""
    )
    now = timezone.now()
    with transaction.atomic():
        if Channel.objects.filter(name=name).exists():
            raise NotifyError(f"there is a channel {name!r} already")
        if Channel.objects.count() >= MOST_CHANNELS:
            raise NotifyError(f"there are {MOST_CHANNELS} channels, which is the most")
        channel = Channel.objects.create(
            name=name,
            kind=kind,
            service=service[:100],
            address=seal({"address": address, "secret": secret}),
            owner=person,
            for_everybody=for_everybody,
            created_at=now,
        )
        whom = "everybody" if for_everybody else owner or "admins"
        sentence = f"Channel {name} ({service}) was made for {whom}."
        record("channel-made", sentence, viewer, f"Channel/{name}", at=now)
    return channel, secret


def remove_channel(*, viewer: Viewer, channel_id: int) -> bool:
    """Remove a channel with what waits for it; return False if there is none."""
    with transaction.atomic():
        channel = Channel.objects.filter(pk=channel_id).first()
        if channel is None:
            return False
        channel.delete()
        sentence = f"Channel {channel.name} ({channel.service}) was removed."
        record("channel-removed", sentence, viewer, f"Channel/{channel.name}", at=timezone.now())
    return True


def order_test(*, viewer: Viewer, channel_id: int) -> Delivery | None:
    """Order a test message, which is sent before all others; return None if there is no such channel."""
    now = timezone.now()
    with transaction.atomic():
        channel = Channel.objects.filter(pk=channel_id).first()
        if channel is None:
            return None
        delivery = Delivery.objects.create(
            rule=None,
            channel=channel,
            items=[{"type": "test"}],
            state="waiting",
            next_at=now,
            created_at=now,
        )
        sentence = f"A test message to channel {channel.name} was ordered."
        record("channel-tested", sentence, viewer, f"Channel/{channel.name}", at=now)
    return delivery


def record(event: str, sentence: str, viewer: Viewer, about: str, *, at: datetime) -> None:
    """Write who changed what about messages into the audit, last in the transaction of the change."""
    audit(event, sentence, at=at, actor=viewer.name, object_name=about, source=viewer.address)


def usable_channels(viewer: Viewer) -> QuerySet[Channel]:
    """Return the channels that rules of this person may use."""
    if viewer.is_admin:
        return Channel.objects.all()
    return Channel.objects.filter(Q(for_everybody=True) | Q(owner_id=viewer.user_id))


def may_use(rule: Rule, channel: Channel, viewer: Viewer) -> bool:
    """Return whether a rule may still use a channel, with the rights of its owner now."""
    if rule.owner_id is None or viewer.is_admin:
        return True
    return channel.for_everybody or channel.owner_id == rule.owner_id


def send(channel: Channel, message: Message, *, key: str, at: datetime, post: Post) -> Receipt:
    """Send a message to a channel. `key` is the same each time that the message is sent again."""
    try:
        document = unseal(bytes(channel.address))
    except SecretUnreadableError:
        return Receipt(
            False, "Its address cannot be decrypted: remove the channel and make it again."
        )
    address = str(document["address"])
    if channel.kind == WEBHOOK:
        body = json.dumps(message.document, ensure_ascii=False, separators=(",", ":"))
        headers = sign(str(document["secret"]), key, at, body)
        return post({"do": "webhook", "address": address, "headers": headers, "body": body})
    return post({"do": "apprise", "address": address, "title": message.title, "body": message.body})


def sign(secret: str, key: str, at: datetime, body: str) -> dict[str, str]:
    """Return the headers of a webhook as Standard Webhooks wants them."""
    stamp = str(int(at.timestamp()))
    signed = hmac.new(
        base64.b64decode(secret.removeprefix("whsec_")),
        f"{key}.{stamp}.{body}".encode(),
        hashlib.sha256,
    )
    return {
        "content-type": "application/json; charset=utf-8",
        "user-agent": "gangboard",
        "webhook-id": key,
        "webhook-timestamp": stamp,
        "webhook-signature": f"v1,{base64.b64encode(signed.digest()).decode()}",
    }


def _service_of(kind: str, address: str, post: Post) -> str:
    """Return what may be shown of an address. Raises NotifyError, which does not repeat it."""
    if len(address) > LONGEST_ADDRESS or not address.isprintable():
        raise NotifyError(f"an address has at most {LONGEST_ADDRESS} characters, all on one line")
    if kind == WEBHOOK:
        return _webhook_host(address)
    outcome = post({"do": "check", "address": address})
    if not outcome.ok:
        raise NotifyError(outcome.sentence[:1].lower() + outcome.sentence[1:].rstrip("."))
    return outcome.service


def _webhook_host(address: str) -> str:
    if problem := address_problem(address, ("https", "http")):
        raise NotifyError(f"the address {problem}")
    parts = urlsplit(address)
    host = parts.hostname or ""
    if not host or "@" in parts.netloc:
        raise NotifyError("the address of a webhook has a host, and neither user nor password")
    known = "127.0.0.1" if host == "localhost" else host
    if is_literal(known) and not is_allowed(known, settings.NOTIFY_NETWORKS):
        raise NotifyError(
            "the address is not public; the setting GANGBOARD_NOTIFY_NETWORKS can allow it"
        )
    return f"{parts.scheme}://{parts.netloc}"
