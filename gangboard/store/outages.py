"""Outages: times without any contact to a cluster. The cluster has a row, its gangs have none."""

from __future__ import annotations

from datetime import datetime, timedelta

from gangboard.store.models import Outage

SILENT_AFTER = timedelta(seconds=120)
"""After this time without contact the state of a cluster's gangs is unknown."""


def record_outage(
    cluster_id: int, began_at: datetime, ended_at: datetime, *, problem: str, sentence: str
) -> bool:
    """Record an outage if the cluster was silent until now. Return whether it was. Call it inside `writing`."""
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
