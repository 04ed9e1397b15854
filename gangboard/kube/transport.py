"""What urllib3's connection lacks: a deadline that is a moment, not a pause between bytes, and a cut."""

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
from typing import Any

from urllib3.connection import HTTPSConnection

from gangboard.kube.credentials import Credentials
from gangboard.kube.errors import CredentialError
from gangboard.network_addresses import Destinations, ForbiddenAddressError

Address = tuple[socket.AddressFamily, Any]

TLS_BROKEN_OFF = (ssl.SSLEOFError, ssl.SSLZeroReturnError)
"""The other side left in the middle. Of a handshake CPython 3.11.2 says the second, 3.11.7 the first."""


class ResolveTimeoutError(TimeoutError):
    """The resolver did not answer in time."""


class HandshakeTimeoutError(TimeoutError):
    """The other side took the connection and then did not speak TLS in time."""


class DeadlineSocket(ssl.SSLSocket):
    """Before each read and write the time that is left becomes its timeout.

    An ordinary timeout starts again with every byte, so a server that drips never meets it.
    """

    until: float = math.inf
    """Moment of `time.monotonic()` after which reading and writing raise TimeoutError."""
    reader: io.BufferedReader
    """What the answer is read from, once a request was sent."""
    has_written = False
    """A byte of a request may have left. The handshake does not count: OpenSSL writes it itself."""

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        """As for every socket, until the deadline."""
        self._arm()
        return super().recv_into(buffer, nbytes, flags)

    def send(self, data: Any, flags: int = 0) -> int:
        """As for every socket, until the deadline."""
        self._arm()
        self.has_written = True
        return super().send(data, flags)

    def getpeername(self) -> Any:
        """As for every socket; but one that the other side has left already closes itself.

        `ssl` asks this first when it wraps a socket, and CPython 3.11 then loses the socket unclosed.
        """
        try:
            return super().getpeername()
        except OSError as error:
            self.close()
            raise ConnectionResetError(errno.ECONNRESET, "left before TLS began") from error

    def makefile(self, *args: Any, **kwargs: Any) -> Any:
        """Keep what http.client reads from: a watch takes over after the headers."""
        self.reader = super().makefile(*args, **kwargs)
        return self.reader

    def arrived(self, most: int) -> bytes:
        """Return what is here already, at most about `most` bytes, without waiting.

        Only right after `reader.read1(n)` with a large n: then the reader itself holds nothing back.
        """
        pieces: list[bytes] = []
        size = 0
        self.settimeout(0)
        # An end or an error shows again, or as an end, in the next read that waits.
        with contextlib.suppress(OSError):
            while size < most and (piece := self.recv(most)):
                pieces.append(piece)
                size += len(piece)
        return b"".join(pieces)

    def _arm(self) -> None:
        if self.until == math.inf:
            self.settimeout(None)
            return
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline is over")
        self.settimeout(left)


class TLSConnection(HTTPSConnection):
    """One connection to one API server. Used by one thread; `cut` may come from another.

    urllib3 makes it, shakes hands and speaks HTTP; its `timeout` is the deadline of reaching the
    server, and of the handshake.
    """

    wire: DeadlineSocket
    """The TLS socket, once connected. It outlives `sock` when the server asks to close."""
    destinations: Destinations | None = None
    """Where it may lead. None: anywhere."""
    can_be_cut = False
    """Whether `cut` is wanted. Then a second handle is kept, and `dispose` must follow."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lock = threading.Lock()
        self._handle: socket.socket | None = None
        self._is_cut = False
        self._until = math.inf
        self.idle_since = 0.0
        """Moment at which it was given back to its pool."""

    @property
    def has_written(self) -> bool:
        """Whether a byte of a request may have left on it."""
        wire: DeadlineSocket | None = getattr(self, "wire", None)
        return wire is not None and wire.has_written

    def connect_by(self, until: float) -> None:
        """Connect, and give up at the moment `until` at the latest. Raises OSError."""
        self._until = until
        self.connect()

    def connect(self) -> None:
        """Find and reach the server, then shake hands: each within `timeout`."""
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
        """End whatever the other thread waits for, at once. It meets an end of file or an OSError."""
        with self._lock:
            self._is_cut = True
            if self._handle is not None:
                with contextlib.suppress(OSError):
                    self._handle.shutdown(socket.SHUT_RDWR)

    def dispose(self) -> None:
        """Give the sockets back. Only the thread that uses the connection may do this."""
        self.close()
        with self._lock:
            if self._handle is not None:
                self._handle.close()
                self._handle = None

    def _new_conn(self) -> socket.socket:
        """TCP, for urllib3, which then wraps it. The handshake has the deadline for itself."""
        raw = self._dial(time.monotonic() + self._patience())
        raw.settimeout(self._patience())
        return raw

    def _patience(self) -> float:
        left = self._until - time.monotonic()
        deadline = self.timeout if isinstance(self.timeout, int | float) else left
        return max(min(deadline, left), 0.001)

    def _dial(self, until: float) -> socket.socket:
        """TCP to the first address that answers; each gets its share of the time that is left."""
        addresses = self._allowed(resolve(self.host, self.port, until - time.monotonic()))
        failure: OSError = OSError("the name has no address")
        for position, (family, address) in enumerate(addresses):
            raw = socket.socket(family, socket.SOCK_STREAM)
            try:
                self._hold(raw)
                raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                share = (until - time.monotonic()) / (len(addresses) - position)
                raw.settimeout(max(share, 0.001))
                raw.connect(address)
            except OSError as error:
                raw.close()
                failure = error
            else:
                return raw
        raise failure

    def _allowed(self, addresses: list[Address]) -> list[Address]:
        """Return the addresses that may be connected to. Raises ForbiddenAddressError if that is none."""
        if self.destinations is None or not addresses:
            return addresses
        found = [one for one in addresses if self.destinations.allows(one[1][0])]
        if not found:
            raise ForbiddenAddressError(addresses[0][1][0])
        return found

    def _hold(self, raw: socket.socket) -> None:
        """Keep a second handle: it stays valid while TLS takes the first one over."""
        if not self.can_be_cut:
            return
        with self._lock:
            if self._is_cut:
                raise ConnectionAbortedError("the connection was cut by us")
            if self._handle is not None:
                self._handle.close()
            self._handle = raw.dup()


def resolve(host: str, port: int, seconds: float) -> list[Address]:
    """Addresses of a host, or OSError; TimeoutError when the resolver needs longer than `seconds`.

    getaddrinfo knows no deadline, so it runs in a thread that is left behind when it is late.
    """
    if is_address(host):
        return _lookup(host, port)
    answers: queue.SimpleQueue[list[Address] | OSError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(_lookup(host, port))
        except UnicodeError:
            answers.put(socket.gaierror(socket.EAI_NONAME, "the name is not valid"))
        except OSError as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True, name="resolve").start()
    try:
        answer = answers.get(timeout=max(seconds, 0.001))
    except queue.Empty:
        raise ResolveTimeoutError("the name was not resolved in time") from None
    if isinstance(answer, OSError):
        raise answer
    return answer


def is_address(host: str) -> bool:
    """Whether it is an IP address and needs no resolver."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _lookup(host: str, port: int) -> list[Address]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in found]


def tls_context(credentials: Credentials) -> ssl.SSLContext:
    """TLS 1.2 or later, always verified, with our client certificate. Raises CredentialError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.sslsocket_class = DeadlineSocket
    if credentials.ca_pem is None:
        context.load_default_certs()
    else:
        # As kubectl does: what the kubeconfig trusts is trusted, an intermediate authority too.
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
    """OpenSSL takes these from a file only: one that nobody else may read, gone right after."""
    with tempfile.NamedTemporaryFile(prefix="gangboard-") as file:
        file.write(f"{certificate.strip()}\n{key.strip()}\n".encode())
        file.flush()
        try:
            context.load_cert_chain(file.name)
        except ssl.SSLError as error:
            raise CredentialError(
                f"OpenSSL refuses the client certificate: {error.reason or 'no reason given'}."
            ) from error
