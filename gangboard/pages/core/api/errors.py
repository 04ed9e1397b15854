"""One shape for every error of the API: RFC 9457 problem details."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.exceptions import PermissionDenied
from django.core.signals import got_request_exception
from django.http import Http404
from rest_framework.exceptions import (
    APIException,
    AuthenticationFailed,
    ErrorDetail,
    NotAuthenticated,
    NotFound,
    Throttled,
    ValidationError,
)
from rest_framework.exceptions import PermissionDenied as ForbiddenByApi
from rest_framework.response import Response
from rest_framework.views import set_rollback

from gangboard.logs import get_logger
from gangboard.problem_codes import ProblemCode, problem_document
from gangboard.store.database_state import RETRY_SECONDS, UNAVAILABLE, is_unavailable

PROBLEM_TYPE = "application/problem+json"
SIGN_IN = "Sign in, or send a token: Authorization: Bearer gb_<id>_<secret>."
NOT_FOUND = "The object does not exist, or you may not see it."
"""For missing and forbidden objects alike: the answer must not tell which of the two it is."""
TOO_MANY_READS = "Too many requests with this token or session. Try again later."

_CODES = {code.value: code for code in ProblemCode}

log = get_logger(__name__)


class RefusedRequest(APIException):
    """A rejected request to act, with the id of the action that blocks it, if there is one."""

    def __init__(
        self,
        status: int,
        detail: str,
        action_id: str = "",
        *,
        code: ProblemCode | None = None,
        wait: int = 0,
    ) -> None:
        super().__init__(detail, code)
        self.status_code = status
        self.action_id = action_id
        self.wait = wait
        """Seconds for Retry-After; 0 sends none."""


def problem_details(error: Exception, context: dict[str, Any]) -> Response:
    """Turn any exception of an API view into a problem document (DRF's EXCEPTION_HANDLER)."""
    set_rollback()
    if isinstance(error, Http404):
        error = NotFound(NOT_FOUND)
    elif isinstance(error, NotAuthenticated):
        error.detail = ErrorDetail(SIGN_IN)
    elif isinstance(error, Throttled):
        error.detail = ErrorDetail(TOO_MANY_READS)
    elif isinstance(error, PermissionDenied):
        error = ForbiddenByApi(str(error) or "You do not have permission to do that.")
    if is_unavailable(error):
        path = getattr(context.get("request"), "path", "")
        log.warning("database unavailable", path=path, error=str(error))
        return _problem(503, UNAVAILABLE, {"Retry-After": str(RETRY_SECONDS)})
    if not isinstance(error, APIException):
        return _unexpected(error, context)
    headers = {}
    if auth_header := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = auth_header
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait))
    code = _code(error)
    if isinstance(error, ValidationError):
        detail = _summary(error.detail)
        return _problem(error.status_code, detail, headers, code, errors=_fields(error.detail))
    action_id = error.action_id if isinstance(error, RefusedRequest) else ""
    return _problem(error.status_code, str(error.detail), headers, code, action_id=action_id)


def _unexpected(error: Exception, context: dict[str, Any]) -> Response:
    """Log an internal error and return a 500 without its details."""
    request = context.get("request")
    # Django sends this signal for an unhandled exception, and monitors and the test client listen to it.
    got_request_exception.send(sender=None, request=getattr(request, "_request", None))
    log.error("the API failed", exc_info=error, path=getattr(request, "path", ""))
    return _problem(500, "gangboard failed to answer. Its log has the details.", {})


def _problem(
    status: int,
    detail: str,
    headers: dict[str, str],
    code: ProblemCode | None = None,
    *,
    errors: dict[str, list[str]] | None = None,
    action_id: str = "",
) -> Response:
    document: dict[str, Any] = problem_document(status, detail, code)
    if errors:
        document["errors"] = errors
    if action_id:
        document["action_id"] = action_id
    return Response(document, status=status, headers=headers, content_type=PROBLEM_TYPE)


def _code(error: APIException) -> ProblemCode | None:
    """Return the code that the error names. None: the code of its status applies."""
    if isinstance(error, AuthenticationFailed):
        return ProblemCode.INVALID_TOKEN
    return next((_CODES[code] for code in _leaves(error.get_codes()) if code in _CODES), None)


def _leaves(codes: Any) -> Iterator[str]:
    if isinstance(codes, dict):
        codes = list(codes.values())
    if not isinstance(codes, list):
        yield str(codes)
        return
    for code in codes:
        yield from _leaves(code)


def _fields(detail: Any, within: str = "") -> dict[str, list[str]]:
    """Return DRF's error detail as field → sentences; a field of a field is `target.uid`."""
    if not isinstance(detail, dict):
        return {}
    fields: dict[str, list[str]] = {}
    for name, texts in detail.items():
        if isinstance(texts, dict):
            fields.update(_fields(texts, f"{within}{name}."))
        else:
            fields[f"{within}{name}"] = [
                str(text) for text in (texts if isinstance(texts, list) else [texts])
            ]
    return fields


def _summary(detail: Any) -> str:
    """Return the first error of a validation as the sentence for `detail`."""
    while isinstance(detail, dict) and detail:
        detail = next(iter(detail.values()))
    if isinstance(detail, list) and detail:
        return str(detail[0])
    return str(detail)
