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
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from weakref import WeakKeyDictionary

Network = IPv4Network | IPv6Network
_NAT64 = ip_network("64:ff9b::/96")
_SENDING = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})


class ForbiddenAddressError(OSError):
    """A connection was refused because of its address."""


class AnswerTooLargeError(OSError):
    """The other side sent more than a receiver of messages has to say."""


refused: list[str] = []
"""Addresses that were refused in this process: libraries hide the error that says so."""
too_large: list[int] = []
"""Not empty once an answer was too large."""


def is_literal(host: str) -> bool:
    """Return whether a host is an IP address and no name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def is_allowed(address: str, allowed: Sequence[Network]) -> bool:
    """Return whether a message may go to an IP address: a public one, or one of the allowed networks."""
    try:
        given = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    found = _embedded(given)
    if any(
        one.version == network.version and one in network
        for one in {given, found}
        for network in allowed
    ):
        return True
    return found.is_global and not found.is_multicast


def _embedded(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address that an IPv6 address stands for, else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def guard_connections(allowed: Sequence[Network]) -> None:
    """Refuse every connection of this process to an address that is not allowed. It cannot be undone."""

    def check(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _SENDING:
            return
        target = arguments[1]
        if target is None:
            return  # a socket that is connected already, which was checked then
        host = target[0] if isinstance(target, tuple) and target else "a local socket"
        if not is_allowed(str(host), allowed):
            refused.append(str(host))
            raise ForbiddenAddressError(f"{host} is no address for messages")

    sys.addaudithook(check)


def limit_answers(most: int) -> None:
    """Let each connection of this process receive `most` bytes. It cannot be undone."""
    received: WeakKeyDictionary[socket.socket, int] = WeakKeyDictionary()

    def count(connection: socket.socket, number: int) -> None:
        received[connection] = received.get(connection, 0) + number
        if received[connection] > most:
            too_large.append(most)
            raise AnswerTooLargeError("the answer is too large")

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
