"""The lists of tokens and sessions of everybody, and what ends them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_POST, require_safe

from gangboard.pages.core.auth import admin_of
from gangboard.pages.core.pagination import PAGE_SIZE, Rows, read_rows
from gangboard.pages.core.query_state import read_address
from gangboard.pages.core.tables import sorting_of
from gangboard.pages.people import changes
from gangboard.pages.people.section import back, show
from gangboard.pages.people.sign_ins import (
    SESSION_ORDERINGS,
    TOKEN_ORDERINGS,
    SessionFilters,
    TokenFilters,
    sessions_page,
    tokens_page,
)
from gangboard.store.people import PeopleError


@require_safe
def tokens(request: HttpRequest) -> HttpResponse:
    """Show the tokens of everybody."""
    words = {
        "title": "Tokens",
        "filter": "owner or token",
        "nothing": "No token matches.",
        "button": "people/revoke.html",
    }
    return _list(
        request, "people-tokens", words, TokenFilters, TOKEN_ORDERINGS, tokens_page, "-created_at"
    )


@require_safe
def sessions(request: HttpRequest) -> HttpResponse:
    """Show the sessions of everybody."""
    words = {
        "title": "Sessions",
        "filter": "owner or address",
        "nothing": "No session matches.",
        "button": "people/end_session.html",
    }
    return _list(
        request,
        "people-sessions",
        words,
        SessionFilters,
        SESSION_ORDERINGS,
        sessions_page,
        "-last_seen_at",
        current=request.session,
    )


def _list(
    request: HttpRequest,
    page: str,
    words: Mapping[str, str],
    kind: type[TokenFilters] | type[SessionFilters],
    orderings: Mapping[str, object],
    read: Callable[..., Rows[Any]],
    usual: str,
    **more: Any,
) -> HttpResponse:
    """Show one page of a list.

    `words` are those of the template, `read` takes the filters and `more`, and `usual` is the ordering without
    one in the address.
    """
    viewer = admin_of(request)
    address = read_address(page, kind, request.GET)
    filters = address.filters
    rows, pager = read_rows(
        address,
        lambda cursor: read(viewer=viewer, filters=filters, cursor=cursor, limit=PAGE_SIZE, **more),
    )
    context = {
        **words,
        "page": page,
        "rows": rows,
        "pager": pager,
        "filters": filters,
        "hidden": address.without("q"),
        "sorting": sorting_of(
            filters.ordering, orderings, lambda one: address.link(ordering=one), usual=usual
        ),
    }
    return show(request, "people/sign_ins.html", viewer, page, context)


@require_POST
def revoke_token(request: HttpRequest, token_id: str) -> HttpResponse:
    """Revoke a token of anybody."""
    viewer = admin_of(request)
    try:
        owner = changes.revoke_token(viewer=viewer, token_id=token_id)
    except PeopleError as error:
        raise Http404 from error
    return _back(request, owner, "tokens")


@require_POST
def end_session(request: HttpRequest, session_id: int) -> HttpResponse:
    """End a session of anybody."""
    owner = changes.end_session(viewer=admin_of(request), session_id=session_id)
    if owner is None:
        raise Http404
    return _back(request, owner, "sessions")


def _back(request: HttpRequest, owner: str, part: str) -> HttpResponse:
    """Return the way to the page with the button: that of the owner, or the list."""
    if request.POST.get("back") == "person":
        return back("person", owner, part=part)
    return back(f"people-{part}")
