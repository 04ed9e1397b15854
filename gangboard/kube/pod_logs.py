"""The log of one container, as `kubectl logs` reads it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from gangboard.kube.connection import Connection

READ_BYTES = 4 * 1024 * 1024
"""Bytes that are requested and read at most. 200 lines have fewer, because runtimes cut lines at 16 KiB."""
DEADLINE = 8.0
"""Seconds to the last byte."""


@dataclass(frozen=True, slots=True)
class LogRequest:
    """One container, one run of it, and the number of its last lines."""

    namespace: str
    pod: str
    container: str
    """Empty for the only container of the pod."""
    previous: bool
    """Read the last ended run instead of the current one."""
    tail: int

    @property
    def path(self) -> str:
        """The path of the request."""
        namespace, pod = quote(self.namespace, safe=""), quote(self.pod, safe="")
        return f"/api/v1/namespaces/{namespace}/pods/{pod}/log"

    @property
    def query(self) -> tuple[tuple[str, str], ...]:
        """The query of the request, in the order of the official client."""
        container = (("container", self.container),) if self.container else ()
        previous = (("previous", "true"),) if self.previous else ()
        tail = ("tailLines", str(self.tail))
        return (*container, ("limitBytes", str(READ_BYTES)), *previous, tail)


@dataclass(frozen=True, slots=True)
class LogEnd:
    """The end of a log."""

    text: bytes
    lacks_earlier: bool = False
    """Earlier requested lines are missing, because the caller wanted fewer bytes."""
    lacks_later: bool = False
    """Later lines are missing, because the cluster sent `READ_BYTES` before them."""


def read_log(connection: Connection, request: LogRequest, *, kept_bytes: int) -> LogEnd:
    """Return at most the last `kept_bytes` of a log. It keeps no more in memory. Raises KubeError."""
    text, number = connection.get_text(
        request.path,
        request.query,
        deadline=DEADLINE,
        max_bytes=READ_BYTES,
        kept_bytes=kept_bytes,
    )
    return LogEnd(text, lacks_earlier=number > len(text), lacks_later=number >= READ_BYTES)
