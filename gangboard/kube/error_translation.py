"""Translates transport errors and HTTP statuses into KubeErrors. All of these sentences are written here."""

from __future__ import annotations

import email.utils
import http.client
import re
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import urllib3.exceptions

from gangboard.kube.errors import KubeError, KubeErrorCode, clean_text
from gangboard.kube.status_sanitizer import read_status
from gangboard.kube.transport import TLS_BROKEN_OFF, HandshakeTimeoutError, ResolveTimeoutError
from gangboard.network_addresses import CLUSTER_NETWORKS, ForbiddenAddressError

TRANSPORT_ERRORS = (OSError, http.client.HTTPException, urllib3.exceptions.HTTPError)
"""All exceptions of the network, TLS and HTTP."""

MAX_RETRY_AFTER = 60.0
LONGEST_QUOTE = 300
"""Characters of the server's message in one of our sentences."""
LONGEST_ID = 128

_STATUS_CODES = {
    401: (KubeErrorCode.UNAUTHORIZED, "rejected the credentials for"),
    403: (KubeErrorCode.FORBIDDEN, "forbids"),
    404: (KubeErrorCode.NOT_FOUND, "found nothing for"),
    409: (KubeErrorCode.CONFLICT, "met a conflict in"),
    410: (KubeErrorCode.GONE, "no longer has this state of"),
    422: (KubeErrorCode.INVALID, "does not accept"),
    429: (KubeErrorCode.THROTTLED, "asks gangboard to slow down for"),
}
_POLICY_NOT_READY = "failed to find resource referenced by paramKind"
"""Part of the message of an API server that has just started and does not know a policy's parameters yet."""
_ALREADY_EXISTS = (KubeErrorCode.ALREADY_EXISTS, "already has the object of")
_CERTIFICATE_FAULTS = {
    9: "is not valid yet",
    10: "has expired",
    18: "is self-signed and not the configured one",
    19: "was signed by an authority that gangboard does not trust",
    20: "was signed by an authority that gangboard does not trust",
    21: "was signed by an authority that gangboard does not trust",
}
"""By OpenSSL's verify codes."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A sent request, as sentences name it."""

    host: str
    method: str
    path: str
    connect_seconds: float
    seconds: float
    """The total deadline, for sentences."""
    deadline: float
    """The total deadline as a moment of `time.monotonic()`."""
    secret: str = ""
    """The token that was sent. It is removed from a message in which the server repeats it."""

    @property
    def request_line(self) -> str:
        """`GET /api/v1/pods`."""
        return f"{self.method} {self.path}"

    def __repr__(self) -> str:
        return f"SentRequest({self.host}, {self.request_line})"


def connect_error(error: Exception, request: SentRequest) -> KubeError:
    """Return the error of a failed connection."""
    host = request.host
    if isinstance(error, ssl.SSLError):
        return KubeError(KubeErrorCode.TLS, _tls_sentence(error, host))
    if isinstance(error, socket.gaierror):
        why = clean_text(error.strerror or "unknown", 100)
        return KubeError(KubeErrorCode.UNREACHABLE, f"The name of {host} was not resolved ({why}).")
    if isinstance(error, ForbiddenAddressError):
        return KubeError(
            KubeErrorCode.FORBIDDEN_ADDRESS,
            f"gangboard does not connect to {host}, whose address is {error}: {CLUSTER_NETWORKS} must allow it.",
        )
    within = f"within {request.connect_seconds:g} s"
    if isinstance(error, ResolveTimeoutError):
        return KubeError(
            KubeErrorCode.UNREACHABLE, f"The name of {host} was not resolved {within}."
        )
    if isinstance(error, HandshakeTimeoutError):
        return KubeError(
            KubeErrorCode.TIMEOUT, f"{host} did not finish the TLS handshake {within}."
        )
    if isinstance(error, TimeoutError):
        return KubeError(KubeErrorCode.UNREACHABLE, f"{host} did not take a connection {within}.")
    if isinstance(error, ConnectionRefusedError):
        return KubeError(
            KubeErrorCode.UNREACHABLE, f"{host} refuses connections: nothing listens there."
        )
    if isinstance(error, ConnectionError):
        return KubeError(
            KubeErrorCode.UNREACHABLE, f"{host} closed the connection while gangboard connected."
        )
    why = clean_text(getattr(error, "strerror", None) or str(error), 100)
    return KubeError(KubeErrorCode.UNREACHABLE, f"{host} cannot be reached ({why}).")


def _tls_sentence(error: ssl.SSLError, host: str) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        problem = _CERTIFICATE_FAULTS.get(error.verify_code)
        if problem is None:
            problem = f"is not valid: {clean_text(error.verify_message, 200).rstrip('.')}"
        return f"The certificate of {host} {problem}."
    if isinstance(error, TLS_BROKEN_OFF):
        return f"{host} closed the connection during the TLS handshake."
    reason = (error.reason or "").replace("_", " ").lower()
    if "wrong version number" in reason or "http request" in reason:
        return f"{host} does not speak TLS on this port."
    if "alert" in reason:
        return f"{host} refused the TLS connection or the client certificate ({clean_text(reason, 100)})."
    return f"No secure connection to {host} ({clean_text(reason or 'unknown reason', 100)})."


def handle_server_error(error: Exception, request: SentRequest) -> KubeError:
    """Return the error of a response that did not arrive, or not completely."""
    request_line = request.request_line
    if isinstance(error, TimeoutError | urllib3.exceptions.TimeoutError):
        return KubeError(
            KubeErrorCode.TIMEOUT,
            f"{request.host} did not complete {request_line} within {request.seconds:g} s.",
        )
    if isinstance(error, ssl.SSLError) and not isinstance(error, TLS_BROKEN_OFF):
        return KubeError(KubeErrorCode.TLS, _tls_sentence(error, request.host))
    if isinstance(error, http.client.RemoteDisconnected):
        return KubeError(
            KubeErrorCode.BROKEN_OFF,
            f"{request.host} closed the connection without an answer to {request_line}.",
        )
    if isinstance(error, urllib3.exceptions.DecodeError):
        return KubeError(
            KubeErrorCode.BROKEN_OFF,
            f"{request.host} sent an answer to {request_line} with damaged compression.",
        )
    if isinstance(error, http.client.BadStatusLine | http.client.LineTooLong) or (
        type(error) is http.client.HTTPException
    ):
        return KubeError(
            KubeErrorCode.NOT_JSON,
            f"{request.host} does not speak HTTP: {request_line} got no headers.",
        )
    return KubeError(
        KubeErrorCode.BROKEN_OFF,
        f"{request.host} broke off in the middle of its answer to {request_line}.",
    )


def status_error(
    status: int, headers: Mapping[str, str], body: bytes, request: SentRequest
) -> KubeError:
    """Return the error of a complete response with a bad status."""
    if 300 <= status < 400:
        return KubeError(
            KubeErrorCode.REDIRECTED,
            f"{request.host} redirects {request.request_line} elsewhere ({status}), which is not followed;"
            " an API server does not do this.",
            status=status,
        )
    api_status = read_status(body, request.secret)
    if status >= 500:
        code, verb = KubeErrorCode.SERVER_ERROR, "failed to answer"
    elif status == 409 and api_status.reason == "AlreadyExists":
        code, verb = _ALREADY_EXISTS
    elif status == 403 and _POLICY_NOT_READY in api_status.message:
        code, verb = KubeErrorCode.POLICY_NOT_READY, "cannot apply its admission policies yet to"
    else:
        code, verb = _STATUS_CODES.get(status, (KubeErrorCode.BAD_REQUEST, "does not understand"))
    quote = clean_text(api_status.message, LONGEST_QUOTE)
    message = quote or f"it sent {describe(headers, body)}, not a Kubernetes status."
    return KubeError(
        code,
        f"{request.host} {verb} {request.request_line} ({status}): {message}",
        status=status,
        retry_after=_retry_after(headers.get("Retry-After")),
        api_status=api_status,
        audit_id=audit_id(headers),
    )


def audit_id(headers: Mapping[str, str]) -> str:
    """Return the id of the request in the server's audit log. Empty if the response has none.

    Every response of a Kubernetes API server has it (apiserver, endpoints/filters/audit_init.go).
    """
    return clean_text(headers.get("Audit-Id", ""), LONGEST_ID)


def wrong_type_error(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    request: SentRequest,
    wanted: str = "application/json",
) -> KubeError:
    """Return the error of a response with a good status whose content is not from Kubernetes."""
    name = "JSON" if wanted == "application/json" else "plain text"
    return KubeError(
        KubeErrorCode.NOT_JSON,
        f"{request.host} answered {request.request_line} with {describe(headers, body, status)} instead of"
        f" {name}: a proxy in between answered, or this is not an API server.",
        status=status,
    )


def describe(headers: Mapping[str, str], body: bytes, status: int | None = None) -> str:
    """`an HTML page (200, text/html)`."""
    kind = clean_text(headers.get("Content-Type", "").partition(";")[0], 60) or "no content type"
    start = body[:64].lstrip().lower()
    if "html" in kind or start.startswith((b"<!doctype html", b"<html")):
        content = "an HTML page"
    elif not body:
        content = "nothing"
    elif start.startswith((b"{", b"[")):
        content = "other JSON" if "json" in kind else "content"
    else:
        content = "plain text" if kind.startswith("text/") else "content"
    return f"{content} ({kind})" if status is None else f"{content} ({status}, {kind})"


def _retry_after(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header, at most 60. None if it is unusable."""
    if not value:
        return None
    if re.fullmatch(r"[0-9]{1,9}", value.strip()):
        return min(float(value), MAX_RETRY_AFTER)
    try:
        time = email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return max(0.0, min((time - datetime.now(UTC)).total_seconds(), MAX_RETRY_AFTER))
