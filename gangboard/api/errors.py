"""One shape for every error of the API: RFC 9457 problem details."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.core.signals import got_request_exception
from django.http import Http404
from rest_framework.exceptions import (
    APIException,
    ErrorDetail,
    NotAuthenticated,
    NotFound,
    ValidationError,
)
from rest_framework.exceptions import PermissionDenied as ForbiddenByApi
from rest_framework.response import Response
from rest_framework.views import set_rollback

from gangboard.logs import get_logger

PROBLEM_TYPE = "application/problem+json"
SIGN_IN = "Sign in, or send a token: Authorization: Bearer gb_<id>_<secret>."
NOT_FOUND = "There is no such object, or you may not see it."
"""For missing and forbidden objects alike: the answer must not tell which of the two it is."""

log = get_logger(__name__)


def problem_details(error: Exception, context: dict[str, Any]) -> Response:
    """Turn any exception of an API view into a problem document (DRF's EXCEPTION_HANDLER)."""
    set_rollback()
    if isinstance(error, Http404):
        error = NotFound(NOT_FOUND)
    elif isinstance(error, NotAuthenticated):
        error.detail = ErrorDetail(SIGN_IN)
    elif isinstance(error, PermissionDenied):
        error = ForbiddenByApi(str(error) or "You may not do that.")
    if not isinstance(error, APIException):
        return _unexpected(error, context)
    headers = {}
    if auth_header := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = auth_header
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait))
    if isinstance(error, ValidationError):
        return _problem(error.status_code, _summary(error.detail), headers, _fields(error.detail))
    return _problem(error.status_code, str(error.detail), headers)


def _unexpected(error: Exception, context: dict[str, Any]) -> Response:
    """Record an error of ours; the caller learns only that there was one."""
    request = context.get("request")
    # What Django itself sends for an unhandled exception: monitors and the test client listen.
    got_request_exception.send(sender=None, request=getattr(request, "_request", None))
    log.error("the API failed", exc_info=error, path=getattr(request, "path", ""))
    return _problem(500, "gangboard failed to answer; its log has the reason.", {})


def _problem(
    status: int, detail: str, headers: dict[str, str], errors: dict[str, list[str]] | None = None
) -> Response:
    document: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    if errors:
        document["errors"] = errors
    return Response(document, status=status, headers=headers, content_type=PROBLEM_TYPE)


def _fields(detail: Any) -> dict[str, list[str]]:
    """Return DRF's error detail as field → sentences; what concerns no field is under ``."""
    if isinstance(detail, dict):
        return {
            str(name): [str(text) for text in (texts if isinstance(texts, list) else [texts])]
            for name, texts in detail.items()
        }
    return {}


def _summary(detail: Any) -> str:
    """Return one sentence for `detail`: the first of what is wrong."""
    if isinstance(detail, dict):
        for texts in detail.values():
            return str(texts[0] if isinstance(texts, list) else texts)
    if isinstance(detail, list) and detail:
        return str(detail[0])
    return str(detail)
