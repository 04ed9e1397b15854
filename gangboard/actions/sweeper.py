"""The sweep, every two seconds: due actions that no worker has claimed, and checks after verification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gangboard.actions import drift_detection, hold_expiry, hold_proofs, orphaned_holds
from gangboard.actions.clock import Clock, RealClock
from gangboard.actions.hold_cache import HoldCache
from gangboard.store import actions

LOST_AFTER = 2.0
"""Seconds after which a worker would have claimed an action if its hint had arrived."""


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The work that one sweep found."""

    due: tuple[str, ...] = ()
    """Ids of actions to advance."""
    suspicious: tuple[int, ...] = ()
    """Ids of clusters with verified actions to inspect live."""
    clusters: tuple[int, ...] = ()
    """Ids of clusters whose Holds are due for a proof."""


@dataclass(slots=True)
class Sweeper:
    """Finds work in the database. It sends no request to a cluster. Thread-safe.

    Reuse the instance: from the second sweep on it reads only changed Holds.
    """

    clock: Clock = field(default_factory=RealClock)
    lost_after: float = LOST_AFTER
    holds: HoldCache = field(default_factory=HoldCache)

    def sweep(self) -> SweepResult:
        """Find work once. This also requests the release of expired Holds."""
        actions.repair_future_times(self.clock)
        now, holds = self.clock.now(), self.holds.refresh()
        released = hold_expiry.release_expired(now, self.clock, holds)
        new = [*released, *orphaned_holds.requeue(now, holds)]
        unclaimed = actions.due_actions(self.clock, waited=self.lost_after)
        return SweepResult(
            due=tuple(dict.fromkeys([*new, *unclaimed])),
            suspicious=tuple(drift_detection.find_suspicious()),
            clusters=tuple(hold_proofs.due_clusters(now)),
        )

    def dispatch(
        self,
        advance: Callable[[str], object],
        inspect: Callable[[int], object],
        prove: Callable[[int], object],
    ) -> SweepResult:
        """Sweep, and pass the work to these functions."""
        result = self.sweep()
        for action_id in result.due:
            advance(action_id)
        for cluster_id in result.suspicious:
            inspect(cluster_id)
        for cluster_id in result.clusters:
            prove(cluster_id)
        return result
