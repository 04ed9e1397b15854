"""Times in which nothing was seen of a cluster: one row for the cluster, none for its gangs."""

from __future__ import annotations

from datetime import datetime, timedelta

from gangboard.store.models import Outage

SILENT_AFTER = timedelta(seconds=120)
"""Without contact for this long nobody knows how the gangs of a cluster are."""


def record_outage(
    cluster_id: int, began_at: datetime, ended_at: datetime, *, problem: str, sentence: str
) -> bool:
    """Record that the cluster answers again, if it was silent; return whether. Inside `writing`."""
    was_silent = ended_at - began_at > SILENT_AFTER
    if was_silent:
        Outage.objects.create(
            cluster_id=cluster_id,
            began_at=began_at,
            ended_at=ended_at,
            problem=problem,
            sentence=sentence,
        )
    return was_silent
