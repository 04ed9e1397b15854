"""The line that names clusters without any number: on each page that counts."""

from __future__ import annotations

from collections.abc import Mapping

from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.unseen import not_counted
from gangboard.web.live.fragments import Fragment


def not_counted_line(clusters: Mapping[int, Freshness], cluster: str) -> Fragment:
    """Return the line about the clusters that the filter `cluster` leaves; an empty filter means all."""
    line = not_counted(one for one in clusters.values() if cluster in ("", one.cluster))
    return Fragment("not-counted", "frame/not_counted.html", {"line": line}, line)
