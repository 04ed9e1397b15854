"""Encryption at rest and hashes of secrets."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class SecretUnreadableError(RuntimeError):
    """Stored credentials cannot be decrypted with this installation's key."""


def _keys() -> MultiFernet:
    """The installation's keys: the first encrypts, each of them decrypts."""
    return MultiFernet([Fernet(key) for key in settings.ENCRYPTION_KEYS])


def seal(document: dict[str, Any]) -> bytes:
    """Encrypt a JSON document with the installation's newest key."""
    return _keys().encrypt(json.dumps(document).encode())


def seal_again(sealed: bytes) -> bytes:
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


def same_hash(secret: str, secret_hash: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(hash_secret(secret), secret_hash)
