"""The clock of the act worker. Tests replace it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

from gangboard.store.row_leases import DatabaseClock, RealDatabaseClock


class Clock(DatabaseClock, Protocol):
    """The current time, a monotonic clock, sleep, and the time of the database."""

    def now(self) -> datetime:
        """Return the current time in UTC."""

    def monotonic(self) -> float:
        """Return the seconds of a clock that never goes back."""

    def sleep(self, seconds: float) -> None:
        """Sleep for some seconds."""


class RealClock(RealDatabaseClock):
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the seconds of a clock that never goes back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Sleep for some seconds."""
        time.sleep(seconds)
