"""Which network addresses a message may be sent to, checked for each connection.

A name may get another address between a check and the connection. `guard_connections` therefore checks the
address that the socket connects to. It applies to the whole process, so only `notify.sender`, the process
that sends one message, calls it.
"""

from __future__ import annotations

import socket
import ssl
import sys
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any
from weakref import WeakKeyDictionary

from gangboard.network_addresses import (
    ForbiddenAddressError,
    Network,
    embedded,
    is_within,
    read_address,
)

_SENDING = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})


class ResponseTooLargeError(OSError):
    """The receiver sent a longer response than a receiver of messages needs."""


refused: list[str] = []
"""Refused addresses of this process, because libraries hide the error that names them."""
too_large: list[int] = []
"""Not empty after a response was too large."""


def is_literal(host: str) -> bool:
    """Return whether a host is an IP address rather than a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def is_allowed(address: str, allowed: Sequence[Network]) -> bool:
    """Return whether a message may go to an IP address: a public one, or one in the allowed networks."""
    parsed = read_address(address)
    if parsed is None:
        return False
    embedded_address = embedded(parsed)
    return is_within(parsed, allowed) or (
        embedded_address.is_global and not embedded_address.is_multicast
    )


def guard_connections(allowed: Sequence[Network]) -> None:
    """Refuse all connections of this process to addresses that are not allowed. It cannot be undone."""

    def check(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _SENDING:
            return
        target = arguments[1]
        if target is None:
            return  # A connected socket, which was checked before.
        host = target[0] if isinstance(target, tuple) and target else "a local socket"
        if not is_allowed(str(host), allowed):
            refused.append(str(host))
            raise ForbiddenAddressError(f"{host} is not an address for messages")

    sys.addaudithook(check)


def limit_answers(most: int) -> None:
    """Let each connection of this process receive at most `most` bytes. It cannot be undone."""
    received: WeakKeyDictionary[socket.socket, int] = WeakKeyDictionary()

    def count(connection: socket.socket, number: int) -> None:
        received[connection] = received.get(connection, 0) + number
        if received[connection] > most:
            too_large.append(most)
            raise ResponseTooLargeError("the answer is too large")

    plain_recv, plain_recv_into, tls_read = (
        socket.socket.recv,
        socket.socket.recv_into,
        ssl.SSLSocket.read,
    )

    def recv(self: socket.socket, *arguments: Any) -> bytes:
        data = plain_recv(self, *arguments)
        count(self, len(data))
        return data

    def recv_into(self: socket.socket, *arguments: Any) -> int:
        number = plain_recv_into(self, *arguments)
        count(self, number)
        return number

    def read(self: ssl.SSLSocket, *arguments: Any) -> Any:
        data = tls_read(self, *arguments)
        count(self, data if isinstance(data, int) else len(data))
        return data

    socket.socket.recv = recv  # type: ignore[method-assign, assignment]
    socket.socket.recv_into = recv_into  # type: ignore[method-assign, assignment]
    ssl.SSLSocket.read = read  # type: ignore[method-assign, assignment]
