"""Read limit of a token or session: a token bucket in the memory of the web process.

The bucket is not stored, because a transaction would cost more than most reads.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from gangboard.store.authentication import ValidToken

if TYPE_CHECKING:
    from rest_framework.views import APIView  # it imports this module

BURST = 600
"""Reads at once, of one token or session and one web process."""
PER_SECOND = 20.0
"""Reads that come back each second."""
MOST_BUCKETS = 10_000
"""Buckets in memory. The least recently used bucket is dropped first."""


class Buckets:
    """Token buckets by name. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Name → reads left, and the time of that count."""

    def take(self, name: str) -> float:
        """Take one read; return 0, or the seconds until the next one if none is left."""
        now = self._clock()
        with self._lock:
            remaining, since = self._left.pop(name, (float(BURST), now))
            remaining = min(float(BURST), remaining + (now - since) * PER_SECOND)
            taken = remaining >= 1
            self._left[name] = (remaining - 1 if taken else remaining, now)
            if len(self._left) > MOST_BUCKETS:
                self._left.popitem(last=False)
        return 0.0 if taken else (1 - remaining) / PER_SECOND


read_buckets = Buckets()
"""The buckets of this process."""


class ReadThrottle(BaseThrottle):
    """Limits reads and dry runs. Actions have a separate limit in the database."""

    _wait = 0.0

    def allow_request(self, request: Request, view: APIView) -> bool:  # noqa: ARG002  # DRF's signature
        """Return False if the token or session has no read left."""
        if request.method not in SAFE_METHODS and "dry_run" not in request.query_params:
            return True
        self._wait = read_buckets.take(_bucket_name(request))
        return not self._wait

    def wait(self) -> float:
        """Return whole seconds after which to try again."""
        return max(1, math.ceil(self._wait))


def _bucket_name(request: Request) -> str:
    token = request.auth
    if isinstance(token, ValidToken):
        return f"token {token.id}"
    return f"session {request.session.session_key} of {request.user.pk}"
