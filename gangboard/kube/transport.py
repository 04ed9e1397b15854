"""TLS connections for urllib3 with a deadline at a fixed moment, which another thread can cut."""

from __future__ import annotations

import contextlib
import errno
import io
import ipaddress
import math
import queue
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from urllib3.connection import HTTPSConnection

from gangboard.kube.credentials import Credentials
from gangboard.kube.errors import CredentialError
from gangboard.network_addresses import Destinations, ForbiddenAddressError

Address = tuple[socket.AddressFamily, Any]

TLS_BROKEN_OFF = (ssl.SSLEOFError, ssl.SSLZeroReturnError)
"""The server closed the connection early. For a handshake, CPython 3.11.2 raises the second, 3.11.7 the first."""


class ResolveTimeoutError(TimeoutError):
    """The resolver did not answer in time."""


class HandshakeTimeoutError(TimeoutError):
    """The server accepted the connection and did not finish the TLS handshake in time."""


class DeadlineSocket(ssl.SSLSocket):
    """A socket whose timeout before each read and write is the time until its deadline.

    An ordinary timeout starts again with every byte, so a server that sends single bytes never exceeds it.
    """

    deadline: float = math.inf
    """Moment of `time.monotonic()` after which reads and writes raise TimeoutError."""
    reader: io.BufferedReader
    """The reader of the response, once a request was sent."""
    has_written = False
    """A byte of a request may have been sent. The handshake does not count, because OpenSSL writes it itself."""

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        """Read like any socket, until the deadline."""
        self._set_timeout()
        return super().recv_into(buffer, nbytes, flags)

    def send(self, data: Any, flags: int = 0) -> int:
        """Write like any socket, until the deadline."""
        self._set_timeout()
        self.has_written = True
        return super().send(data, flags)

    def getpeername(self) -> Any:
        """Return the peer like any socket, but close a socket whose peer has left.

        `ssl` calls this first when it wraps a socket, and CPython 3.11 then loses such a socket unclosed.
        """
        try:
            return super().getpeername()
        except OSError as error:
            self.close()
            raise ConnectionResetError(errno.ECONNRESET, "left before TLS began") from error

    def makefile(self, *args: Any, **kwargs: Any) -> Any:
        """Keep the reader of http.client, because a watch takes it over after the headers."""
        self.reader = super().makefile(*args, **kwargs)
        return self.reader

    def recv_available(self, limit: int) -> bytes:
        """Return bytes that have already arrived, at most about `limit`, without waiting.

        Call it only after `reader.read1(n)` with a large n, so that the reader itself buffers nothing.
        """
        chunks: list[bytes] = []
        size = 0
        self.settimeout(0)
        # The next read that waits meets the same end or error.
        with contextlib.suppress(OSError):
            while size < limit and (chunk := self.recv(limit)):
                chunks.append(chunk)
                size += len(chunk)
        return b"".join(chunks)

    def _set_timeout(self) -> None:
        if self.deadline == math.inf:
            self.settimeout(None)
            return
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError("the deadline is over")
        self.settimeout(remaining)


class TLSConnection(HTTPSConnection):
    """A connection to one API server. One thread uses it, and another may call `cut`.

    urllib3 creates it, does the handshake and speaks HTTP. Its `timeout` is the deadline for reaching the server, and
    for the handshake.
    """

    wire: DeadlineSocket
    """The TLS socket, once connected. It outlives `sock` if the server asks to close."""
    destinations: Destinations | None = None
    """Permitted addresses, or None for any."""
    can_be_cut = False
    """Enables `cut`. A second handle is then kept, and `dispose` must be called."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lock = threading.Lock()
        self._handle: socket.socket | None = None
        self._is_cut = False
        self._deadline = math.inf
        self.idle_since = 0.0
        """Moment at which it was returned to its pool."""

    @property
    def has_written(self) -> bool:
        """True if a byte of a request may have been sent."""
        wire: DeadlineSocket | None = getattr(self, "wire", None)
        return wire is not None and wire.has_written

    def connect_by(self, deadline: float) -> None:
        """Connect before the deadline, a moment of `time.monotonic()`. Raises OSError."""
        self._deadline = deadline
        self.connect()

    def connect(self) -> None:
        """Resolve the name, reach the server, then do the handshake, each within `timeout`."""
        try:
            super().connect()
        except TimeoutError as error:
            if self.sock is None:
                raise
            raise HandshakeTimeoutError("no TLS handshake in time") from error
        if not isinstance(self.sock, DeadlineSocket):
            raise TypeError("the context was not made by tls_context")
        self.wire = self.sock

    def cut(self) -> None:
        """Interrupt the thread that uses the connection, at once. It gets an end of file or an OSError."""
        with self._lock:
            self._is_cut = True
            if self._handle is not None:
                with contextlib.suppress(OSError):
                    self._handle.shutdown(socket.SHUT_RDWR)

    def dispose(self) -> None:
        """Close the sockets. Only the thread that uses the connection may call this."""
        self.close()
        with self._lock:
            if self._handle is not None:
                self._handle.close()
                self._handle = None

    def _new_conn(self) -> socket.socket:
        """Return a TCP socket, which urllib3 then wraps in TLS. The handshake has the whole deadline again."""
        deadline = time.monotonic() + self._connect_timeout()
        addresses = self._allowed(resolve(self.host, self.port, deadline - time.monotonic()))
        raw = dial(addresses, deadline, self._keep_handle)
        raw.settimeout(self._connect_timeout())
        return raw

    def _connect_timeout(self) -> float:
        remaining = self._deadline - time.monotonic()
        timeout = self.timeout if isinstance(self.timeout, int | float) else remaining
        return max(min(timeout, remaining), 0.001)

    def _allowed(self, addresses: list[Address]) -> list[Address]:
        """Return the permitted addresses. Raises ForbiddenAddressError if none is permitted."""
        if self.destinations is None or not addresses:
            return addresses
        allowed = [address for address in addresses if self.destinations.allows(address[1][0])]
        if not allowed:
            raise ForbiddenAddressError(addresses[0][1][0])
        return allowed

    def _keep_handle(self, raw: socket.socket) -> None:
        """Keep a second handle, which stays valid while TLS takes over the first one."""
        if not self.can_be_cut:
            return
        with self._lock:
            if self._is_cut:
                raise ConnectionAbortedError("the connection was cut by us")
            if self._handle is not None:
                self._handle.close()
            self._handle = raw.dup()


def resolve(host: str, port: int, seconds: float) -> list[Address]:
    """Return the addresses of a host. Raises OSError, and TimeoutError if the resolver needs longer than `seconds`.

    getaddrinfo has no deadline, so it runs in a thread that is abandoned when it is late.
    """
    if is_address(host):
        return _lookup(host, port)
    results: queue.SimpleQueue[list[Address] | OSError] = queue.SimpleQueue()

    def run() -> None:
        try:
            results.put(_lookup(host, port))
        except UnicodeError:
            results.put(socket.gaierror(socket.EAI_NONAME, "the name is not valid"))
        except OSError as error:
            results.put(error)

    threading.Thread(target=run, daemon=True, name="resolve").start()
    try:
        result = results.get(timeout=max(seconds, 0.001))
    except queue.Empty:
        raise ResolveTimeoutError("the name was not resolved in time") from None
    if isinstance(result, OSError):
        raise result
    return result


def dial(
    addresses: Sequence[Address],
    deadline: float,
    prepare: Callable[[socket.socket], None] = lambda _: None,
) -> socket.socket:
    """Return a TCP socket to the first address that answers. Raises OSError.

    `deadline` is a moment of `time.monotonic()`. Each address gets an equal share of the remaining time. `prepare` is
    called with each socket before it connects.
    """
    failure: OSError = OSError("the name has no address")
    for position, (family, address) in enumerate(addresses):
        raw = socket.socket(family, socket.SOCK_STREAM)
        try:
            prepare(raw)
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            share = (deadline - time.monotonic()) / (len(addresses) - position)
            raw.settimeout(max(share, 0.001))
            raw.connect(address)
        except OSError as error:
            raw.close()
            failure = error
        else:
            return raw
    raise failure


def is_address(host: str) -> bool:
    """Return whether the host is an IP address and needs no resolver."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _lookup(host: str, port: int) -> list[Address]:
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in entries]


def tls_context(credentials: Credentials) -> ssl.SSLContext:
    """Return a context for verified TLS 1.2 or later, with our client certificate. Raises CredentialError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.sslsocket_class = DeadlineSocket
    if credentials.ca_pem is None:
        context.load_default_certs()
    else:
        # As in kubectl, the authorities in the kubeconfig are trusted, including intermediate ones.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        try:
            context.load_verify_locations(cadata=credentials.ca_pem)
        except (ssl.SSLError, ValueError) as error:
            raise CredentialError(
                "The certificate authority (CA) cannot be used by OpenSSL."
            ) from error
    if credentials.client_certificate_pem and credentials.client_key_pem:
        _load_client_certificate(
            context, credentials.client_certificate_pem, credentials.client_key_pem
        )
    return context


def _load_client_certificate(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """Load the client certificate through a private temporary file, because OpenSSL reads it from files only."""
    with tempfile.NamedTemporaryFile(prefix="gangboard-") as file:
        file.write(f"{certificate.strip()}\n{key.strip()}\n".encode())
        file.flush()
        try:
            context.load_cert_chain(file.name)
        except ssl.SSLError as error:
            raise CredentialError(
                f"OpenSSL refuses the client certificate: {error.reason or 'no reason given'}."
            ) from error
