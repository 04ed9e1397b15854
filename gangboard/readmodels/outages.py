"""Outages of clusters. An outage is one row of the cluster instead of one row of each gang."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Window
from django.db.models.functions import RowNumber

from gangboard.domain.health import Health, Stage
from gangboard.readmodels.declarations import shown, shown_property
from gangboard.readmodels.formatting import duration_text
from gangboard.readmodels.freshness import Freshness, problem_sentence
from gangboard.readmodels.state_labels import NOT_OBSERVED
from gangboard.readmodels.time_to_start import VerdictInterval
from gangboard.store.access import Viewer
from gangboard.store.models import Outage

MOST_OUTAGES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageRow:
    """A time in which nothing was seen of a cluster."""

    cluster: str
    began_at: datetime = shown("Began", "Its last answer before.")
    ended_at: datetime | None = shown("Ended", "Null if it is still silent.")
    problem: str = shown(
        "Problem", "Error code. Null if no poll worker read it.", empty_is_null=True
    )
    why: str
    """The error in words. Empty for viewers who may not read cluster-wide texts."""

    @shown_property("Title")
    def title(self) -> str:
        """Return the outage in words: `Cluster prod could not be read`."""
        if self.ended_at is None:
            verb = "cannot be read" if self.problem else "is not being read"
        else:
            verb = "could not be read" if self.problem else "was not read"
        return f"Cluster {self.cluster} {verb}"

    @shown_property("Message")
    def message(self) -> str:
        """Return the error, and the consequence of the outage."""
        known = "Its contents at that time are unknown."
        if self.ended_at is None:
            known = "Its current contents are unknown."
        return " ".join(filter(None, (self.why, known)))

    @property
    def duration(self) -> str:
        """Its duration. Empty while it lasts."""
        return duration_text(self.ended_at - self.began_at) if self.ended_at is not None else ""


def read_outages(
    *, viewer: Viewer, clusters: Collection[Freshness], most: int = MOST_OUTAGES
) -> dict[int, tuple[OutageRow, ...]]:
    """Return the last outages of the clusters by cluster id, the newest first (1 query)."""
    rank = Window(RowNumber(), partition_by="cluster_id", order_by="-ended_at")
    ids = [cluster.cluster_id for cluster in clusters]
    stored: dict[int, list[Outage]] = {id_: [] for id_ in ids}
    last = Outage.objects.filter(cluster_id__in=ids).annotate(rank=rank).filter(rank__lte=most)
    for row in last.order_by("-ended_at"):
        stored[row.cluster_id].append(row)
    return {
        cluster.cluster_id: _rows(viewer, cluster, stored[cluster.cluster_id])
        for cluster in clusters
    }


def _rows(viewer: Viewer, cluster: Freshness, stored: Sequence[Outage]) -> tuple[OutageRow, ...]:
    over = tuple(
        OutageRow(
            cluster=cluster.cluster,
            began_at=row.began_at,
            ended_at=row.ended_at,
            problem=row.problem,
            why=problem_sentence(cluster.cluster_id, row.sentence, viewer=viewer),
        )
        for row in stored
    )
    if not cluster.is_silent or cluster.contact_at is None:
        return over
    current = OutageRow(
        cluster=cluster.cluster,
        began_at=cluster.contact_at,
        ended_at=None,
        problem=cluster.problem,
        why=cluster.sentence,
    )
    return (current, *over)


def cut(
    began_at: datetime, ended_at: datetime | None, outages: Sequence[OutageRow]
) -> Iterator[tuple[datetime, datetime | None, bool]]:
    """Split a period at outages. Yield the start and end of each part in order, and whether it is an outage.

    `outages` are sorted with the newest first.
    """
    position = began_at
    for outage in reversed(outages):
        if outage.ended_at is not None and outage.ended_at <= position:
            continue
        start = max(outage.began_at, position)
        if ended_at is not None and start >= ended_at:
            break
        if start > position:
            yield position, start, False
        part_end = _earliest(outage.ended_at, ended_at)
        yield start, part_end, True
        if part_end is None or part_end == ended_at:
            return
        position = part_end
    yield position, ended_at, False


def _earliest(first_time: datetime | None, second_time: datetime | None) -> datetime | None:
    known = [time for time in (first_time, second_time) if time is not None]
    return min(known, default=None)


def with_outages(
    intervals: Sequence[VerdictInterval], outages: Sequence[OutageRow]
) -> tuple[VerdictInterval, ...]:
    """Return intervals with the outages cut out as unknown intervals. `intervals` are sorted, the oldest first."""
    if not outages:
        return tuple(intervals)
    unobserved = {"health": Health.UNKNOWN.value, "stage": Stage.RUN.value, "code": NOT_OBSERVED}
    return tuple(
        replace(interval, began_at=began_at, ended_at=ended_at, **(unobserved if is_outage else {}))
        for interval in intervals
        for began_at, ended_at, is_outage in cut(interval.began_at, interval.ended_at, outages)
    )
