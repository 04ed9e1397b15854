"""The network of the containers, played on loopback: an address for each, and the DNS server of Docker."""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
import socket
import struct
import threading
from collections.abc import Mapping

_GATEWAY = 1
_FIRST = 20
"""Addresses that are handed out; lower ones are those that the file fixes."""
_A, _IN = 1, 1
_NXDOMAIN = 3
_POINTER = b"\xc0\x0c"
"""To the name in the question."""


class Network:
    """Gives each container its address in 127.A.B.0/24, and resolves the names of those that run."""

    def __init__(self, subnet: str) -> None:
        """`subnet`: the one of docker-compose.yml that this network replaces."""
        self.told = ipaddress.ip_network(subnet)
        first, second = 64 + secrets.randbelow(128), secrets.randbelow(256)
        self.subnet = ipaddress.ip_network(f"127.{first}.{second}.0/24")
        self._last = _FIRST
        self._names: dict[str, str] = {}
        self._lock = threading.Lock()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((str(self.subnet[2]), 0))
        self._thread = threading.Thread(target=self._serve, name="dns", daemon=True)
        self._thread.start()

    @property
    def gateway(self) -> str:
        """Address from which the published port is reached."""
        return str(self.subnet[_GATEWAY])

    @property
    def resolver(self) -> str:
        """Address and port of the DNS server."""
        host, port = self._socket.getsockname()
        return f"{host}:{port}"

    def placed(self, address: str) -> str:
        """Return the address here of an address of the file's network."""
        number = int(ipaddress.ip_address(address)) - int(self.told.network_address)
        return str(self.subnet[number])

    def new_address(self) -> str:
        """Return an address that no container had before."""
        self._last += 1
        return str(self.subnet[self._last])

    def set_address(self, name: str, address: str | None) -> None:
        """Resolve a name to an address from now on. With None it does not resolve, as for a removed
        container."""
        with self._lock:
            if address is None:
                self._names.pop(name, None)
            else:
                self._names[name] = address

    def names(self) -> Mapping[str, str]:
        """Return the address of each container that runs."""
        with self._lock:
            return dict(self._names)

    def close(self) -> None:
        """End the DNS server."""
        self._socket.sendto(b"", self._socket.getsockname())
        self._thread.join(5)
        self._socket.close()

    def _serve(self) -> None:
        while True:
            question, sender = self._socket.recvfrom(512)
            if not question:
                return
            with contextlib.suppress(struct.error, IndexError, UnicodeDecodeError):
                self._socket.sendto(_answer(question, self.names()), sender)


def _answer(question: bytes, names: Mapping[str, str]) -> bytes:
    """Return the answer to a DNS question with one name (RFC 1035, section 4)."""
    (number,) = struct.unpack_from("!H", question)
    labels, place = [], 12
    while length := question[place]:
        labels.append(question[place + 1 : place + 1 + length].decode("ascii"))
        place += 1 + length
    kind, _ = struct.unpack_from("!HH", question, place + 1)
    name = question[12 : place + 5]
    address = names.get(".".join(labels))
    code = 0 if address else _NXDOMAIN
    record = b""
    if address and kind == _A:
        record = _POINTER + struct.pack("!HHIH", _A, _IN, 600, 4) + socket.inet_aton(address)
    head = struct.pack("!HHHHHH", number, 0x8580 | code, 1, 1 if record else 0, 0, 0)
    return head + name + record
