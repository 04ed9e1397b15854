"""From what was seen on the wire to a KubeError: one place that writes these sentences."""

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
"""Whatever the network, TLS and HTTP can raise."""

LONGEST_RETRY_AFTER = 60.0
LONGEST_QUOTE = 300
"""Characters of what the server says, in a sentence of ours."""
LONGEST_ID = 128

_STATUS_CODES = {
    401: (KubeErrorCode.UNAUTHORIZED, "rejected our credentials for"),
    403: (KubeErrorCode.FORBIDDEN, "forbids"),
    404: (KubeErrorCode.NOT_FOUND, "found nothing for"),
    409: (KubeErrorCode.CONFLICT, "met a conflict in"),
    410: (KubeErrorCode.GONE, "no longer has this state of"),
    422: (KubeErrorCode.INVALID, "does not accept"),
    429: (KubeErrorCode.THROTTLED, "asks us to slow down for"),
}
_ALREADY_EXISTS = (KubeErrorCode.ALREADY_EXISTS, "already has the object of")
_CERTIFICATE_FAULTS = {
    9: "is not valid yet",
    10: "has expired",
    18: "is self-signed and not the one we were told to trust",
    19: "was signed by an authority that we were not told to trust",
    20: "was signed by an authority that we were not told to trust",
    21: "was signed by an authority that we were not told to trust",
}
"""By OpenSSL's verify codes."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """What was asked of whom, for the sentence."""

    host: str
    method: str
    path: str
    connect_seconds: float
    seconds: float
    """The total deadline, as the sentence says it."""
    until: float
    """The same as a moment of `time.monotonic()`."""
    secret: str = ""
    """The token that was sent. A server that repeats it does not get it onto a page."""

    @property
    def request(self) -> str:
        """`GET /api/v1/pods`."""
        return f"{self.method} {self.path}"

    def __repr__(self) -> str:
        return f"SentRequest({self.host}, {self.request})"


def connect_error(error: Exception, asked: SentRequest) -> KubeError:
    """Return why there is no connection."""
    host = asked.host
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
    within = f"within {asked.connect_seconds:g} s"
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
        return KubeError(KubeErrorCode.UNREACHABLE, f"{host} broke off while we connected.")
    why = clean_text(getattr(error, "strerror", None) or str(error), 100)
    return KubeError(KubeErrorCode.UNREACHABLE, f"{host} cannot be reached ({why}).")


def _tls_sentence(error: ssl.SSLError, host: str) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        what = _CERTIFICATE_FAULTS.get(error.verify_code)
        if what is None:
            what = f"is not valid: {clean_text(error.verify_message, 200).rstrip('.')}"
        return f"The certificate of {host} {what}."
    if isinstance(error, TLS_BROKEN_OFF):
        return f"{host} broke off the TLS handshake."
    reason = (error.reason or "").replace("_", " ").lower()
    if "wrong version number" in reason or "http request" in reason:
        return f"{host} does not speak TLS on this port."
    if "alert" in reason:
        return (
            f"{host} refused our TLS connection or client certificate ({clean_text(reason, 100)})."
        )
    return f"No secure connection to {host} ({clean_text(reason or 'unknown reason', 100)})."


def answer_error(error: Exception, asked: SentRequest) -> KubeError:
    """Return why the answer did not arrive, or not to its end."""
    request = asked.request
    if isinstance(error, TimeoutError | urllib3.exceptions.TimeoutError):
        return KubeError(
            KubeErrorCode.TIMEOUT,
            f"{asked.host} did not complete {request} within {asked.seconds:g} s.",
        )
    if isinstance(error, ssl.SSLError) and not isinstance(error, TLS_BROKEN_OFF):
        return KubeError(KubeErrorCode.TLS, _tls_sentence(error, asked.host))
    if isinstance(error, http.client.RemoteDisconnected):
        return KubeError(
            KubeErrorCode.BROKEN_OFF,
            f"{asked.host} closed the connection without an answer to {request}.",
        )
    if isinstance(error, urllib3.exceptions.DecodeError):
        return KubeError(
            KubeErrorCode.BROKEN_OFF,
            f"{asked.host} sent an answer to {request} with damaged compression.",
        )
    if isinstance(error, http.client.BadStatusLine | http.client.LineTooLong) or (
        type(error) is http.client.HTTPException
    ):
        return KubeError(
            KubeErrorCode.NOT_JSON, f"{asked.host} does not speak HTTP: {request} got no headers."
        )
    return KubeError(
        KubeErrorCode.BROKEN_OFF,
        f"{asked.host} broke off in the middle of its answer to {request}.",
    )


def status_error(
    status: int, headers: Mapping[str, str], body: bytes, asked: SentRequest
) -> KubeError:
    """Return why a complete answer is not the one that was asked for."""
    if 300 <= status < 400:
        return KubeError(
            KubeErrorCode.REDIRECTED,
            f"{asked.host} redirects {asked.request} elsewhere ({status}), which is not followed;"
            " an API server does not do this.",
            status=status,
        )
    said = read_status(body, asked.secret)
    if status >= 500:
        code, verb = KubeErrorCode.SERVER_ERROR, "failed to answer"
    elif status == 409 and said.reason == "AlreadyExists":
        code, verb = _ALREADY_EXISTS
    else:
        code, verb = _STATUS_CODES.get(status, (KubeErrorCode.BAD_REQUEST, "does not understand"))
    quote = clean_text(said.message, LONGEST_QUOTE)
    words = quote or f"it sent {describe(headers, body)}, not a Kubernetes status."
    return KubeError(
        code,
        f"{asked.host} {verb} {asked.request} ({status}): {words}",
        status=status,
        retry_after=_retry_after(headers.get("Retry-After")),
        api_status=said,
        audit_id=audit_id(headers),
    )


def audit_id(headers: Mapping[str, str]) -> str:
    """Return the id by which the server's audit log has the request; empty when it does not say.

    Every answer of a Kubernetes API server has it (apiserver, endpoints/filters/audit_init.go).
    """
    return clean_text(headers.get("Audit-Id", ""), LONGEST_ID)


def not_json_error(
    status: int, headers: Mapping[str, str], body: bytes, asked: SentRequest
) -> KubeError:
    """Return what is wrong with a success whose content cannot be an answer of Kubernetes."""
    return KubeError(
        KubeErrorCode.NOT_JSON,
        f"{asked.host} answered {asked.request} with {describe(headers, body, status)} instead of"
        " JSON: something between us and the API server, or no API server at all.",
        status=status,
    )


def describe(headers: Mapping[str, str], body: bytes, status: int | None = None) -> str:
    """`an HTML page (200, text/html)`."""
    kind = clean_text(headers.get("Content-Type", "").partition(";")[0], 60) or "no content type"
    start = body[:64].lstrip().lower()
    if "html" in kind or start.startswith((b"<!doctype html", b"<html")):
        what = "an HTML page"
    elif not body:
        what = "nothing"
    elif start.startswith((b"{", b"[")):
        what = "other JSON" if "json" in kind else "content"
    else:
        what = "plain text" if kind.startswith("text/") else "content"
    return f"{what} ({kind})" if status is None else f"{what} ({status}, {kind})"


def _retry_after(value: str | None) -> float | None:
    """Return the seconds that a number or a date says, at most 60; None when it says nothing usable."""
    if not value:
        return None
    if re.fullmatch(r"[0-9]{1,9}", value.strip()):
        return min(float(value), LONGEST_RETRY_AFTER)
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, min((moment - datetime.now(UTC)).total_seconds(), LONGEST_RETRY_AFTER))
