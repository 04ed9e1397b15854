"""Keyset pages: the next page begins after the last row of this one, whatever came in between.

No OFFSET and no COUNT: the cost of a page does not grow with its number.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec
from django.db.models import Q

LONGEST = 2000
"""Characters of a cursor; ours have a few hundred."""


class CursorError(ValueError):
    """The cursor is not one of ours, or belongs to another order. The text is for who sent it."""


@dataclass(frozen=True, slots=True)
class SortKey:
    """One column of an order. Columns that may be null cannot be one."""

    field: str
    descending: bool = False

    @property
    def order_by(self) -> str:
        """As Django's order_by takes it."""
        return f"-{self.field}" if self.descending else self.field


class _Cursor(msgspec.Struct, array_like=True):
    order: str
    values: list[str | int | float]


_CURSOR = msgspec.json.Decoder(_Cursor)

_BAD: Final = "The cursor does not belong to this list; begin again without it."


def write_cursor(keys: Sequence[SortKey], row: Any) -> str:
    """Return the cursor of the page that begins after `row`, which has every key as attribute."""
    values = [_plain(getattr(row, key.field)) for key in keys]
    document = msgspec.json.encode(_Cursor(_signature(keys), values))
    return base64.urlsafe_b64encode(document).rstrip(b"=").decode()


def after_cursor(keys: Sequence[SortKey], cursor: str) -> Q:
    """Return the condition on rows after the cursor. Raises CursorError."""
    if len(cursor) > LONGEST:
        raise CursorError(_BAD)
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        read = _CURSOR.decode(base64.urlsafe_b64decode(padded))
    except (ValueError, binascii.Error, msgspec.MsgspecError) as error:
        raise CursorError(_BAD) from error
    if read.order != _signature(keys) or len(read.values) != len(keys):
        raise CursorError(_BAD)
    if any(isinstance(value, str) and "\x00" in value for value in read.values):
        raise CursorError(_BAD)  # the one character that PostgreSQL refuses
    condition, equal = Q(pk__in=[]), Q()
    for key, value in zip(keys, read.values, strict=True):
        known = _typed(key, value)
        condition |= equal & Q(**{f"{key.field}__{'lt' if key.descending else 'gt'}": known})
        equal &= Q(**{key.field: known})
    return condition


def _signature(keys: Sequence[SortKey]) -> str:
    return ",".join(key.order_by for key in keys)


def _plain(value: Any) -> str | int | float:
    return value.isoformat() if isinstance(value, datetime) else value


_TIMES = frozenset({"since", "made_at", "requested_at", "at"})
_NUMBERS = frozenset({"shown_severity", "accelerators"})
_KEYS = frozenset({"pk"})
_LARGEST_KEY = 2**63 - 1


def _typed(key: SortKey, value: str | float) -> str | float | datetime:
    """Return the value in its column's type: a wrong one must not reach the database."""
    if key.field in _NUMBERS:
        if isinstance(value, str) or not -1e300 < value < 1e300:
            raise CursorError(_BAD)
        return value
    if key.field in _KEYS:
        if not isinstance(value, int) or abs(value) > _LARGEST_KEY:
            raise CursorError(_BAD)
        return value
    if not isinstance(value, str):
        raise CursorError(_BAD)
    if key.field not in _TIMES:
        return value
    try:
        time = datetime.fromisoformat(value)
    except ValueError as error:
        raise CursorError(_BAD) from error
    if time.tzinfo is None:
        raise CursorError(_BAD)
    return time
