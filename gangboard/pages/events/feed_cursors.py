"""Cursors of the feed: the number of the last event that a reader has received, and its time."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from gangboard.store.feed import RETENTION_DAYS

LONGEST = 100
"""Characters; ours have about 30."""
NOW = "now"
"""The cursor for later events only."""
GONE = "This cursor is older than {days} days, and older events are deleted. Start again without a cursor, or with cursor=now, and read the current state from gangs/."
AHEAD = "This cursor is ahead of the feed, so the feed comes from an older backup. Start again with cursor=now, and read the current state from gangs/."
_BAD = "This is not a cursor of events/. Use one of an earlier answer, or `now`."
_DAYS = timedelta(days=RETENTION_DAYS)


class GoneError(ValueError):
    """Events after the cursor were deleted. The text is a sentence for the sender."""


class BadCursorError(ValueError):
    """The cursor is invalid. The text is a sentence for the sender."""


@dataclass(frozen=True, slots=True)
class FeedCursor:
    """A place between two events."""

    number: int
    """Number of the last event before it."""
    at: datetime
    """No event that came after it is older than this."""


_DECODER = msgspec.json.Decoder(tuple[int, int])


def write_cursor(number: int, time: datetime) -> str:
    """Return the text of a cursor."""
    text = msgspec.json.encode((number, int(time.timestamp())))
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def read_cursor(text: str) -> FeedCursor:
    """Return the cursor of a text. Raises BadCursorError."""
    if len(text) > LONGEST:
        raise BadCursorError(_BAD)
    try:
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        number, seconds = _DECODER.decode(base64.b64decode(padded, altchars=b"-_", validate=True))
        time = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError, binascii.Error, msgspec.MsgspecError) as error:
        raise BadCursorError(_BAD) from error
    if not 0 <= number < 2**63:
        raise BadCursorError(_BAD)
    return FeedCursor(number, time)


def check_cursor(cursor: FeedCursor, *, newest: int, now: datetime) -> None:
    """Raise GoneError if events after the cursor may have been deleted.

    `newest` is the number of the newest event.
    """
    if cursor.at < now - _DAYS:
        raise GoneError(GONE.format(days=RETENTION_DAYS))
    if cursor.number > newest:
        raise GoneError(AHEAD)
