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
    """Which page of a list is asked for, and what of each row."""

    limit: int
    cursor: str | None
    fields: tuple[str, ...] | None
    """Names of fields; None asks for all."""


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
    """Turn a CursorError into the 400 that says so."""
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
    **beside: Any,
) -> Response:
    """Return one page of rows. `beside` is what the answer has besides `next` and `results`."""
    return Response(
        {
            "next": next_url(request, next_cursor),
            "results": rows_data(paging, row, rows, context=context),
            **beside,
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
    **beside: Any,
) -> Response:
    """Return one page of rows that were read as a whole, in the order of `key`, which no two of them share.

    `order` names the order: a cursor of another one is refused.
    """
    with cursor_errors():
        page, following = page_of(
            rows,
            key,
            cursor=paging.cursor,
            limit=paging.limit,
            order=f"{row.__name__} {order}",
        )
    return list_response(request, paging, row, page, following, context=context, **beside)


def rows_data(
    paging: Paging,
    row: RowSerializer,
    rows: Iterable[Any],
    *,
    context: dict[str, Any] | None = None,
) -> list[Any]:
    """Return the JSON of rows with the wanted fields."""
    data = row(rows, many=True, context=context or {}).data
    return [only(paging.fields, one) for one in data]
