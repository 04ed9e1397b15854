"""Sending one message to a channel in a separate process."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings

from gangboard.logs import get_logger
from gangboard.notify.messages import Message
from gangboard.store.models import Channel
from gangboard.store.secrets import SecretUnreadableError, unseal

log = get_logger(__name__)

APPRISE = "apprise"
WEBHOOK = "webhook"
KINDS = (APPRISE, WEBHOOK)
DEADLINE = 10.0
"""Seconds for one message, from the start of its process to its end."""
_PASSED_ON = ("PATH", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
"""Environment variables that a sender process gets: no key, no database, no proxy."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of one attempt."""

    ok: bool
    sentence: str = ""
    final: bool = False
    """Retrying the same message is useless."""
    service: str = ""


Post = Callable[[Mapping[str, Any]], Receipt]


def run_sender(order: Mapping[str, Any]) -> Receipt:
    """Run an order in a separate process, which ends within DEADLINE."""
    document = {**order, "networks": [str(network) for network in settings.NOTIFY_NETWORKS]}
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


def send(channel: Channel, message: Message, *, key: str, at: datetime, post: Post) -> Receipt:
    """Send a message to a channel. `key` is the same for all attempts."""
    try:
        document = unseal(bytes(channel.address))
    except SecretUnreadableError:
        return Receipt(
            False, "Its address cannot be decrypted: remove the channel and create it again."
        )
    address = str(document["address"])
    if channel.kind == WEBHOOK:
        body = json.dumps(message.document, ensure_ascii=False, separators=(",", ":"))
        headers = sign(str(document["secret"]), key, at, body)
        return post({"do": "webhook", "address": address, "headers": headers, "body": body})
    return post({"do": "apprise", "address": address, "title": message.title, "body": message.body})


def sign(secret: str, key: str, when: datetime, body: str) -> dict[str, str]:
    """Return the headers of a webhook, signed as Standard Webhooks requires."""
    stamp = str(int(when.timestamp()))
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
