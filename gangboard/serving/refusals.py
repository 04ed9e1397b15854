"""Answers that this room gives by itself."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from gangboard.problem_codes import problem_document

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

_API = "/api/"
_AGAIN = "1"
"""Seconds after which who was refused for lack of room may try again."""


class Refused(Exception):  # noqa: N818  # named like what happens
    """The request is not taken. The text is one sentence for whoever sent it."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def refusal(path: str, refused: Refused, headers: Headers) -> tuple[Message, Message]:
    """Return the messages that say it: problem details (RFC 9457) in the API, else plain text.

    The connection ends with it: what else comes on it is the rest of what was refused.
    """
    status, sentence = refused.status, str(refused)
    if path.startswith(_API):
        kind = b"application/problem+json"
        body = json.dumps(problem_document(status.value, sentence)).encode()
    else:
        kind, body = b"text/plain; charset=utf-8", f"{sentence}\n".encode()
    own = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        own.append((b"retry-after", _AGAIN.encode()))
    return (
        {"type": "http.response.start", "status": status.value, "headers": own + headers},
        {"type": "http.response.body", "body": body},
    )
