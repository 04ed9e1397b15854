"""The time by which actions are carried out. Tests bring their own."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

from gangboard.store.row_leases import DatabaseClock, RealDatabaseClock


class Clock(DatabaseClock, Protocol):
    """Now, waiting, and now by the clock of the database."""

    def now(self) -> datetime:
        """Return the time, in UTC."""

    def monotonic(self) -> float:
        """Return seconds that only go up."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class RealClock(RealDatabaseClock):
    """This machine's clock."""

    def now(self) -> datetime:
        """Return the time, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that only go up."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
