"""Keyset pages: the next page begins after the last row of this one, whatever came in between.

No OFFSET and no COUNT: the cost of a page does not grow with its number.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec
from django.db.models import Model, Q, QuerySet

from gangboard.readmodels.freshness import Freshness

LONGEST = 2000
"""Characters of a cursor; ours have a few hundred."""
LARGEST_PAGE = 500
"""Rows of one page, whatever is asked for."""
CLUSTER_NAME = "cluster__name"
"""Sort key by which rows of the same cluster stand together."""

Row = TypeVar("Row", bound=Model)
_NO_CLUSTERS: Mapping[int, Freshness] = MappingProxyType({})


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


def read_page(
    found: QuerySet[Row],
    keys: Sequence[SortKey],
    *,
    cursor: str | None,
    limit: int,
    clusters: Mapping[int, Freshness] = _NO_CLUSTERS,
) -> tuple[list[Row], str | None]:
    """Return one page in the order of `keys`, and the cursor of the next one (1 query).

    `clusters` are those that are known already, whose names need no query. Raises CursorError.
    """
    if cursor:
        found = found.filter(_after(keys, cursor))
    limit = max(1, min(limit, LARGEST_PAGE))
    rows = list(found.order_by(*(key.order_by for key in keys))[: limit + 1])
    page = rows[:limit]
    return page, _write(keys, page[-1], clusters) if len(rows) > limit else None


def _write(keys: Sequence[SortKey], row: Model, clusters: Mapping[int, Freshness]) -> str:
    """Return the cursor of the page that begins after `row`."""
    values = [_value(row, key.field, clusters) for key in keys]
    document = msgspec.json.encode(_Cursor(_signature(keys), values))
    return base64.urlsafe_b64encode(document).rstrip(b"=").decode()


def _value(row: Any, field: str, clusters: Mapping[int, Freshness]) -> str | int | float:
    if field == CLUSTER_NAME:
        known = clusters.get(row.cluster_id)
        return known.cluster if known else str(row.cluster.name)
    return _plain(getattr(row, field))


def _after(keys: Sequence[SortKey], cursor: str) -> Q:
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
_NUMBERS = frozenset({"shown_severity", "accelerators", "priority_unknown", "shown_priority"})
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
        # A database that keeps UTC converts it, and past the ends of the calendar that overflows.
        known = time.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise CursorError(_BAD) from error
    if time.tzinfo is None:
        raise CursorError(_BAD)
    return known
