"""Every two seconds: what is due and nobody works on, and what has changed after it was verified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gangboard.actions import drift_detection, hold_expiry, hold_proofs, orphaned_holds
from gangboard.actions.clock import Clock, RealClock
from gangboard.actions.hold_cache import HoldCache
from gangboard.store import actions

LOST_AFTER = 2.0
"""Seconds after which whoever was woken for an action would have taken it."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep has found."""

    due: tuple[str, ...] = ()
    """Actions to go on with."""
    suspicious: tuple[int, ...] = ()
    """Clusters with verified actions to inspect live."""
    clusters: tuple[int, ...] = ()
    """Clusters whose Holds are to be proved again."""


@dataclass(slots=True)
class Sweeper:
    """Finds work in the database. Sends nothing itself.

    Keep it: from the second sweep on it reads what has changed. From any number of threads.
    """

    clock: Clock = field(default_factory=RealClock)
    lost_after: float = LOST_AFTER
    holds: HoldCache = field(default_factory=HoldCache)

    def sweep(self) -> Swept:
        """Look once. Asks for the release of Holds whose end is over."""
        actions.repair_future_times(self.clock)
        now, seen = self.clock.now(), self.holds.look()
        released = hold_expiry.release_expired(now, self.clock, seen)
        fresh = [*released, *orphaned_holds.requeue(now, seen)]
        lost = actions.due_actions(self.clock, waited=self.lost_after)
        return Swept(
            due=tuple(dict.fromkeys([*fresh, *lost])),
            suspicious=tuple(drift_detection.suspicious()),
            clusters=tuple(hold_proofs.due_clusters(now)),
        )

    def order(
        self,
        advance: Callable[[str], object],
        inspect: Callable[[int], object],
        prove: Callable[[int], object],
    ) -> Swept:
        """Sweep, and hand what was found to those who do it."""
        found = self.sweep()
        for action_id in found.due:
            advance(action_id)
        for cluster_id in found.suspicious:
            inspect(cluster_id)
        for cluster_id in found.clusters:
            prove(cluster_id)
        return found
