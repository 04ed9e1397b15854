"""Forms that were sent after the session, or the fresh sign-in, had ended. They are refilled after the sign-in.

A saved form is never carried out without the user. Its values stay in the browser's session for 15 minutes, for
the user who typed them. A view names the fields to save, so passwords and kubeconfigs are never saved.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlencode, urlsplit

from django import forms
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils import timezone

LIFE = timedelta(minutes=15)
MOST = 3
"""Saved forms of one browser. A further form replaces the oldest one."""
LARGEST = 16 * 1024
"""Characters of one form."""
REFILLED = "Your session had ended, so nothing was carried out. The form still has your input: check it and send it again."
EXPIRED = (
    "Your form was not carried out, and your input is no longer stored. Fill in the form again."
)
_IN_SESSION = "kept_forms"
_IN_QUERY = "kept"
AnyForm = TypeVar("AnyForm", bound=forms.Form)
View = TypeVar("View", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class _Declaration:
    """The page and the fields that a view declares with `saves_form`."""

    page: str
    fields: tuple[str, ...]
    anchor: str


def saves_form(page: str, *, fields: Iterable[str], anchor: str = "") -> Callable[[View], View]:
    """Declare the fields of a view's form to save.

    `page` is the name of the URL that shows the form and takes the arguments of the view. `anchor` is the id of
    an element on that page.
    """
    declaration = _Declaration(page, tuple(fields), anchor)

    def declare(view: View) -> View:
        view.saved_form = declaration  # type: ignore[attr-defined]
        return view

    return declare


def save_form(request: HttpRequest, *, user_id: int | None) -> str:
    """Save the form of a request and return the address that shows it refilled, or "" if it cannot be saved.

    `user_id` is the user who sent it, or None if that is unknown.
    """
    match = request.resolver_match
    declared = getattr(match.func, "saved_form", None) if match is not None else None
    if match is None or declared is None or user_id is None or request.method != "POST":
        return ""
    pairs = [(name, text) for name in declared.fields for text in request.POST.getlist(name)]
    if sum(len(name) + len(text) for name, text in pairs) > LARGEST:
        return ""
    path, now = reverse(declared.page, kwargs=match.kwargs), timezone.now().timestamp()
    address = f"{path}?{urlencode({_IN_QUERY: (id_ := secrets.token_urlsafe(9))})}"
    address += f"#{declared.anchor}" if declared.anchor else ""
    entry = {"user": user_id, "at": now, "form": match.url_name, "address": address, "pairs": pairs}
    entries = [*_unexpired(request.session).items(), (id_, entry)]
    request.session[_IN_SESSION] = dict(entries[-MOST:])
    if not request.user.is_authenticated:
        # Until the sign-in is finished, the session contains only the form.
        request.session.set_expiry(int(LIFE.total_seconds()))
    return address


def saved_form(request: HttpRequest, form: str = "") -> QueryDict | None:
    """Return the values of the saved form that a page's address names, or None without one.

    `form` is the name of the URL to which the form was sent. By default it is that of the page.
    """
    match, entry = request.resolver_match, _entry(request)
    form_name = form or (match.url_name if match is not None else "")
    if entry is None or entry["form"] != form_name or request.method not in ("GET", "HEAD"):
        return None
    data = QueryDict(mutable=True)
    for name, text in entry["pairs"]:
        data.appendlist(name, text)
    return data


def refill_form(form: AnyForm, request: HttpRequest, sent_to: str) -> AnyForm:
    """Refill an empty form if the page's address names a saved form that was sent to the URL `sent_to`."""
    if data := saved_form(request, sent_to):
        form.data, form.is_bound = data, True
    return form


def saved_form_message(request: HttpRequest) -> str:
    """Return the sentence about the saved form that a page's address names. Empty without one."""
    if _IN_QUERY not in request.GET or request.method not in ("GET", "HEAD"):
        return ""
    return EXPIRED if _entry(request) is None else REFILLED


def has_saved_form(session: SessionBase, address: str) -> bool:
    """Return whether an address names a form that is still saved."""
    # Most addresses name no form. The session is not read for them.
    named = parse_qs(urlsplit(address).query).get(_IN_QUERY, ())
    return bool(named) and bool(_unexpired(session).keys() & set(named))


def newest_form_address(session: SessionBase) -> str:
    """Return the address of the form that was saved last. Empty without one."""
    return next((str(entry["address"]) for entry in reversed(_unexpired(session).values())), "")


def forget_forms_of_others(session: SessionBase, *, user_id: int) -> None:
    """Delete the saved forms of other users from the browser in which a user signs in."""
    if _IN_SESSION in session:
        entries = _unexpired(session)
        session[_IN_SESSION] = {
            id_: entry for id_, entry in entries.items() if entry["user"] == user_id
        }


def _entry(request: HttpRequest) -> dict[str, Any] | None:
    entry = _unexpired(request.session).get(request.GET.get(_IN_QUERY, ""))
    return entry if entry is not None and entry["user"] == request.user.pk else None


def _unexpired(session: SessionBase) -> dict[str, dict[str, Any]]:
    """Return the saved forms that have not expired by id, the oldest first."""
    oldest = (timezone.now() - LIFE).timestamp()
    entries: dict[str, dict[str, Any]] = session.get(_IN_SESSION, {})
    return {id_: entry for id_, entry in entries.items() if entry["at"] > oldest}
