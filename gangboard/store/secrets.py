"""Encryption at rest, hashes of secrets, and rotation of the encryption key."""

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
    """Stored credentials cannot be decrypted with this installation's keys."""


def _keys() -> MultiFernet:
    """Return the installation's keys. The first one encrypts, and each one decrypts."""
    return MultiFernet([Fernet(key) for key in settings.ENCRYPTION_KEYS])


def seal(document: dict[str, Any]) -> bytes:
    """Encrypt a JSON document with the newest key."""
    return seal_bytes(json.dumps(document).encode())


def seal_bytes(data: bytes) -> bytes:
    """Encrypt data with the newest key."""
    return _keys().encrypt(data)


def reseal(sealed: bytes) -> bytes:
    """Encrypt sealed data again with the newest key. Raises SecretUnreadableError."""
    return seal(unseal(sealed))


def unseal(sealed: bytes) -> dict[str, Any]:
    """Decrypt sealed data. Raises SecretUnreadableError if no key of the installation fits."""
    document = json.loads(unseal_bytes(sealed))
    assert isinstance(document, dict)  # noqa: S101  # `seal` takes nothing else
    return document


def unseal_bytes(sealed: bytes) -> bytes:
    """Decrypt the data of `seal_bytes`. Raises SecretUnreadableError if no key of the installation fits."""
    try:
        return _keys().decrypt(bytes(sealed))
    except InvalidToken as error:
        raise SecretUnreadableError(
            "the stored credentials were encrypted with another GANGBOARD_ENCRYPTION_KEY; add the cluster again or restore the key"
        ) from error


def hash_secret(secret: str) -> str:
    """Hash a random secret of at least 128 bits, which needs no salt or stretching."""
    return hashlib.sha256(secret.encode()).hexdigest()


def hash_matches(secret: str, secret_hash: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(hash_secret(secret), secret_hash)


@dataclass(frozen=True, slots=True)
class KeyRotation:
    """The result of `rotate_keys`."""

    encrypted: int
    """Number of credentials that are now encrypted with the newest key."""
    unreadable: tuple[str, ...]
    """Names of clusters and channels that no key decrypts. They are unchanged."""


def rotate_keys(*, by: str) -> KeyRotation:
    """Encrypt all stored credentials with the newest key. `by` is the author for the audit.

    Each one is a separate write and readable before and after it. So an interrupted run can be repeated, and
    pages and polls continue meanwhile.
    """
    encrypted, unreadable = 0, set()
    for row, column in _encrypted_columns():
        sealed = getattr(row, column)
        if sealed is None:
            continue
        try:
            new = reseal(bytes(sealed))
        except SecretUnreadableError:
            unreadable.add(row.name)
            continue
        # Credentials replaced meanwhile are encrypted with the newest key already.
        same = type(row)._default_manager.filter(pk=row.pk, **{column: sealed})
        same.update(**{column: new})
        encrypted += 1
    with transaction.atomic():
        sentence = f"{encrypted} stored credentials were encrypted with the newest key."
        audit("keys-rotated", sentence, at=timezone.now(), actor=by)
    return KeyRotation(encrypted, tuple(sorted(unreadable)))


def _encrypted_columns() -> Iterator[tuple[Any, str]]:
    """Yield each row with encrypted columns, once per column."""
    for cluster in Cluster.objects.all():
        yield from ((cluster, column) for column in SEALED_COLUMNS)
    for channel in Channel.objects.all():
        yield channel, "address"
