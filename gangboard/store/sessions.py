"""Sessions of signed-in browsers. The key of a row is a hash of the cookie, so a copy of the table opens no
page.

A session ends `LONGEST_SESSION` after the sign-in, or earlier after `GANGBOARD_SESSION_IDLE` without use.
`Session.expire_date` is the earlier of the two times, so every reader of sessions respects both.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.models import Session
from django.db import Error, transaction
from django.db.models import QuerySet
from django.utils import timezone

from gangboard.logs import get_logger
from gangboard.store.bulk_statements import delete_in_batches
from gangboard.store.database_state import is_unavailable
from gangboard.store.models import SessionRecord
from gangboard.store.people import GANGBOARD, delete_sessions, record
from gangboard.store.secrets import hash_secret

KEY_CHARACTERS = 40
"""Length of the column in Django's table. 40 hexadecimal digits are 160 bits, about as many as a cookie has."""

LONGEST_SESSION = timedelta(seconds=settings.SESSION_COOKIE_AGE)
"""Maximum duration of a session, used or not."""
FRESH = timedelta(minutes=15)
"""Duration for which a sign-in is fresh, so that the browser's user is the person who signed in."""
USE_INTERVAL = timedelta(minutes=1)
"""Minimum interval between two writes of a session's use, so that a read rarely causes a write."""
PASSWORD, LINK, PROVIDER, PROXY = "password", "link", "provider", "proxy"
"""Methods of sign-in."""
_SIGNED_IN_AT = "signed_in_at"
_METHOD = "signed_in_by"
_MOST_REMEMBERED = 10_000
_written: dict[str, float] = {}
"""Monotonic time of the last write of a session by this process, by row key."""
_writes_paused_until = 0.0
"""Monotonic time until which uses are not written, because the last write failed."""
log = get_logger(__name__)
RECORD_RETENTION = timedelta(days=1)
"""A form that a person sends after the end of their session is kept for that person (`pages.core.saved_forms`)."""


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A browser in which a person is signed in."""

    id: int
    method: str
    """`password`, `link`, `provider` or `proxy`."""
    address: str
    """Client address of the last request; empty if unknown."""
    created_at: datetime
    last_seen_at: datetime
    """Accurate to the minute."""
    ends_at: datetime
    """The latest possible end."""
    is_current: bool
    """True for the session of the request."""


def row_key(session_key: str) -> str:
    """Return the key of the session row for a cookie."""
    return hash_secret(session_key)[:KEY_CHARACTERS]


class SessionStore(db.SessionStore):
    """Django's database sessions with hashed keys. `session_key` is the cookie's value."""

    stored_end: datetime | None = None
    """`expire_date` of the row that was read; None before that."""

    def _get_session_from_db(self) -> AbstractBaseSession | None:
        rows = self.model.objects.filter(expire_date__gt=timezone.now())
        row = rows.filter(session_key=row_key(str(self.session_key))).first()
        if row is None:
            self._session_key = None
        else:
            self.stored_end = row.expire_date
        return row

    def exists(self, session_key: str) -> bool:
        """Return whether a session has this key."""
        return super().exists(row_key(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        """Return the row to save."""
        row = super().create_model_instance(data)
        row.session_key = row_key(row.session_key)
        if SESSION_KEY in data:
            row.expire_date = min(row.expire_date, timezone.now() + _idle_timeout())
        return row

    def delete(self, session_key: str | None = None) -> None:
        """Delete the session with this key, by default the current one."""
        key = session_key or self.session_key
        if key is not None:
            super().delete(row_key(key))
            SessionRecord.objects.filter(session_key=row_key(key)).delete()

    async def _aget_session_from_db(self) -> AbstractBaseSession | None:
        return await sync_to_async(self._get_session_from_db)()

    async def aexists(self, session_key: str) -> bool:
        """Return whether a session has this key."""
        return await super().aexists(row_key(session_key))

    async def acreate_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        """Return the row to save."""
        return await sync_to_async(self.create_model_instance)(data)

    async def adelete(self, session_key: str | None = None) -> None:
        """Delete the session with this key, by default the current one."""
        await sync_to_async(self.delete)(session_key)


def begin_session(
    session: SessionBase,
    *,
    user: User,
    method: str,
    address: str,
    authenticated_at: datetime | None = None,
) -> None:
    """Start the session of a `user` who has just signed in: set its end and list it.

    `authenticated_at` is when the person last proved their identity, if that is not now.
    """
    now = timezone.now()
    ends_at = now + LONGEST_SESSION
    session.set_expiry(ends_at)
    session[_SIGNED_IN_AT] = (authenticated_at or now).timestamp()
    session[_METHOD] = method
    session.save()
    SessionRecord.objects.update_or_create(
        session_key=row_key(str(session.session_key)),
        defaults={
            "user": user,
            "method": method,
            "address": address[:64],
            "created_at": now,
            "last_seen_at": now,
            "ends_at": ends_at,
        },
    )


def owner_of_ended_session(session_key: str) -> int | None:
    """Return the user id of a cookie's session, even after the session expired; None if unknown.

    This does not prove who sends the cookie. A session that a person ended has no record.
    """
    records = SessionRecord.objects.filter(session_key=row_key(session_key), user__is_active=True)
    return records.values_list("user_id", flat=True).first()


def signed_in_by(session: SessionBase) -> str:
    """Return the sign-in method of a session; empty if unknown."""
    return str(session.get(_METHOD, ""))


def is_fresh(session: SessionBase) -> bool:
    """Return whether the person of a session has signed in within FRESH."""
    signed_in_at = session.get(_SIGNED_IN_AT)
    if not isinstance(signed_in_at, float):
        return False
    return 0 <= timezone.now().timestamp() - signed_in_at <= FRESH.total_seconds()


def record_session_use(session: SessionStore, *, address: str) -> None:
    """Postpone the idle end of a signed-in session, at most once per USE_INTERVAL. Call it outside transactions."""
    expires_at, key = session.stored_end, session.session_key
    if expires_at is None or key is None or SESSION_KEY not in session:
        return
    now, latest = timezone.now(), session.get_expiry_date()
    new_end, step = min(latest, now + _idle_timeout()), USE_INTERVAL.total_seconds()
    is_capped = new_end >= latest  # The end no longer reveals the last use.
    if not is_capped and (new_end - expires_at).total_seconds() < step:
        return
    stored_key = row_key(key)
    global _writes_paused_until  # of this process
    clock = time.monotonic()
    if clock < _writes_paused_until or clock - _written.get(stored_key, -step) < step:
        return
    if len(_written) >= _MOST_REMEMBERED:
        _written.clear()
    _written[stored_key] = clock
    try:
        Session.objects.filter(pk=stored_key, expire_date__lt=new_end).update(expire_date=new_end)
        SessionRecord.objects.filter(session_key=stored_key).update(
            last_seen_at=now, address=address[:64]
        )
    except Error as error:
        if not is_unavailable(error):
            raise
        # A full disk or a busy writer must not fail a read or make every read wait for the lock.
        _writes_paused_until = clock + step
        log.warning("use of a session not noted", error=str(error))


def list_sessions(*, user_id: int, current: SessionBase | None = None) -> tuple[OpenSession, ...]:
    """Return the sessions of a person, last used first (2 queries). `current` is the session of the request."""
    records = list(
        SessionRecord.objects.filter(user_id=user_id, ends_at__gt=timezone.now()).order_by(
            "-last_seen_at", "pk"
        )
    )
    open_keys = set(
        Session.objects.filter(
            pk__in=[session_record.session_key for session_record in records],
            expire_date__gt=timezone.now(),
        ).values_list("pk", flat=True)
    )
    current_key = row_key(str(current.session_key)) if current and current.session_key else ""
    return tuple(
        OpenSession(
            session_record.pk,
            session_record.method,
            session_record.address,
            session_record.created_at,
            session_record.last_seen_at,
            session_record.ends_at,
            session_record.session_key == current_key,
        )
        for session_record in records
        if session_record.session_key in open_keys
    )


def end_session(session_id: int, *, user: User, by: str = GANGBOARD) -> bool:
    """End one session of a person by its id in `list_sessions`. Return False if there is none."""
    return _end_records(SessionRecord.objects.filter(pk=session_id, user=user), user, by) == 1


def end_sessions(user: User, *, by: str = GANGBOARD, keep: SessionBase | None = None) -> int:
    """End all sessions of a person except `keep`. Return their number."""
    records = SessionRecord.objects.filter(user=user)
    if keep is not None and keep.session_key:
        records = records.exclude(session_key=row_key(keep.session_key))
    return _end_records(records, user, by)


def _end_records(records: QuerySet[SessionRecord], user: User, by: str) -> int:
    with transaction.atomic():
        number = delete_sessions(records)
        if number:
            name = user.get_username()
            count_text = "1 session" if number == 1 else f"{number} sessions"
            record("sessions-ended", f"{count_text} of {name} ended.", by, name)
    return number


def _idle_timeout() -> timedelta:
    return timedelta(seconds=settings.SESSION_IDLE)


def delete_expired_sessions(*, ended_before: datetime) -> int:
    """Delete the sessions that expired before a time, and their records a day later. Return the number of
    sessions."""
    oldest = ended_before - RECORD_RETENTION
    delete_in_batches(SessionRecord.objects.filter(ends_at__lt=oldest).order_by("ends_at"))
    return delete_in_batches(
        Session.objects.filter(expire_date__lt=ended_before).order_by("expire_date")
    )
