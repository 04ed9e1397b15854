"""Who may read `/metrics`: nobody until a setting says who."""

from __future__ import annotations

from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare

from gangboard.peers import is_in

CLOSED = "Metrics are closed: set GANGBOARD_METRICS_TOKEN, GANGBOARD_METRICS_NETWORKS or both."
NOT_HERE = "GANGBOARD_METRICS_NETWORKS does not name the network that this request came from."
NO_TOKEN = "Send the token of GANGBOARD_METRICS_TOKEN: Authorization: Bearer TOKEN."  # noqa: S105  # a sentence


def refusal(request: HttpRequest) -> HttpResponse | None:
    """Return why the sender may not read metrics, or None where it may. Each rule that is set must hold."""
    token, networks = settings.METRICS_TOKEN, settings.METRICS_NETWORKS
    if not token and not networks:
        return _refused(HTTPStatus.FORBIDDEN, CLOSED)
    if networks and not is_in(networks, request.META):
        return _refused(HTTPStatus.FORBIDDEN, NOT_HERE)
    if token and not _has_token(request, token):
        answer = _refused(HTTPStatus.UNAUTHORIZED, NO_TOKEN)
        answer.headers["WWW-Authenticate"] = "Bearer"
        return answer
    return None


def _has_token(request: HttpRequest, token: str) -> bool:
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and constant_time_compare(sent.strip(), token)


def _refused(status: HTTPStatus, sentence: str) -> HttpResponse:
    return HttpResponse(f"{sentence}\n", status=status, content_type="text/plain; charset=utf-8")
