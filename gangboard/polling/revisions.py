"""How far an API server has come, and whether it has gone back: it was restored from a backup, say.

A watch does not tell. kube-apiserver 1.36 and 1.37 accept one from a resourceVersion that they have not reached
again. They drop all events and bookmarks up to it, and go on behind it. A list without a resourceVersion asks
etcd, whichever server behind a load balancer answers. So lists decide.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from gangboard.kube.resource_versions import is_lower

COMPARE_EVERY = 60.0
"""Seconds between two comparisons of a watch that has no other reason for them."""
RESTORES_APART = 300.0
"""Seconds after a restore in which no other restore is noticed: servers that contradict each other cost
one list of everything each time."""


class RestoredError(Exception):
    """The API server is at a lower resourceVersion than before, so the stored objects may be wrong."""


@dataclass(slots=True)
class Revision:
    """The newest resourceVersion that an API server has shown of one resource.

    Each resource has its own: events, for example, may be in another etcd.
    """

    compares_from: float = 0.0
    """Moment of `time.monotonic()` before which nothing is compared."""
    newest: str = ""
    is_doubtful: bool = False
    """A watch failed or went back: compare before the next watch."""
    compared_at: float = -math.inf
    """Moment of `time.monotonic()` at which a list was compared last."""

    def rise_to(self, version: str) -> None:
        """Take the resourceVersion of a line of a watch."""
        if not is_lower(version, self.newest):
            self.newest = version

    def is_due(self, *, regularly: bool) -> bool:
        """Whether to compare before the next watch; `regularly`: also without a doubt, from time to time."""
        now = time.monotonic()
        if now < self.compares_from:
            return False
        return self.is_doubtful or (regularly and now - self.compared_at >= COMPARE_EVERY)

    def compare(self, version: str) -> None:
        """Take the resourceVersion of a list. Raises RestoredError where it is lower than before."""
        if is_lower(version, self.newest):
            if time.monotonic() >= self.compares_from:
                raise RestoredError(f"resourceVersion {version} after {self.newest}")
            return
        self.newest, self.is_doubtful, self.compared_at = version, False, time.monotonic()
