"""The body of a request: whole, soon and small, or refused."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from gangboard.serving.refusals import Headers, Receive, Refused

LARGEST_BODY = 64 * 1024
"""Bytes, for everybody: every form and every call of the API fits in."""
BODY_SECONDS = 5.0
"""From the end of the headers to the end of the body."""


class Disconnected(Exception):  # noqa: N818  # named like what happens
    """Nobody is there any more to be answered."""


async def read_body(
    headers: Headers,
    receive: Receive,
    *,
    largest: int = LARGEST_BODY,
    seconds: float = BODY_SECONDS,
) -> bytes:
    """Return the body. Raises Refused, or Disconnected when the sender left in the middle.

    A body that is announced as too large is refused before any of it is read, one that announces
    nothing as soon as it has become too large.
    """
    lengths = [value for name, value in headers if name == b"content-length"]
    if not lengths and not any(name == b"transfer-encoding" for name, _ in headers):
        return b""
    # That there is one at most, and that it is a number, granian has seen to.
    if lengths and int(lengths[0]) > largest:
        raise _too_large(largest)
    try:
        async with asyncio.timeout(seconds):
            return await _gather(receive, largest)
    except TimeoutError:
        sentence = f"The request was not complete after {seconds:g} seconds."
        raise Refused(HTTPStatus.REQUEST_TIMEOUT, sentence) from None


async def _gather(receive: Receive, largest: int) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        body += message.get("body", b"")
        if len(body) > largest:
            raise _too_large(largest)
        if not message.get("more_body", False):
            return bytes(body)


def _too_large(largest: int) -> Refused:
    sentence = f"A request may have {largest // 1024} KiB at most."
    return Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence)
