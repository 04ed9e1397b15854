"""Rate limits of attempts: wrong passwords, actions, exports.

A limit is exact for any number of simultaneous attempts, because a conditional update of one row counts them.
Rows last no longer than their window, and there are never more than MOST_ROWS.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.crypto import salted_hmac

from gangboard.store.models import Attempts

MOST_ROWS = 20_000
"""Limits the table during a flood of new names. A window of five minutes never needs that many."""
_BATCH = 1_000
_CLOCKS_DIFFER = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class RateLimitResult:
    """The result of one attempt."""

    number: int
    """Attempts counted within the current window, this one included if it was counted."""
    wait: int
    """Seconds until the next attempt is counted; 0 if this one was."""


def take(*subject: object, most: int, window: timedelta, number: int = 1) -> RateLimitResult:
    """Count `number` attempts, or none of them if the limit `most` would be exceeded.

    `what` is the kind of attempt and its author; only a hash with the secret key is stored. The window begins
    with the first attempt, and at its end all of them are forgotten. Call it outside transactions.
    """
    key, now = _hash_key(subject), timezone.now()
    rows = Attempts.objects.filter(key=key)
    with transaction.atomic():
        # A window that ends much later than a new one dates from before the clock was set back.
        # The clocks of two processes differ by less.
        is_over = Q(ends_at__lte=now) | Q(ends_at__gt=now + window + _CLOCKS_DIFFER)
        counted = rows.filter(is_over).update(number=number, ends_at=now + window)
        if not counted and not rows.exists():
            _delete_oldest()
            Attempts.objects.bulk_create(
                [Attempts(key=key, ends_at=now + window)], ignore_conflicts=True
            )
        if not counted:
            # Last, because another process may have created the row since the first update.
            below_limit = rows.filter(number__lte=most - number)
            counted = below_limit.update(number=F("number") + number)
        row = rows.get()
    wait = 0 if counted else max(1, math.ceil((row.ends_at - now).total_seconds()))
    return RateLimitResult(row.number, wait)


def reset_rate_limit(*subject: object) -> None:
    """Reset the count to zero."""
    Attempts.objects.filter(key=_hash_key(subject)).delete()


def _hash_key(subject: tuple[object, ...]) -> str:
    # With the secret key, because text typed into the name field can be guessed, and so can its
    # plain hash.
    text = "\0".join(str(component) for component in subject)
    return salted_hmac("gangboard.store.rate_limits", text, algorithm="sha256").hexdigest()


def _delete_oldest() -> None:
    if Attempts.objects.count() >= MOST_ROWS:
        soonest = Attempts.objects.order_by("ends_at").values_list("pk", flat=True)[:_BATCH]
        Attempts.objects.filter(pk__in=list(soonest)).delete()
