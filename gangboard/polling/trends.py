"""Once a minute a point of each curve of a cluster."""

from __future__ import annotations

from datetime import datetime

from gangboard.polling.capacity import CapacityWriter
from gangboard.store.cluster_leases import ClusterLease
from gangboard.store.observations import writing
from gangboard.store.trends import minute_of, record_point


class TrendWriter:
    """Writes the minutes of one cluster in which its gangs are judged. The others have no row."""

    def __init__(self, claim: ClusterLease, capacity: CapacityWriter) -> None:
        self._claim = claim
        self._capacity = capacity
        self._written: datetime | None = None

    def write(self, now: datetime, *, all_seen: bool) -> None:
        """Write this minute, unless it is written. Raises LeaseLostError.

        `all_seen`: nothing that gangs are judged by is hidden. No page is told: one that is read anew
        for something else shows the point, too.
        """
        minute = minute_of(now)
        if minute == self._written:
            return
        with writing(self._claim):
            record_point(
                self._claim.cluster_id,
                at=now,
                all_seen=all_seen,
                room=self._capacity.accelerators(),
            )
        self._written = minute
