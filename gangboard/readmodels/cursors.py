"""Keyset pagination: a page begins after the last row of the previous one, even if rows were added since.

There is no OFFSET and no COUNT, so the cost of a page does not grow with its number.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec
from django.db.models import Model, Q, QuerySet

from gangboard.readmodels.freshness import Freshness

LONGEST = 2000
"""Characters of a cursor. Real ones have a few hundred."""
LARGEST_PAGE = 500
"""Maximum rows of one page."""
CLUSTER_NAME = "cluster__name"
"""Sort key that groups rows by cluster."""

Row = TypeVar("Row", bound=Model)
Item = TypeVar("Item")
Place = tuple[str | int | float, ...]
"""The sort key of an item."""
_NO_CLUSTERS: Mapping[int, Freshness] = MappingProxyType({})


class CursorError(ValueError):
    """The cursor is invalid or belongs to another order. The text is a sentence for the sender."""


@dataclass(frozen=True, slots=True)
class SortKey:
    """One column of an order. It must not be nullable."""

    field: str
    descending: bool = False

    @property
    def order_by(self) -> str:
        """The argument of Django's `order_by`."""
        return f"-{self.field}" if self.descending else self.field


class _Cursor(msgspec.Struct, array_like=True):
    order: str
    values: list[str | int | float]


_CURSOR = msgspec.json.Decoder(_Cursor)

_TEXTS = "texts"
"""Name of the default order of lists that are not tables: by texts."""
_BAD: Final = "The cursor does not belong to this list; start again without it."


def read_page(
    queryset: QuerySet[Row],
    keys: Sequence[SortKey],
    *,
    cursor: str | None,
    limit: int,
    clusters: Mapping[int, Freshness] = _NO_CLUSTERS,
) -> tuple[list[Row], str | None]:
    """Return one page in the order of `keys`, and the cursor of the next page (1 query).

    `clusters` are already known clusters, whose names need no query. Raises CursorError.
    """
    if cursor:
        queryset = queryset.filter(_after(keys, cursor))
    limit = max(1, min(limit, LARGEST_PAGE))
    rows = list(queryset.order_by(*(key.order_by for key in keys))[: limit + 1])
    page = rows[:limit]
    return page, _write(keys, page[-1], clusters) if len(rows) > limit else None


def page_of(
    items: Sequence[Item],
    key: Callable[[Item], Place],
    *,
    cursor: str | None,
    limit: int,
    order: str = _TEXTS,
) -> tuple[list[Item], str | None]:
    """Return one page of items in the order of `key`, and the cursor of the next page.

    `order` names the order. Raises CursorError for an invalid cursor and for one of another order.
    """
    after = _place(cursor, order) if cursor else ()
    if after and items and len(after) != len(key(items[0])):
        raise CursorError(_BAD)
    limit = max(1, min(limit, LARGEST_PAGE))
    try:
        rows = sorted((item for item in items if key(item) > after), key=key)[: limit + 1]
    except TypeError as error:  # a text where this order has a number
        raise CursorError(_BAD) from error
    page = rows[:limit]
    if len(rows) <= limit:
        return page, None
    return page, _encode(_Cursor(order, list(key(page[-1]))))


def newest_first(time: datetime) -> float:
    """Return an element of a Place that sorts later times first."""
    return -time.timestamp()


def _place(cursor: str, order: str) -> Place:
    read = _decode(cursor)
    only_texts = all(isinstance(value, str) for value in read.values)
    if read.order != order or (order == _TEXTS and not only_texts):
        raise CursorError(_BAD)
    return tuple(read.values)


def _write(keys: Sequence[SortKey], row: Model, clusters: Mapping[int, Freshness]) -> str:
    """Return the cursor of the page that begins after `row`."""
    values = [_value(row, key.field, clusters) for key in keys]
    return _encode(_Cursor(_signature(keys), values))


def _encode(cursor: _Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).rstrip(b"=").decode()


def _decode(cursor: str) -> _Cursor:
    if len(cursor) > LONGEST:
        raise CursorError(_BAD)
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return _CURSOR.decode(base64.urlsafe_b64decode(padded))
    except (ValueError, binascii.Error, msgspec.MsgspecError) as error:
        raise CursorError(_BAD) from error


def _value(row: Any, field: str, clusters: Mapping[int, Freshness]) -> str | int | float:
    if field == CLUSTER_NAME:
        known = clusters.get(row.cluster_id)
        return known.cluster if known else str(row.cluster.name)
    return _plain(getattr(row, field))


def _after(keys: Sequence[SortKey], cursor: str) -> Q:
    """Return the condition for rows after the cursor. Raises CursorError."""
    read = _decode(cursor)
    if read.order != _signature(keys) or len(read.values) != len(keys):
        raise CursorError(_BAD)
    if any(isinstance(value, str) and "\x00" in value for value in read.values):
        raise CursorError(_BAD)  # PostgreSQL refuses NUL
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


_TIMES = frozenset(
    {
        *("since", "made_at", "requested_at", "at", "gone_at"),
        *("seen", "used", "created_at", "expires_at", "last_seen_at", "ends_at"),
    }
)
_NUMBERS = frozenset({"shown_severity", "accelerators", "priority_unknown", "shown_priority"})
_KEYS = frozenset({"pk"})
_LARGEST_KEY = 2**63 - 1


def _typed(key: SortKey, value: str | float) -> str | float | datetime:
    """Return the value in the type of its column. Raises CursorError, so a wrong value never reaches the database."""
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
        # Databases convert the time to UTC, which overflows near the limits of the calendar.
        known = time.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise CursorError(_BAD) from error
    if time.tzinfo is None:
        raise CursorError(_BAD)
    return known
