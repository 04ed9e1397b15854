"""Answers on their way to the event loop: of a WSGI application, and of a refused request."""

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

AT_ONCE = 1024 * 1024
"""Bytes up to which an answer is gathered before its thread is free and it goes out."""
PIECE = 64 * 1024
PIECE_SECONDS = 20.0
"""Seconds in which the reader of a longer answer must take a piece."""
WHOLE_SECONDS = 600.0
"""Seconds after which a longer answer is given up. Its thread may hold a connection to the database."""

_API = "/api/"
_AGAIN = "1"
"""Seconds after which a request may be sent again that was refused for lack of room."""


class RefusedError(Exception):  # noqa: N818  # named like what happens
    """The request is refused. The text is one sentence for its sender."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def refusal_messages(path: str, refused: RefusedError, headers: Headers) -> tuple[Message, Message]:
    """Return the messages of a refusal: problem details (RFC 9457) in the API, else plain text.

    The connection ends, because the rest of the refused request may follow on it.
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


class SlowReaderError(Exception):
    """An answer was given up, because its reader did not take it."""


class _Started:
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
    """Lets an application answer one request; `run` is called in a thread.

    The whole of it stays in that thread: database connections belong to threads.
    """

    def __init__(self, application: Wsgi, environ: dict[str, Any], send: Send) -> None:
        self._application = application
        self._environ = environ
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._give_up_at = self._loop.time() + WHOLE_SECONDS

    def run(self) -> tuple[Message, ...]:
        """Return the messages that are still to be sent: all of them, or the last of a long answer.

        Raises SlowReaderError.
        """
        started = _Started()
        answer = self._application(self._environ, started)
        try:
            pieces = _pieces(answer)
            first = next(pieces, b"")
            second = next(pieces, None) if len(first) >= AT_ONCE else None
            if second is None:
                return (started.message, _body(first))
            self._hand_over(started.message)
            self._hand_over(_body(first, more=True))
            self._hand_over(_body(second, more=True))
            for piece in pieces:
                self._hand_over(_body(piece, more=True))
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
    """Join small chunks: the first piece up to AT_ONCE, each that follows up to PIECE."""
    gathered, size, enough = [], 0, AT_ONCE
    for chunk in chunks:
        gathered.append(chunk)
        size += len(chunk)
        if size >= enough:
            yield b"".join(gathered)
            gathered, size, enough = [], 0, PIECE
    if gathered:
        yield b"".join(gathered)
