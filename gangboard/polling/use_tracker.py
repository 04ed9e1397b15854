"""The gangs of one cluster whose accelerator use is conspicuous, for their verdicts."""

from __future__ import annotations

import time

from django.conf import settings

from gangboard.domain.measured_use import UseAlert
from gangboard.facts.gang import NO_ALERT
from gangboard.prometheus_sources import source_of
from gangboard.store.use import conspicuous_uses

OBSERVE_SECONDS = 5.0
"""Seconds between two reads of the table, which another thread or worker writes (`use_readings`)."""


class UseTracker:
    """Alerts by root uid. Without a source there are none, and no query."""

    def __init__(self, cluster_id: int, cluster_name: str) -> None:
        self._cluster_id = cluster_id
        self._has_source = source_of(cluster_name, settings.PROMETHEUS_SOURCES) is not None
        self._alerts: dict[str, UseAlert] = {}
        self._next_at = 0.0

    def observe(self) -> set[str]:
        """Read the alerts if that is due. Return the roots whose alert has changed (1 query, mostly none)."""
        now = time.monotonic()
        if not self._has_source or now < self._next_at:
            return set()
        self._next_at = now + OBSERVE_SECONDS
        before, self._alerts = self._alerts, conspicuous_uses(self._cluster_id)
        return {
            root for root in {*before, *self._alerts} if before.get(root) != self._alerts.get(root)
        }

    def of(self, root: str) -> UseAlert:
        """Return the alert of a gang."""
        return self._alerts.get(root, NO_ALERT)
