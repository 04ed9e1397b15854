"""The lists of everybody's tokens and sessions, and the views that revoke or end them."""

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
from gangboard.pages.people.section import redirect_to, show
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
    """Show everybody's tokens."""
    texts = {
        "title": "Tokens",
        "filter": "owner or token",
        "nothing": "No token matches.",
        "button": "people/revoke.html",
    }
    return _list_page(
        request, "people-tokens", texts, TokenFilters, TOKEN_ORDERINGS, tokens_page, "-created_at"
    )


@require_safe
def sessions(request: HttpRequest) -> HttpResponse:
    """Show everybody's sessions."""
    texts = {
        "title": "Sessions",
        "filter": "owner or address",
        "nothing": "No session matches.",
        "button": "people/end_session.html",
    }
    return _list_page(
        request,
        "people-sessions",
        texts,
        SessionFilters,
        SESSION_ORDERINGS,
        sessions_page,
        "-last_seen_at",
        current=request.session,
    )


def _list_page(
    request: HttpRequest,
    page: str,
    texts: Mapping[str, str],
    filter_type: type[TokenFilters] | type[SessionFilters],
    orderings: Mapping[str, object],
    read: Callable[..., Rows[Any]],
    default_ordering: str,
    **arguments: Any,
) -> HttpResponse:
    """Return one page of a list.

    `texts` are those of the template. `read` takes the filters and `arguments`. `default_ordering`
    applies if the address names no ordering.
    """
    viewer = admin_of(request)
    address = read_address(page, filter_type, request.GET)
    filters = address.filters
    rows, pager = read_rows(
        address,
        lambda cursor: read(
            viewer=viewer, filters=filters, cursor=cursor, limit=PAGE_SIZE, **arguments
        ),
    )
    context = {
        **texts,
        "page": page,
        "rows": rows,
        "pager": pager,
        "filters": filters,
        "hidden": address.without("q"),
        "sorting": sorting_of(
            filters.ordering,
            orderings,
            lambda key: address.link(ordering=key),
            usual=default_ordering,
        ),
    }
    return show(request, "people/sign_ins.html", viewer, page, context)


@require_POST
def revoke_token(request: HttpRequest, token_id: str) -> HttpResponse:
    """Revoke a token of any person."""
    viewer = admin_of(request)
    try:
        owner = changes.revoke_token(viewer=viewer, token_id=token_id)
    except PeopleError as error:
        raise Http404 from error
    return _redirect_back(request, owner, "tokens")


@require_POST
def end_session(request: HttpRequest, session_id: int) -> HttpResponse:
    """End a session of any person."""
    owner = changes.end_session(viewer=admin_of(request), session_id=session_id)
    if owner is None:
        raise Http404
    return _redirect_back(request, owner, "sessions")


def _redirect_back(request: HttpRequest, owner: str, section: str) -> HttpResponse:
    """Return the redirect to the page with the button: the page of the owner, or the list."""
    if request.POST.get("back") == "person":
        return redirect_to("person", owner, anchor=section)
    return redirect_to(f"people-{section}")
