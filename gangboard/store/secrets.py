"""Encryption at rest, hashes of secrets, and the replacement of the encryption key."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from gangboard.store.audit import audit
from gangboard.store.models import Channel, Cluster

SEALED_COLUMNS = ("credentials", "actor_credentials")
"""Encrypted columns of a cluster."""


class SecretUnreadableError(RuntimeError):
    """Stored credentials cannot be decrypted with this installation's key."""


def _keys() -> MultiFernet:
    """Return the installation's keys: the first encrypts, each of them decrypts."""
    return MultiFernet([Fernet(key) for key in settings.ENCRYPTION_KEYS])


def seal(document: dict[str, Any]) -> bytes:
    """Encrypt a JSON document with the installation's newest key."""
    return _keys().encrypt(json.dumps(document).encode())


def reseal(sealed: bytes) -> bytes:
    """Encrypt what `seal` made with the newest key. Raises SecretUnreadableError."""
    return seal(unseal(sealed))


def unseal(sealed: bytes) -> dict[str, Any]:
    """Decrypt what `seal` made. Raises SecretUnreadableError when no key of the installation made it."""
    try:
        clear = _keys().decrypt(bytes(sealed))
    except InvalidToken as error:
        raise SecretUnreadableError(
            "the stored credentials were encrypted with another GANGBOARD_ENCRYPTION_KEY; "
            "add the cluster again or bring the key back"
        ) from error
    document = json.loads(clear)
    assert isinstance(document, dict)  # noqa: S101  # `seal` takes nothing else
    return document


def hash_secret(secret: str) -> str:
    """Hash a random secret of at least 128 bits: no salt or stretching is needed for those."""
    return hashlib.sha256(secret.encode()).hexdigest()


def hash_matches(secret: str, secret_hash: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(hash_secret(secret), secret_hash)


@dataclass(frozen=True, slots=True)
class KeyRotation:
    """Result of `rotate_keys`."""

    encrypted: int
    """Credentials that are encrypted with the newest key now."""
    unreadable: tuple[str, ...]
    """Clusters and channels that no key reads, by name. They are left as they are."""


def rotate_keys(*, by: str) -> KeyRotation:
    """Encrypt all stored credentials with the newest key. `by` is who did it, for the audit.

    Each is a write of its own and readable before and after it, so a run that was interrupted can be
    repeated, and pages and polls go on meanwhile.
    """
    encrypted, unreadable = 0, set()
    for row, column in _sealed():
        sealed = getattr(row, column)
        if sealed is None:
            continue
        try:
            new = reseal(bytes(sealed))
        except SecretUnreadableError:
            unreadable.add(row.name)
            continue
        # Credentials that were replaced meanwhile are encrypted with the newest key already.
        same = type(row)._default_manager.filter(pk=row.pk, **{column: sealed})
        same.update(**{column: new})
        encrypted += 1
    with transaction.atomic():
        sentence = f"{encrypted} stored credentials were encrypted with the newest key."
        audit("keys-rotated", sentence, at=timezone.now(), actor=by)
    return KeyRotation(encrypted, tuple(sorted(unreadable)))


def _sealed() -> Iterator[tuple[Any, str]]:
    """Yield each row that has encrypted columns, with the name of one."""
    for cluster in Cluster.objects.all():
        yield from ((cluster, column) for column in SEALED_COLUMNS)
    for channel in Channel.objects.all():
        yield channel, "address"
