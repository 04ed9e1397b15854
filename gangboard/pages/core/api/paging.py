"""Lists: `limit`, `cursor` and `fields` in the query, `next` and `results` in the answer, the same everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.core.api.parameters import PageQuery, check_fields, only, read_query
from gangboard.pages.core.api.views import next_url
from gangboard.problem_codes import ProblemCode
from gangboard.readmodels.cursors import CursorError, Place, page_of

Item = TypeVar("Item")
RowSerializer = type[serializers.Serializer[Any]]


@dataclass(frozen=True, slots=True)
class Paging:
    """The page of a list that a request asks for, and the fields of each row."""

    limit: int
    cursor: str | None
    fields: tuple[str, ...] | None
    """Names of fields, or None for all fields."""


def read_list_query(
    request: Request, query: type[PageQuery], row: RowSerializer
) -> tuple[dict[str, Any], Paging]:
    """Return the filters of a list and its page. Raises ValidationError with a sentence per parameter."""
    filters = read_query(request, query)
    paging = Paging(filters.pop("limit"), filters.pop("cursor", None), filters.pop("fields", None))
    check_fields(paging.fields, row)
    return filters, paging


@contextmanager
def cursor_errors() -> Iterator[None]:
    """Turn a CursorError into a 400."""
    try:
        yield
    except CursorError as error:
        raise invalid_cursor(error) from error


def invalid_cursor(error: Exception) -> ValidationError:
    """Return the 400 of a cursor that does not belong to the list."""
    return ValidationError({"cursor": [ErrorDetail(str(error), ProblemCode.INVALID_CURSOR)]})


def list_response(
    request: Request,
    paging: Paging,
    row: RowSerializer,
    rows: Iterable[Any],
    next_cursor: str | None,
    *,
    context: dict[str, Any] | None = None,
    **extra: Any,
) -> Response:
    """Return one page of rows. `extra` are further keys of the answer beside `next` and `results`."""
    return Response(
        {
            "next": next_url(request, next_cursor),
            "results": rows_data(paging, row, rows, context=context),
            **extra,
        }
    )


def short_list_response(
    request: Request,
    paging: Paging,
    row: RowSerializer,
    rows: Sequence[Item],
    key: Callable[[Item], Place],
    *,
    order: str = "",
    context: dict[str, Any] | None = None,
    **extra: Any,
) -> Response:
    """Return one page of rows that were read as a whole, sorted by the unique `key`.

    `order` names the order. A cursor of another order is refused.
    """
    with cursor_errors():
        page, following = page_of(
            rows,
            key,
            cursor=paging.cursor,
            limit=paging.limit,
            order=f"{row.__name__} {order}",
        )
    return list_response(request, paging, row, page, following, context=context, **extra)


def rows_data(
    paging: Paging,
    row: RowSerializer,
    rows: Iterable[Any],
    *,
    context: dict[str, Any] | None = None,
) -> list[Any]:
    """Return the JSON of rows, reduced to the requested fields."""
    data = row(rows, many=True, context=context or {}).data
    return [only(paging.fields, row_data) for row_data in data]
