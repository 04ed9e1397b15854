"""Converts the messages of an ASGI server to a WSGI environment (PEP 3333) with the whole body."""

from __future__ import annotations

import asyncio
import io
import sys
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote_to_bytes

from gangboard.serving.response import Headers, Receive, RefusedError

LARGEST_BODY = 64 * 1024
"""Maximum bytes of a body. Every form and every API call fits, except manifests."""
LARGEST_MANIFESTS = 256 * 1024
"""Maximum bytes of a body with manifests. A body is in memory before its sender is known."""
BODY_SECONDS = 5.0
"""Seconds from the end of the headers to the end of the body."""
_CREDENTIALS = frozenset({b"authorization", b"cookie"})
_UNPREFIXED_NAMES = {b"content-type": "CONTENT_TYPE"}
_NOT_PASSED_ON = frozenset({b"content-length", b"transfer-encoding"})
"""Headers that are left out. The whole body has been read, so its length is known."""


class DisconnectedError(Exception):  # named like what happens
    """The client disconnected."""


async def read_body(
    headers: Headers,
    receive: Receive,
    *,
    largest: int = LARGEST_BODY,
    seconds: float = BODY_SECONDS,
) -> bytes:
    """Return the body. Raises RefusedError, or DisconnectedError if the client disconnects.

    A body with a too large Content-Length is refused before it is read. Without one, it is refused once it is too
    large.
    """
    lengths = [value for name, value in headers if name == b"content-length"]
    if not lengths and not any(name == b"transfer-encoding" for name, _ in headers):
        return b""
    # granian accepts at most one such header, with a number.
    if lengths and int(lengths[0]) > largest:
        raise _too_large(largest)
    try:
        async with asyncio.timeout(seconds):
            return await _gather(receive, largest)
    except TimeoutError:
        sentence = f"The request was not complete after {seconds:g} seconds."
        raise RefusedError(HTTPStatus.REQUEST_TIMEOUT, sentence) from None


async def _gather(receive: Receive, largest: int) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        body += message.get("body", b"")
        if len(body) > largest:
            raise _too_large(largest)
        if not message.get("more_body", False):
            return bytes(body)


def _too_large(largest: int) -> RefusedError:
    sentence = f"A request may have {largest // 1024} KiB at most."
    return RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence)


def environ_of(scope: dict[str, Any], body: bytes) -> dict[str, Any]:
    """Return the WSGI environment of a request.

    Headers of the same name are joined (RFC 9110). Names with an underscore are left out: `X_Forwarded_For` would
    become the same variable as `X-Forwarded-For`, which only a proxy may set.
    """
    server, client = scope.get("server") or ("", 0), scope.get("client") or ("", 0)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": str(server[0]),
        "SERVER_PORT": str(server[1] or ""),
        "REMOTE_ADDR": str(client[0]),
        "REMOTE_PORT": str(client[1] or ""),
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        if b"_" in name or name in _NOT_PASSED_ON:
            continue
        key = _UNPREFIXED_NAMES.get(name) or "HTTP_" + name.decode("latin-1").upper().replace(
            "-", "_"
        )
        text = value.decode("latin-1")
        if key in environ:
            text = f"{environ[key]}{'; ' if name == b'cookie' else ','}{text}"
        environ[key] = text
    return environ


def sender_of(scope: dict[str, Any]) -> int:
    """Return a number that requests with the same token or cookies share. It proves no identity."""
    return hash(tuple(value for name, value in scope["headers"] if name in _CREDENTIALS))
