"""Replacing the key that encrypts credentials and channels: all are encrypted with the newest key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from gangboard.store.audit import audit
from gangboard.store.models import Channel, Cluster
from gangboard.store.secrets import SecretUnreadableError, seal_again

COLUMNS = ("credentials", "actor_credentials")
"""Encrypted columns of a cluster."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """What `rotate_keys` has done."""

    encrypted: int
    """Credentials that the newest key reads now."""
    unreadable: tuple[str, ...]
    """Clusters and channels that no key reads, by name. They are left as they are."""


def rotate_keys(*, by: str) -> Rotation:
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
            new = seal_again(bytes(sealed))
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
    return Rotation(encrypted, tuple(sorted(unreadable)))


def _sealed() -> Iterator[tuple[Any, str]]:
    """Yield each row that has encrypted columns, with the name of one."""
    for cluster in Cluster.objects.all():
        yield from ((cluster, column) for column in COLUMNS)
    for channel in Channel.objects.all():
        yield channel, "address"
