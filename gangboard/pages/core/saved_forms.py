"""Forms that came too late: the session, or the fresh sign-in, had ended. After the sign-in they are filled in again.

Nothing is carried out by itself. What was typed is kept in the browser's session for 15 minutes, for the person
who typed it. Views name the fields that may be kept, so that no password and no kubeconfig is.
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
"""Forms of one browser; the oldest one goes."""
LARGEST = 16 * 1024
"""Characters of one form."""
SHOWN = "Your sign-in had ended, so nothing was carried out. The form is filled in as you sent it: look at it and send it again."
GONE = "The form that you sent was not carried out and is not kept any more: fill it in again."
_IN_SESSION = "kept_forms"
_IN_QUERY = "kept"
AnyForm = TypeVar("AnyForm", bound=forms.Form)
View = TypeVar("View", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class _Declaration:
    """What `saves_form` says of a view."""

    page: str
    fields: tuple[str, ...]
    part: str


def saves_form(page: str, *, fields: Iterable[str], part: str = "") -> Callable[[View], View]:
    """Declare which fields of a view's form may be kept.

    `page` is the name of the address that shows the form, with the arguments of the view; `part` is the place on it.
    """
    declaration = _Declaration(page, tuple(fields), part)

    def declare(view: View) -> View:
        view.saved_form = declaration  # type: ignore[attr-defined]
        return view

    return declare


def save_form(request: HttpRequest, *, user_id: int | None) -> str:
    """Keep the form of a request; return the address that shows it filled in, or "" if it cannot be kept.

    `user_id` is the person who sent it, None if nobody can tell.
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
    address += f"#{declared.part}" if declared.part else ""
    entry = {"user": user_id, "at": now, "form": match.url_name, "address": address, "pairs": pairs}
    kept = [*_live(request.session).items(), (id_, entry)]
    request.session[_IN_SESSION] = dict(kept[-MOST:])
    if not request.user.is_authenticated:
        # Until the sign-in is finished the session holds the form and nothing else.
        request.session.set_expiry(int(LIFE.total_seconds()))
    return address


def saved_form(request: HttpRequest, form: str = "") -> QueryDict | None:
    """Return what was typed into the form that the address of a page names, None without one.

    `form` is the name of the address to which it was sent, by default that of the page.
    """
    match, entry = request.resolver_match, _entry(request)
    wanted = form or (match.url_name if match is not None else "")
    if entry is None or entry["form"] != wanted or request.method not in ("GET", "HEAD"):
        return None
    found = QueryDict(mutable=True)
    for name, text in entry["pairs"]:
        found.appendlist(name, text)
    return found


def refill_form(form: AnyForm, request: HttpRequest, sent_to: str) -> AnyForm:
    """Return an empty form as it was sent to an address, if the address of the page names that form."""
    if data := saved_form(request, sent_to):
        form.data, form.is_bound = data, True
    return form


def saved_form_message(request: HttpRequest) -> str:
    """Return what a page says of the form that its address names; empty without one."""
    if _IN_QUERY not in request.GET or request.method not in ("GET", "HEAD"):
        return ""
    return GONE if _entry(request) is None else SHOWN


def has_saved_form(session: SessionBase, address: str) -> bool:
    """Return whether an address leads to a form that is kept."""
    # Most addresses name no form, and the session is not even read for them.
    named = parse_qs(urlsplit(address).query).get(_IN_QUERY, ())
    return bool(named) and bool(_live(session).keys() & set(named))


def newest_form_address(session: SessionBase) -> str:
    """Return the address of the form that was kept last; empty without one."""
    return next((str(entry["address"]) for entry in reversed(_live(session).values())), "")


def forget_forms_of_others(session: SessionBase, *, user_id: int) -> None:
    """Forget what another person typed in the browser in which somebody signs in."""
    if _IN_SESSION in session:
        kept = _live(session)
        session[_IN_SESSION] = {id_: one for id_, one in kept.items() if one["user"] == user_id}


def _entry(request: HttpRequest) -> dict[str, Any] | None:
    entry = _live(request.session).get(request.GET.get(_IN_QUERY, ""))
    return entry if entry is not None and entry["user"] == request.user.pk else None


def _live(session: SessionBase) -> dict[str, dict[str, Any]]:
    """Return what is kept and not too old, by id, the oldest first."""
    oldest = (timezone.now() - LIFE).timestamp()
    kept: dict[str, dict[str, Any]] = session.get(_IN_SESSION, {})
    return {id_: entry for id_, entry in kept.items() if entry["at"] > oldest}
