"""Sends the responses of a WSGI application, and those of refused requests, through the event loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from http import HTTPStatus
from typing import Any

from gangboard.problem_codes import problem_document

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]

BUFFER_BYTES = 1024 * 1024
"""Bytes of a response that are buffered. A response of at most this size frees its thread before it is sent."""
PIECE_BYTES = 64 * 1024
PIECE_SECONDS = 20.0
"""Seconds in which the client must take each piece of a longer response."""
RESPONSE_SECONDS = 600.0
"""Seconds after which a longer response is aborted. Its thread may hold a connection to the database."""

_API = "/api/"
_RETRY_AFTER = "1"
"""Retry-After, in seconds, of a request that was refused because the server is full."""


class RefusedError(Exception):  # named like what happens
    """The request is refused. The text is one sentence for its sender."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def refusal_messages(path: str, refused: RefusedError, headers: Headers) -> tuple[Message, Message]:
    """Return the messages of a refusal: problem details (RFC 9457) in the API, otherwise plain text.

    The connection is closed, because the rest of the refused request may still arrive on it.
    """
    status, sentence = refused.status, str(refused)
    if path.startswith(_API):
        content_type = b"application/problem+json"
        body = json.dumps(problem_document(status.value, sentence)).encode()
    else:
        content_type, body = b"text/plain; charset=utf-8", f"{sentence}\n".encode()
    own_headers = [
        (b"content-type", content_type),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        own_headers.append((b"retry-after", _RETRY_AFTER.encode()))
    return (
        {"type": "http.response.start", "status": status.value, "headers": own_headers + headers},
        {"type": "http.response.body", "body": body},
    )


class SlowReaderError(Exception):
    """A response was aborted, because its client did not take it."""


class _StartResponse:
    """WSGI's start_response."""

    def __init__(self) -> None:
        self.message: Message = {}

    def __call__(
        self,
        status: str,
        headers: list[tuple[str, str]],
        exc_info: object = None,  # noqa: ARG002  # PEP 3333's
    ) -> None:
        self.message = {
            "type": "http.response.start",
            "status": int(status.split(" ", 1)[0]),
            "headers": [
                (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers
            ],
        }


class WsgiResponder:
    """Runs a WSGI application for one request. `run` is called in a thread.

    The whole response stays in that thread, because database connections belong to threads.
    """

    def __init__(self, application: Wsgi, environ: dict[str, Any], send: Send) -> None:
        self._application = application
        self._environ = environ
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._give_up_at = self._loop.time() + RESPONSE_SECONDS

    def run(self) -> tuple[Message, ...]:
        """Return the messages to send: all of them, or the last one of a long response. Raises SlowReaderError."""
        start_response = _StartResponse()
        answer = self._application(self._environ, start_response)
        try:
            body_pieces = _pieces(answer)
            first = next(body_pieces, b"")
            second = next(body_pieces, None) if len(first) >= BUFFER_BYTES else None
            if second is None:
                return (start_response.message, _body(first))
            self._hand_over(start_response.message)
            self._hand_over(_body(first, more=True))
            self._hand_over(_body(second, more=True))
            for body_piece in body_pieces:
                self._hand_over(_body(body_piece, more=True))
            return (_body(b""),)
        finally:
            close = getattr(answer, "close", None)
            if close is not None:
                close()

    def _hand_over(self, message: Message) -> None:
        sending = asyncio.run_coroutine_threadsafe(_sent(self._send, message), self._loop)
        try:
            sending.result(min(PIECE_SECONDS, self._give_up_at - self._loop.time()))
        except TimeoutError:
            sending.cancel()
            raise SlowReaderError from None


async def _sent(send: Send, message: Message) -> None:
    await send(message)


def _body(data: bytes, *, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


def _pieces(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Join small chunks: the first piece up to BUFFER_BYTES, later ones up to PIECE_BYTES."""
    buffered, size, limit = [], 0, BUFFER_BYTES
    for chunk in chunks:
        buffered.append(chunk)
        size += len(chunk)
        if size >= limit:
            yield b"".join(buffered)
            buffered, size, limit = [], 0, PIECE_BYTES
    if buffered:
        yield b"".join(buffered)
