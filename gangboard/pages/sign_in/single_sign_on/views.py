"""The redirect to the OpenID provider, and the callback."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any

from allauth.socialaccount.internal import statekit
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET

from gangboard.client_address import client_address, network_of
from gangboard.domain.text import sentence_case
from gangboard.logs import get_logger
from gangboard.pages.core.browser_sessions import NO_GROUPS, start_session
from gangboard.pages.core.fresh_sign_in import is_fresh_sign_in_required
from gangboard.pages.sign_in.single_sign_on import provider
from gangboard.pages.sign_in.single_sign_on.provider import ProviderError
from gangboard.pages.sign_in.views import sign_in_page
from gangboard.readmodels.formatting import duration_text
from gangboard.store import authentication, sessions
from gangboard.store.identities import sign_in_person
from gangboard.store.people import PeopleError

BEGUN_ELSEWHERE = (
    "This sign-in was begun in another browser, was finished already, or took over 10 minutes. "
    "Begin again."
)
_LIFE_OF_A_STATE = timedelta(seconds=statekit.STATE_TTL)
_log = get_logger(__name__)


@login_not_required
@require_GET
def begin(request: HttpRequest) -> HttpResponseBase:
    """Redirect to the provider."""
    _check_provider()
    limit = authentication.count_sign_in_start(sender=network_of(client_address(request.META)))
    if limit.wait:
        return _refuse_too_many(request, limit.wait)
    if not request.user.is_authenticated:
        # Until the sign-in is finished, the session contains only its state.
        request.session.set_expiry(int(_LIFE_OF_A_STATE.total_seconds()))
    try:
        return provider.begin(
            request,
            back_to=_safe_address(request, request.GET.get("next", "")),
            nonce=secrets.token_urlsafe(24),
            must_be_fresh=is_fresh_sign_in_required(request),
        )
    except ProviderError as error:
        return _refuse(request, error)


@login_not_required
@require_GET
@sensitive_variables()
def finish(request: HttpRequest) -> HttpResponseBase:
    """Sign in the person whom the provider sends back."""
    _check_provider()
    state_id = request.GET.get("state", "")
    state = statekit.unstash_state(request, provider_id="settings", state_id=state_id)
    try:
        if state is None:
            raise ProviderError(BEGUN_ELSEWHERE)
        return _sign_in(request, state)
    except ProviderError as error:
        return _refuse(request, error)


@sensitive_variables()
def _sign_in(request: HttpRequest, state: dict[str, Any]) -> HttpResponse:
    name, data = settings.OIDC_NAME, state["data"]
    code = request.GET.get("code", "")
    if "error" in request.GET or not code:
        raise ProviderError(
            f"{name} did not sign you in: you cancelled, or a rule there refused you."
        )
    claims = provider.read_claims(
        request, code=code, code_verifier=state["pkce_code_verifier"], nonce=data["nonce"]
    )
    authenticated_at = _authenticated_at(claims)
    if data["fresh"] and authenticated_at < timezone.now() - sessions.FRESH:
        raise ProviderError(
            f"{name} did not ask for your credentials again, so this sign-in is not a new one."
        )
    person, has_groups = provider.person_of(claims)
    try:
        user = sign_in_person(person)
    except PeopleError as error:
        raise ProviderError(f"{sentence_case(str(error))}.") from error
    start_session(
        request, user, method=sessions.PROVIDER, how=name, authenticated_at=authenticated_at
    )
    if has_groups:
        request.session.pop(NO_GROUPS, None)
    else:
        request.session[NO_GROUPS] = settings.OIDC_GROUPS_CLAIM
        _log.warning("the identity provider sent no groups", claim=settings.OIDC_GROUPS_CLAIM)
    return HttpResponseRedirect(_safe_address(request, data["next"]))


def _authenticated_at(claims: dict[str, Any]) -> datetime:
    """Return when the provider authenticated the user. Without `auth_time` it is now."""
    now, auth_time = timezone.now(), claims.get("auth_time")
    if isinstance(auth_time, bool) or not isinstance(auth_time, int | float):
        return now
    return datetime.fromtimestamp(max(0, min(auth_time, now.timestamp())), UTC)


def _check_provider() -> None:
    if not settings.OIDC_ISSUER:
        raise Http404


def _safe_address(request: HttpRequest, address: str) -> str:
    """Return the address if it is on this host, else that of the Board."""
    if url_has_allowed_host_and_scheme(
        address, {request.get_host()}, require_https=request.is_secure()
    ):
        return address
    return settings.LOGIN_REDIRECT_URL


def _refuse_too_many(request: HttpRequest, wait: int) -> HttpResponse:
    """Refuse with the time to try again. The audit records nothing, because a flood must not fill it."""
    after = duration_text(timedelta(seconds=wait))
    sentence = f"Too many sign-ins were begun from your network. Try again in {after}."
    response = sign_in_page(request, sentence, status=HTTPStatus.TOO_MANY_REQUESTS)
    response["Retry-After"] = str(wait)
    return response


def _refuse(request: HttpRequest, error: ProviderError) -> HttpResponse:
    cause = error.__cause__
    _log.warning("sign-in by the provider failed", sentence=str(error), cause=type(cause).__name__)
    authentication.record_failed_provider(str(error), source=client_address(request.META))
    return sign_in_page(request, str(error), status=error.status)
