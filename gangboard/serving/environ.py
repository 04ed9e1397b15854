"""From an ASGI scope and a body that is there to a WSGI environment (PEP 3333)."""

from __future__ import annotations

import io
import sys
from typing import Any
from urllib.parse import unquote_to_bytes

_CREDENTIALS = frozenset({b"authorization", b"cookie"})
_OWN_NAMES = {b"content-type": "CONTENT_TYPE"}
_NOT_PASSED_ON = frozenset({b"content-length", b"transfer-encoding"})
"""The body is here, and so its length is known."""


def environ_of(scope: dict[str, Any], body: bytes) -> dict[str, Any]:
    """Return the environment of a request.

    Headers of one name are joined, as RFC 9110 says; names with an underscore are left out, because
    `X_Forwarded_For` would become the same variable as `X-Forwarded-For`, which only a proxy writes.
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
        key = _OWN_NAMES.get(name) or "HTTP_" + name.decode("latin-1").upper().replace("-", "_")
        text = value.decode("latin-1")
        if key in environ:
            text = f"{environ[key]}{'; ' if name == b'cookie' else ','}{text}"
        environ[key] = text
    return environ


def sender_of(scope: dict[str, Any]) -> int:
    """Return a number that requests with the same token or cookies share. It is not checked who they are."""
    return hash(tuple(value for name, value in scope["headers"] if name in _CREDENTIALS))
