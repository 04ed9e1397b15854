"""How people and programs get in: one-time links, tokens, the limit on passwords, and the record of it.

Secrets are random with 256 bits and kept as hashes only, as sessions are, so nothing in the tables lets anyone in.
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
"""How long a sign-in link works: long enough to send it to a colleague, too short to be kept."""
TOKEN_DAYS = 30
LONGEST_TOKEN_DAYS = 366
LAST_USE_STEP = timedelta(minutes=1)
"""`last_used_at` is written at most this often: reading must not mean writing."""

BEGUN_OF_SENDER = 100
BEGIN_WINDOW = timedelta(minutes=1)
"""So many sign-ins by the identity provider may begin from one network within this time."""
PASSWORD_WINDOW = timedelta(minutes=5)
PASSWORDS_OF_PLACE = 10
"""Wrong passwords for one name from one place within the window."""

FAILURES_ON_RECORD = 100
FAILURE_WINDOW = timedelta(hours=1)
"""Failed sign-ins that are written down one by one within it; of more only how many they are."""
REFUSED_TOKENS_COUNTED = 1_000
"""Refused tokens that are looked at one by one within FAILURE_WINDOW; of more only how many they are."""
_ENDLESS = 2**31 - 1
_ROUND = frozenset(10**digits for digits in range(3, 10))
_OF_A_SERIES = frozenset(10**digits for digits in range(10))
_PUBLIC_PART = re.compile(r"gb_[0-9a-f]{16}(?=_)")
"""The part of a token, as it is made here, that may be shown."""
SOMEBODY = "somebody"
"""Who has not signed in."""

_NO_HASH = hash_secret("")
_no_notes_until = 0.0
"""Monotonic time until which `last_used_at` is not written, because the last write failed."""
log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ValidToken:
    """A token that was presented and is valid."""

    id: str
    user: User
    may_act: bool


def create_sign_in_link(*, user: User, life: timedelta = LINK_LIFETIME, by: str = GANGBOARD) -> str:
    """Return the secret of a new link that signs `user` in once, within `life`."""
    secret = secrets.token_urlsafe(32)
    name = user.get_username()
    with transaction.atomic():
        SignInLink.objects.create(
            secret_hash=hash_secret(secret), user=user, expires_at=timezone.now() + life
        )
        record("link-made", f"A link was made that signs {name} in once.", by, name)
    return secret


def find_sign_in_link(secret: str) -> User | None:
    """Return whom the link would sign in, None when it does not work (any more); uses nothing up."""
    link = _working_link(secret, timezone.now())
    return None if link is None else _user_of(link)


def consume_sign_in_link(secret: str) -> User | None:
    """Return whom the link signs in and make it worthless; None when it does not work (any more).

    Exactly one of two simultaneous uses wins: the row is claimed by a conditional update.
    """
    now = timezone.now()
    link = _working_link(secret, now)
    if link is None or SignInLink.objects.filter(pk=link.pk, used_at=None).update(used_at=now) != 1:
        return None
    return _user_of(link)


def _working_link(secret: str, now: datetime) -> SignInLink | None:
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
    """Return a new token `gb_<id>_<secret>`; it is not shown again. Raises PeopleError."""
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
        sentence = f"Token gb_{token_id} of {name} was made: it {right} for {days} days."
        record("token-made", sentence, by, name)
    return f"gb_{token_id}_{secret}"


def find_token(token: str) -> ValidToken | None:
    """Return what a presented token stands for; None when unknown, wrong, expired or disabled."""
    prefix, _, rest = token.partition("_")
    token_id, _, secret = rest.partition("_")
    # A NUL is the one character that PostgreSQL refuses in a query.
    if prefix != "gb" or not token_id.isalnum() or not secret:
        return None
    row = AccessToken.objects.select_related("user").filter(pk=token_id).first()
    # Also for an unknown id, so that the time taken does not tell which ids exist.
    matches = hash_matches(secret, row.secret_hash if row else _NO_HASH)
    now = timezone.now()
    if row is None or not matches or row.expires_at <= now or not row.user.is_active:
        return None
    _note_use(row)
    return ValidToken(row.pk, _user_of(row), row.may_act)


def is_token_valid(token_id: str, *, user_id: int) -> bool:
    """Whether a token that was presented earlier would still let this user act."""
    return AccessToken.objects.filter(
        pk=token_id, user_id=user_id, may_act=True, expires_at__gt=timezone.now()
    ).exists()


def _note_use(row: AccessToken) -> None:
    now = timezone.now()
    if row.last_used_at is not None and row.last_used_at > now - LAST_USE_STEP:
        return
    global _no_notes_until  # of this process
    if time.monotonic() < _no_notes_until:
        return
    try:
        # Again in the condition: of many requests at the same moment one writes.
        AccessToken.objects.filter(
            Q(last_used_at=None) | Q(last_used_at__lte=now - LAST_USE_STEP), pk=row.pk
        ).update(last_used_at=now)
    except Error as error:
        if not is_unavailable(error):
            raise
        # A full disk or a busy writer must not end a read, nor make every read wait for the lock.
        _no_notes_until = time.monotonic() + LAST_USE_STEP.total_seconds()
        log.warning("use of a token not noted", error=str(error))


def revoke_token(token: str, *, by: str = GANGBOARD) -> User:
    """Make a token worthless at once and return whose it was.

    `token` is all of it or its public part, `gb_<id>`: whoever reports a leak should not have to
    pass the secret on. Raises PeopleError, without repeating what may be a secret.
    """
    token_id = token.removeprefix("gb_").partition("_")[0]
    # As in find_token: PostgreSQL refuses a NUL.
    found = AccessToken.objects.filter(pk=token_id) if token_id.isalnum() else None
    row = found.select_related("user").first() if found is not None else None
    if found is None or row is None:
        raise PeopleError("there is no such token: it was revoked already, or it is not of here")
    with transaction.atomic():
        found.delete()
        _record_revoked(row, by)
    return _user_of(row)


def _record_revoked(row: AccessToken, by: str) -> None:
    name = row.user.get_username()
    record("token-revoked", f"Token gb_{row.pk} of {name} was revoked.", by, name)


def revoke_tokens(*, name: str, by: str = GANGBOARD) -> int:
    """Make all tokens of a user worthless at once; return how many. Raises PeopleError."""
    with transaction.atomic():
        found = AccessToken.objects.filter(user=require_user(name)).select_related("user")
        rows = list(found)
        AccessToken.objects.filter(pk__in=[row.pk for row in rows]).delete()
        for row in rows:
            _record_revoked(row, by)
    return len(rows)


def count_password_attempt(*, name: str, place: str) -> rate_limits.RateLimitResult:
    """Count an attempt before its password is looked at; `wait` says whether it may be.

    Counting first keeps simultaneous attempts within the limit too. `place` is where it comes from:
    somebody else's wrong passwords from elsewhere, or for other names from here, keep nobody out.
    Counted whether or not there is such a user.
    """
    return rate_limits.take(
        *_password(name, place), most=PASSWORDS_OF_PLACE, window=PASSWORD_WINDOW
    )


def count_sign_in_start(*, sender: str) -> rate_limits.RateLimitResult:
    """Count that a sign-in by the identity provider begins; `wait` says whether it may. Outside of transactions.

    Each one that begins stores a session for ten minutes. `sender` is the network from which it comes: a whole
    company may be behind one address.
    """
    return rate_limits.take("begin sign-in", sender, most=BEGUN_OF_SENDER, window=BEGIN_WINDOW)


def reset_password_attempts(*, name: str, place: str) -> None:
    """After a right password the name starts from zero there."""
    rate_limits.reset_rate_limit(*_password(name, place))


def _password(name: str, place: str) -> tuple[str, ...]:
    return ("password", name.casefold(), place)


def record_sign_in(*, user: User, how: str, source: str) -> None:
    """Write down that somebody has signed in; `how`: `a password`, `a link`, `a proxy`, or a provider's name."""
    name = user.get_username()
    record("signed-in", f"{name} signed in by {how}.", name, name, source=source)


def record_sign_out(*, name: str, source: str) -> None:
    """Write down that somebody has signed out."""
    record("signed-out", f"{name} signed out.", name, name, source=source)


def record_failed_sign_in(*, name: str, source: str, number: int) -> None:
    """Write down a wrong password, the `number`-th for that name from that place within its window.

    The first of each and the one that ends a series; within an hour no more than FAILURES_ON_RECORD,
    and from there on how many they are: a flood must not fill the disk. A name that nobody has is not
    written down, because what people mistype into that field is often a password.
    """
    known = find_user(name=name) is not None
    who = name if known else "a name that nobody has"
    sentence = f"A wrong password was given for {who}."
    if number > 1:
        sentence = f"{number} wrong passwords were given for {who} within five minutes."
    if _is_on_record(source, worth=number in (1, PASSWORDS_OF_PLACE)):
        record("sign-in-failed", sentence, SOMEBODY, name if known else "", source=source)


def record_failed_link(*, source: str) -> None:
    """Write down that a link was used that does not work; as many as of wrong passwords."""
    if _is_on_record(source, worth=True):
        sentence = "A sign-in link was used that does not work, or not any more."
        record("sign-in-failed", sentence, SOMEBODY, "", source=source)


def record_failed_provider(sentence: str, *, source: str) -> None:
    """Write down why a sign-in by the identity provider failed; as many as of wrong passwords."""
    if _is_on_record(source, worth=True):
        record("sign-in-failed", sentence, SOMEBODY, "", source=source)


def record_refused_token(token: str, *, source: str, sender: str) -> None:
    """Write down that a request came with a token that is not valid (any more).

    The first, tenth, hundredth … from a sender within an hour, apart for each token that there is;
    no more than FAILURES_ON_RECORD lines, and for a flood how many they are. Apart from failed
    sign-ins: a program with an old token hides no wrong password. The secret is not written down.
    """
    total = rate_limits.take("refused tokens", most=_ENDLESS, window=FAILURE_WINDOW).number
    if total in _ROUND:
        sentence = f"{total:,} requests with tokens that are not valid were refused within an hour."
        record("token-refused", sentence, SOMEBODY, "", source=source)
    if total > REFUSED_TOKENS_COUNTED:
        return
    shown = found[0] if (found := _PUBLIC_PART.match(token)) else ""
    rows = AccessToken.objects.select_related("user")
    row = rows.filter(pk=shown.removeprefix("gb_")).first() if shown else None
    key = ("refused token", sender, row.pk if row else "")
    number = rate_limits.take(*key, most=_ENDLESS, window=FAILURE_WINDOW).number
    if number not in _OF_A_SERIES or _is_full("lines on refused tokens"):
        return
    sentence = _refusal(row, token, shown)
    if number > 1:
        sentence += f" It was request {number} of that kind from there within an hour."
    record(
        "token-refused", sentence, SOMEBODY, _user_of(row).username if row else "", source=source
    )


def _is_full(lines: str) -> bool:
    return rate_limits.take(lines, most=FAILURES_ON_RECORD, window=FAILURE_WINDOW).wait > 0


def _refusal(row: AccessToken | None, token: str, shown: str) -> str:
    """Return why a token is not valid, for admins: who presented it is not told."""
    if row is None:
        named = f", {shown}," if shown else ""
        return f"A token{named} was presented that is of nobody, or was revoked."
    which = f"Token {shown} of {_user_of(row).username}"
    if not hash_matches(token.removeprefix(f"{shown}_"), row.secret_hash):
        return f"{which} was presented with a wrong secret."
    if row.expires_at <= timezone.now():
        return f"{which} was presented after it had expired."
    return f"{which} was presented, whose account is disabled."


def _is_on_record(source: str, *, worth: bool) -> bool:
    """Count a failure; write down how many they are when they are 1,000, 10,000 and so on."""
    tried = rate_limits.take("failed sign-ins", most=_ENDLESS, window=FAILURE_WINDOW)
    if tried.number in _ROUND:
        sentence = f"{tried.number:,} sign-ins have failed within an hour, this one among them."
        record("sign-in-failed", sentence, SOMEBODY, "", source=source)
    return worth and tried.number <= FAILURES_ON_RECORD
