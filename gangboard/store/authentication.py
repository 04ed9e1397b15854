"""Sign-in links, API tokens, the limit on password attempts, and their audit entries.

Secrets have 256 random bits and are stored as hashes, like session keys, so a copy of the tables lets no one
in.
"""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import Error, transaction
from django.db.models import Q
from django.utils import timezone

from gangboard.logs import get_logger
from gangboard.store import rate_limits
from gangboard.store.database_state import is_unavailable
from gangboard.store.models import AccessToken, SignInLink
from gangboard.store.people import (
    GANGBOARD,
    PeopleError,
    check_enabled,
    find_user,
    record,
    require_user,
)
from gangboard.store.secrets import hash_matches, hash_secret

LINK_LIFETIME = timedelta(hours=1)
"""Lifetime of a sign-in link: enough to send it to a colleague, too little to keep it."""
TOKEN_DAYS = 30
LONGEST_TOKEN_DAYS = 366
LAST_USE_INTERVAL = timedelta(minutes=1)
"""Minimum interval between two updates of `last_used_at`, so that a read rarely causes a write."""

MOST_SIGN_IN_STARTS = 100
BEGIN_WINDOW = timedelta(minutes=1)
"""Maximum number of sign-ins by the identity provider that one network may begin within BEGIN_WINDOW."""
PASSWORD_WINDOW = timedelta(minutes=5)
MOST_WRONG_PASSWORDS = 10
"""Wrong passwords for one name from one address within the window."""

FAILURES_ON_RECORD = 100
FAILURE_WINDOW = timedelta(hours=1)
"""Failed sign-ins that get an audit entry of their own within FAILURE_WINDOW. A flood gets summary entries only."""
REFUSED_TOKENS_COUNTED = 1_000
"""Refused tokens that are examined within FAILURE_WINDOW. A flood gets summary entries only."""
_ENDLESS = 2**31 - 1
_RECORDED_TOTALS = frozenset(10**digits for digits in range(3, 10))
_POWERS_OF_TEN = frozenset(10**digits for digits in range(10))
_PUBLIC_PART = re.compile(r"gb_[0-9a-f]{16}(?=_)")
"""The public part of a token."""
SOMEBODY = "somebody"
"""The actor of an audit entry about a person who has not signed in."""

_NO_HASH = hash_secret("")
_writes_paused_until = 0.0
"""Monotonic time until which `last_used_at` is not written, because the last write failed."""
log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ValidToken:
    """A valid token that a request presented."""

    id: str
    user: User
    may_act: bool


def create_sign_in_link(*, user: User, life: timedelta = LINK_LIFETIME, by: str = GANGBOARD) -> str:
    """Create a link that signs `user` in once within `life`, and return its secret."""
    secret = secrets.token_urlsafe(32)
    name = user.get_username()
    with transaction.atomic():
        SignInLink.objects.create(
            secret_hash=hash_secret(secret), user=user, expires_at=timezone.now() + life
        )
        record("link-made", f"A one-time sign-in link for {name} was created.", by, name)
    return secret


def find_sign_in_link(secret: str) -> User | None:
    """Return the user whom a link would sign in; None if the link is invalid or used. The link stays valid."""
    link = _find_valid_link(secret, timezone.now())
    return None if link is None else _user_of(link)


def consume_sign_in_link(secret: str) -> User | None:
    """Return the user whom a link signs in and invalidate the link; None if it is invalid or used.

    Exactly one of two simultaneous uses wins, because a conditional update claims the row.
    """
    now = timezone.now()
    link = _find_valid_link(secret, now)
    if link is None or SignInLink.objects.filter(pk=link.pk, used_at=None).update(used_at=now) != 1:
        return None
    return _user_of(link)


def _find_valid_link(secret: str, now: datetime) -> SignInLink | None:
    return (
        SignInLink.objects.select_related("user")
        .filter(secret_hash=hash_secret(secret), expires_at__gt=now, used_at=None)
        .filter(user__is_active=True)
        .first()
    )


def _user_of(row: SignInLink | AccessToken) -> User:
    assert isinstance(row.user, User)  # noqa: S101  # AUTH_USER_MODEL is Django's own
    return row.user


def issue_token(
    *, user: User, may_act: bool = False, days: int = TOKEN_DAYS, by: str = GANGBOARD
) -> str:
    """Create a token `gb_<id>_<secret>` and return it; it is not shown again. Raises PeopleError."""
    check_enabled(user)
    if not 1 <= days <= LONGEST_TOKEN_DAYS:
        raise PeopleError(f"a token can last from 1 to {LONGEST_TOKEN_DAYS} days, not {days}")
    token_id, secret = secrets.token_hex(8), secrets.token_hex(32)
    name = user.get_username()
    right = "may act" if may_act else "may read"
    with transaction.atomic():
        AccessToken.objects.create(
            id=token_id,
            user=user,
            secret_hash=hash_secret(secret),
            may_act=may_act,
            expires_at=timezone.now() + timedelta(days=days),
        )
        sentence = f"Token gb_{token_id} of {name} was created: it {right} for {days} days."
        record("token-made", sentence, by, name)
    return f"gb_{token_id}_{secret}"


def find_token(token: str) -> ValidToken | None:
    """Return the valid token for a presented text; None if it is unknown, wrong, expired or disabled."""
    prefix, _, rest = token.partition("_")
    token_id, _, secret = rest.partition("_")
    # PostgreSQL rejects NUL in a query, and `isalnum` excludes it.
    if prefix != "gb" or not token_id.isalnum() or not secret:
        return None
    row = AccessToken.objects.select_related("user").filter(pk=token_id).first()
    # An unknown id is compared too, so that the response time does not reveal which ids exist.
    matches = hash_matches(secret, row.secret_hash if row else _NO_HASH)
    now = timezone.now()
    if row is None or not matches or row.expires_at <= now or not row.user.is_active:
        return None
    _record_use(row)
    return ValidToken(row.pk, _user_of(row), row.may_act)


def is_token_valid(token_id: str, *, user_id: int) -> bool:
    """Return whether a token that was presented earlier would still let this user act."""
    return AccessToken.objects.filter(
        pk=token_id, user_id=user_id, may_act=True, expires_at__gt=timezone.now()
    ).exists()


def _record_use(row: AccessToken) -> None:
    now = timezone.now()
    if row.last_used_at is not None and row.last_used_at > now - LAST_USE_INTERVAL:
        return
    global _writes_paused_until  # of this process
    if time.monotonic() < _writes_paused_until:
        return
    try:
        # The condition repeats the check, so that of many simultaneous requests one writes.
        AccessToken.objects.filter(
            Q(last_used_at=None) | Q(last_used_at__lte=now - LAST_USE_INTERVAL), pk=row.pk
        ).update(last_used_at=now)
    except Error as error:
        if not is_unavailable(error):
            raise
        # A full disk or a busy writer must not fail a read or make every read wait for the lock.
        _writes_paused_until = time.monotonic() + LAST_USE_INTERVAL.total_seconds()
        log.warning("use of a token not noted", error=str(error))


def revoke_token(token: str, *, by: str = GANGBOARD) -> User:
    """Revoke a token at once and return its owner.

    `token` is the whole token or its public part `gb_<id>`, so that a report of a leak need not contain the
    secret. Raises PeopleError, whose text does not repeat a possible secret.
    """
    token_id = token.removeprefix("gb_").partition("_")[0]
    # PostgreSQL rejects NUL, as in `find_token`.
    tokens = AccessToken.objects.filter(pk=token_id) if token_id.isalnum() else None
    row = tokens.select_related("user").first() if tokens is not None else None
    if tokens is None or row is None:
        raise PeopleError(
            "there is no such token: it was revoked already, or it is of another gangboard"
        )
    with transaction.atomic():
        tokens.delete()
        _record_revoked(row, by)
    return _user_of(row)


def _record_revoked(row: AccessToken, by: str) -> None:
    name = row.user.get_username()
    record("token-revoked", f"Token gb_{row.pk} of {name} was revoked.", by, name)


def revoke_tokens(*, name: str, by: str = GANGBOARD) -> int:
    """Revoke all tokens of a user at once and return their number. Raises PeopleError."""
    with transaction.atomic():
        tokens = AccessToken.objects.filter(user=require_user(name)).select_related("user")
        rows = list(tokens)
        AccessToken.objects.filter(pk__in=[row.pk for row in rows]).delete()
        for row in rows:
            _record_revoked(row, by)
    return len(rows)


def count_password_attempt(*, name: str, place: str) -> rate_limits.RateLimitResult:
    """Count a password attempt before the password is checked; `wait` tells whether to check it.

    Counting first keeps simultaneous attempts within the limit. `place` is the client address. Wrong
    passwords from another address, or for another name, do not lock a person out. Attempts for unknown names
    count as well.
    """
    return rate_limits.take(
        *_password_key(name, place), most=MOST_WRONG_PASSWORDS, window=PASSWORD_WINDOW
    )


def count_sign_in_start(*, sender: str) -> rate_limits.RateLimitResult:
    """Count the start of a sign-in by the identity provider; `wait` tells whether to allow it. Call it
    outside transactions.

    Each start stores a session for ten minutes. `sender` is the client's network. The limit is high because a
    whole company may share one address.
    """
    return rate_limits.take("begin sign-in", sender, most=MOST_SIGN_IN_STARTS, window=BEGIN_WINDOW)


def reset_password_attempts(*, name: str, place: str) -> None:
    """Reset the count of a name at an address after a correct password."""
    rate_limits.reset_rate_limit(*_password_key(name, place))


def _password_key(name: str, place: str) -> tuple[str, ...]:
    return ("password", name.casefold(), place)


def record_sign_in(*, user: User, how: str, source: str) -> None:
    """Record a sign-in. `how` is `a password`, `a link`, `a proxy`, or the name of a provider."""
    name = user.get_username()
    record("signed-in", f"{name} signed in by {how}.", name, name, source=source)


def record_sign_out(*, name: str, source: str) -> None:
    """Record a sign-out."""
    record("signed-out", f"{name} signed out.", name, name, source=source)


def record_failed_sign_in(*, name: str, source: str, number: int) -> None:
    """Record a wrong password, the `number`-th for this name from this address within the window.

    The first one and the one that reaches the limit get an entry. Within an hour there are at most
    FAILURES_ON_RECORD entries and then totals only, so that a flood does not fill the disk. Unknown names are
    not recorded, because people often type a password into that field.
    """
    known = find_user(name=name) is not None
    described_name = name if known else "an unknown name"
    sentence = f"A wrong password was given for {described_name}."
    if number > 1:
        sentence = f"{number} wrong passwords were given for {described_name} within five minutes."
    if _count_failed_sign_in(source, worth=number in (1, MOST_WRONG_PASSWORDS)):
        record("sign-in-failed", sentence, SOMEBODY, name if known else "", source=source)


def record_failed_link(*, source: str) -> None:
    """Record the use of an invalid sign-in link, under the same limit as wrong passwords."""
    if _count_failed_sign_in(source, worth=True):
        sentence = "An invalid or expired sign-in link was used."
        record("sign-in-failed", sentence, SOMEBODY, "", source=source)


def record_failed_provider(sentence: str, *, source: str) -> None:
    """Record why a sign-in by the identity provider failed, under the same limit as wrong passwords."""
    if _count_failed_sign_in(source, worth=True):
        record("sign-in-failed", sentence, SOMEBODY, "", source=source)


def record_refused_token(token: str, *, source: str, sender: str) -> None:
    """Record a request with a token that is invalid or no longer valid.

    The first, tenth, hundredth … request of a sender within an hour gets an entry, separately for each known
    token. There are at most FAILURES_ON_RECORD entries, and totals for a flood. The count is separate from
    failed sign-ins, so a program with an old token hides no wrong password. The secret is not recorded.
    """
    total = rate_limits.take("refused tokens", most=_ENDLESS, window=FAILURE_WINDOW).number
    if total in _RECORDED_TOTALS:
        sentence = f"{total:,} requests with invalid tokens were refused within an hour."
        record("token-refused", sentence, SOMEBODY, "", source=source)
    if total > REFUSED_TOKENS_COUNTED:
        return
    public_part = match[0] if (match := _PUBLIC_PART.match(token)) else ""
    rows = AccessToken.objects.select_related("user")
    row = rows.filter(pk=public_part.removeprefix("gb_")).first() if public_part else None
    key = ("refused token", sender, row.pk if row else "")
    number = rate_limits.take(*key, most=_ENDLESS, window=FAILURE_WINDOW).number
    if number not in _POWERS_OF_TEN or _is_limit_reached("lines on refused tokens"):
        return
    sentence = _refusal_sentence(row, token, public_part)
    if number > 1:
        sentence += f" It was invalid request {number} from there within an hour."
    record(
        "token-refused", sentence, SOMEBODY, _user_of(row).username if row else "", source=source
    )


def _is_limit_reached(lines: str) -> bool:
    return rate_limits.take(lines, most=FAILURES_ON_RECORD, window=FAILURE_WINDOW).wait > 0


def _refusal_sentence(row: AccessToken | None, token: str, public_part: str) -> str:
    """Return why a token is invalid, for admins. The client never sees this text."""
    if row is None:
        named = f", {public_part}," if public_part else ""
        return f"An unknown or revoked token{named} was presented."
    token_text = f"Token {public_part} of {_user_of(row).username}"
    if not hash_matches(token.removeprefix(f"{public_part}_"), row.secret_hash):
        return f"{token_text} was presented with a wrong secret."
    if row.expires_at <= timezone.now():
        return f"{token_text} was presented after it had expired."
    return f"{token_text} was presented, whose account is disabled."


def _count_failed_sign_in(source: str, *, worth: bool) -> bool:
    """Count a failure, and record the total when it reaches 1,000, 10,000 and so on."""
    tried = rate_limits.take("failed sign-ins", most=_ENDLESS, window=FAILURE_WINDOW)
    if tried.number in _RECORDED_TOTALS:
        sentence = f"{tried.number:,} sign-ins have failed within an hour, this one among them."
        record("sign-in-failed", sentence, SOMEBODY, "", source=source)
    return worth and tried.number <= FAILURES_ON_RECORD
