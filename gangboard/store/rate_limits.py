"""Rate limits: how often somebody has tried something lately (wrong passwords, actions, exports).

A limit is kept exactly, however many try at the same moment: what is counted is a conditional update
of one row. Rows last no longer than their window, and there are never more than MOST_ROWS.
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
"""A flood of ever new names makes no table grow; a window of five minutes never needs as many."""
_AT_ONCE = 1_000
_CLOCKS_DIFFER = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class RateLimitResult:
    """What the limit said to one attempt."""

    number: int
    """How many were counted within the window that runs now, this one included if it was."""
    wait: int
    """Seconds until the next is counted; 0 when this one was."""


def take(*what: object, most: int, window: timedelta, number: int = 1) -> RateLimitResult:
    """Count `number` attempts at `what`, all of them or, where that were more than `most`, none.

    `what` says the kind of attempt and whose it is; only a hash with the secret key is stored. The window begins
    with the first attempt and ends with all of them. Belongs outside of transactions.
    """
    key, now = _key(what), timezone.now()
    rows = Attempts.objects.filter(key=key)
    with transaction.atomic():
        # A window that ends much later than one that begins now is from before the clock was set back.
        # The clocks of two processes differ by less.
        is_over = Q(ends_at__lte=now) | Q(ends_at__gt=now + window + _CLOCKS_DIFFER)
        counted = rows.filter(is_over).update(number=number, ends_at=now + window)
        if not counted and not rows.exists():
            _make_room()
            Attempts.objects.bulk_create(
                [Attempts(key=key, ends_at=now + window)], ignore_conflicts=True
            )
        if not counted:
            # Asked last: somebody else may have made the row since it was looked for.
            room = rows.filter(number__lte=most - number)
            counted = room.update(number=F("number") + number)
        row = rows.get()
    wait = 0 if counted else max(1, math.ceil((row.ends_at - now).total_seconds()))
    return RateLimitResult(row.number, wait)


def reset_rate_limit(*what: object) -> None:
    """Begin to count from zero."""
    Attempts.objects.filter(key=_key(what)).delete()


def _key(what: tuple[object, ...]) -> str:
    # With the secret key: what people type into the name field can be guessed, so its plain hash too.
    text = "\0".join(str(part) for part in what)
    return salted_hmac("gangboard.store.rate_limits", text, algorithm="sha256").hexdigest()


def _make_room() -> None:
    if Attempts.objects.count() >= MOST_ROWS:
        soonest = Attempts.objects.order_by("ends_at").values_list("pk", flat=True)[:_AT_ONCE]
        Attempts.objects.filter(pk__in=list(soonest)).delete()
