"""Channels: creating, changing, testing and removing them."""

from __future__ import annotations

import base64
import secrets
from datetime import datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from gangboard.addresses import address_problem
from gangboard.notify.addresses import is_allowed, is_literal
from gangboard.notify.outbox import FAILED, WAITING
from gangboard.notify.posting import WEBHOOK, Post, run_sender
from gangboard.store.access import Viewer
from gangboard.store.audit import audit
from gangboard.store.models import Channel, Delivery, Rule
from gangboard.store.secrets import SecretUnreadableError, seal, unseal

MOST_CHANNELS = 200
LONGEST_ADDRESS = 2000
LONGEST_SERVICE = 100
_SET_BY_ADMIN = ("name", "owner", "for_everybody")
_SET_WITH_ADDRESS = ("address", "service", "error", "failures", "next_at", "sent_at")


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
    """Create a channel. Return it and the secret of a webhook, which is shown only once.

    `owner` is the name of the only person who may use it. Raises NotifyError.
    """
    person = _find_person(owner, for_everybody)
    service = _service_of(kind, address, post)
    secret = (
        f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}" if kind == WEBHOOK else ""
    )
    now = timezone.now()
    with transaction.atomic():
        _refuse_taken(name)
        if Channel.objects.count() >= MOST_CHANNELS:
            raise NotifyError(f"there are {MOST_CHANNELS} channels, the maximum")
        channel = Channel.objects.create(
            name=name,
            kind=kind,
            service=service,
            address=seal({"address": address, "secret": secret}),
            owner=person,
            for_everybody=for_everybody,
            created_at=now,
        )
        sentence = f"Channel {name} ({service}) was created for {users_in_words(channel)}."
        record("channel-made", sentence, viewer, f"Channel/{name}", at=now)
    return channel, secret


def change_channel(
    *,
    viewer: Viewer,
    channel_id: int,
    name: str = "",
    address: str = "",
    owner: str | None = None,
    for_everybody: bool | None = None,
    post: Post = run_sender,
) -> Channel | None:
    """Change a channel and return it; None if there is no such channel. Raises NotifyError.

    Missing arguments keep the stored value. A new address is checked like the first one, keeps the secret,
    and gets the waiting messages at once.
    """
    stored = Channel.objects.filter(pk=channel_id).first()
    if stored is None:
        return None
    # The check may take ten seconds, so it comes before the transaction.
    service = _service_of(stored.kind, address, post) if address else ""
    now = timezone.now()
    with transaction.atomic():
        channel = Channel.objects.select_for_update().filter(pk=channel_id).first()
        if channel is None:
            return None
        old_name, old_users = channel.name, users_in_words(channel)
        if name and name != old_name:
            _refuse_taken(name)
            channel.name = name
        _set_users(channel, owner, for_everybody)
        if address:
            _set_address(channel, address, service, now)
        changes = [
            f"it is now called {channel.name}" if channel.name != old_name else "",
            f"it has a new address ({service})" if address else "",
            f"it is for {users_in_words(channel)}" if users_in_words(channel) != old_users else "",
        ]
        if change_text := ", ".join(filter(None, changes)):
            # The other columns belong to the worker that sends to the channel now.
            channel.save(update_fields=[*_SET_BY_ADMIN, *(_SET_WITH_ADDRESS if address else ())])
            sentence = f"Channel {old_name} was changed: {change_text}."
            record("channel-changed", sentence, viewer, f"Channel/{old_name}", at=now)
    return channel


def users_in_words(channel: Channel) -> str:
    """Return whose rules may use a channel: `everybody`, `admins`, or the name of a person."""
    if channel.for_everybody:
        return "everybody"
    return str(channel.owner) if channel.owner is not None else "admins"


def _find_person(owner: str, for_everybody: bool) -> User | None:
    if owner and for_everybody:
        raise NotifyError("a channel is for one person or for everyone, not for both")
    person = User.objects.filter(username=owner).first() if owner else None
    if owner and person is None:
        raise NotifyError(f"there is no user {owner!r}")
    return person


def _refuse_taken(name: str) -> None:
    if Channel.objects.filter(name=name).exists():
        raise NotifyError(f"there is a channel {name!r} already")


def _set_users(channel: Channel, owner: str | None, for_everybody: bool | None) -> None:
    if owner is None and not for_everybody:
        channel.for_everybody = channel.for_everybody and for_everybody is None
        return
    channel.owner = _find_person(owner or "", bool(for_everybody))
    channel.for_everybody = bool(for_everybody)


def _set_address(channel: Channel, address: str, service: str, now: datetime) -> None:
    try:
        secret = unseal(bytes(channel.address))["secret"]
    except SecretUnreadableError as error:
        raise NotifyError(
            "its secret cannot be decrypted: remove the channel and create it again"
        ) from error
    channel.address = seal({"address": address, "secret": secret})
    channel.service = service
    channel.error, channel.failures = "", 0
    channel.next_at = channel.sent_at = None
    Delivery.objects.filter(channel=channel, state=FAILED).update(next_at=now)


def remove_channel(*, viewer: Viewer, channel_id: int) -> bool:
    """Remove a channel with its messages; return False if there is no such channel."""
    with transaction.atomic():
        channel = Channel.objects.filter(pk=channel_id).first()
        if channel is None:
            return False
        channel.delete()
        sentence = f"Channel {channel.name} ({channel.service}) was removed."
        record("channel-removed", sentence, viewer, f"Channel/{channel.name}", at=timezone.now())
    return True


def queue_test_message(*, viewer: Viewer, channel_id: int) -> Delivery | None:
    """Queue a test message, which is sent before all others. Return None if there is no such channel."""
    now = timezone.now()
    with transaction.atomic():
        channel = Channel.objects.filter(pk=channel_id).first()
        if channel is None:
            return None
        delivery = Delivery.objects.create(
            rule=None,
            channel=channel,
            items=[{"type": "test"}],
            state=WAITING,
            next_at=now,
            created_at=now,
        )
        sentence = f"A test message to channel {channel.name} was requested."
        record("channel-tested", sentence, viewer, f"Channel/{channel.name}", at=now)
    return delivery


def record(event: str, sentence: str, viewer: Viewer, about: str, *, at: datetime) -> None:
    """Record a change of channels or rules in the audit, last in the transaction of the change."""
    audit(event, sentence, at=at, actor=viewer.name, object_name=about, source=viewer.address)


def usable_channels(viewer: Viewer) -> QuerySet[Channel]:
    """Return the channels that the rules of this person may use."""
    if viewer.is_admin:
        return Channel.objects.all()
    return Channel.objects.filter(Q(for_everybody=True) | Q(owner_id=viewer.user_id))


def may_use_channel(rule: Rule, channel: Channel, viewer: Viewer) -> bool:
    """Return whether a rule may use a channel, with the current rights of its owner."""
    if rule.owner_id is None or viewer.is_admin:
        return True
    return channel.for_everybody or channel.owner_id == rule.owner_id


def _service_of(kind: str, address: str, post: Post) -> str:
    """Return the public part of an address. Raises NotifyError, which does not repeat the address."""
    if len(address) > LONGEST_ADDRESS or not address.isprintable():
        raise NotifyError(f"an address has at most {LONGEST_ADDRESS} characters, all on one line")
    if kind == WEBHOOK:
        return _webhook_host(address)
    outcome = post({"do": "check", "address": address})
    if not outcome.ok:
        raise NotifyError(outcome.sentence[:1].lower() + outcome.sentence[1:].rstrip("."))
    return outcome.service[:LONGEST_SERVICE]


def _webhook_host(address: str) -> str:
    if problem := address_problem(address, ("https", "http")):
        raise NotifyError(f"the address {problem}")
    url = urlsplit(address)
    host = url.hostname or ""
    if not host or "@" in url.netloc:
        raise NotifyError("the address of a webhook has a host, and neither user nor password")
    known = "127.0.0.1" if host == "localhost" else host
    if is_literal(known) and not is_allowed(known, settings.NOTIFY_NETWORKS):
        raise NotifyError(
            "the address is not public; the setting GANGBOARD_NOTIFY_NETWORKS can allow it"
        )
    return f"{url.scheme}://{url.netloc}"[:LONGEST_SERVICE]


class NotifyError(ValueError):
    """A refused change. The text is one sentence for the requester."""
