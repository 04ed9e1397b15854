"""Codes of problem documents (RFC 9457): a stable word for each kind of API error."""

from __future__ import annotations

from enum import StrEnum
from http import HTTPStatus
from types import MappingProxyType


class ProblemCode(StrEnum):
    """The kind of an error, for programs. Codes may be added, and none is renamed."""

    INVALID_REQUEST = "invalid-request"
    """400: `errors` names the parameters or fields."""
    INVALID_CURSOR = "invalid-cursor"
    """400: start again without a cursor."""
    NOT_SIGNED_IN = "not-signed-in"
    """401: no token and no session."""
    INVALID_TOKEN = "invalid-token"  # noqa: S105  # a code
    """401: the token is unknown, expired or revoked."""
    FORBIDDEN = "forbidden"
    """403: the role or the token does not allow it."""
    SESSION_REQUIRED = "session-required"
    """403: tokens may not do it, only a person who has signed in."""
    SIGN_IN_AGAIN = "sign-in-again"
    """403: the last sign-in is too old."""
    NOT_FOUND = "not-found"
    """404: missing, or not visible."""
    METHOD_NOT_ALLOWED = "method-not-allowed"
    NOT_ACCEPTABLE = "not-acceptable"
    REQUEST_TIMEOUT = "request-timeout"
    CONFLICT = "conflict"
    """409: the current state does not allow it; `detail` says why."""
    MOVED_ON = "moved-on"
    """409: the object differs from the one that the caller saw."""
    BUSY = "busy"
    """409: another action on the object is open."""
    CURSOR_EXPIRED = "cursor-expired"
    """410: events after the cursor were deleted."""
    TOO_LARGE = "too-large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported-media-type"
    KEY_REUSED = "key-reused"
    """422: the Idempotency-Key belongs to another request of the last 24 hours."""
    TOO_MANY_REQUESTS = "too-many-requests"
    INTERNAL_ERROR = "internal-error"
    CLUSTER_FAILED = "cluster-failed"
    """502: the cluster did not answer, or refused; `detail` says why."""
    UNAVAILABLE = "unavailable"
    """503: try again after Retry-After."""


_OF_STATUS = MappingProxyType(
    {
        400: ProblemCode.INVALID_REQUEST,
        401: ProblemCode.NOT_SIGNED_IN,
        403: ProblemCode.FORBIDDEN,
        404: ProblemCode.NOT_FOUND,
        405: ProblemCode.METHOD_NOT_ALLOWED,
        406: ProblemCode.NOT_ACCEPTABLE,
        408: ProblemCode.REQUEST_TIMEOUT,
        409: ProblemCode.CONFLICT,
        410: ProblemCode.CURSOR_EXPIRED,
        413: ProblemCode.TOO_LARGE,
        415: ProblemCode.UNSUPPORTED_MEDIA_TYPE,
        422: ProblemCode.KEY_REUSED,
        429: ProblemCode.TOO_MANY_REQUESTS,
        503: ProblemCode.UNAVAILABLE,
    }
)


def problem_document(
    status: int, detail: str, code: ProblemCode | None = None
) -> dict[str, str | int]:
    """Return the common members of a problem document. The default `code` is that of the status."""
    usual = ProblemCode.INVALID_REQUEST if status < 500 else ProblemCode.INTERNAL_ERROR
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": (code or _OF_STATUS.get(status, usual)).value,
        "detail": detail,
    }
