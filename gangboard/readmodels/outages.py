"""Times in which nothing was seen of a cluster: one line of the cluster, not one of each gang."""

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
    ended_at: datetime | None = shown("Ended", "Null: it is silent now.")
    problem: str = shown(
        "Problem", "Code of the error; null: no poll worker asked it.", empty_is_null=True
    )
    why: str
    """The error in words; empty for viewers who may not read cluster-wide texts."""

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
        known = "What was in it at that time is not known."
        if self.ended_at is None:
            known = "What is in it now is not known."
        return " ".join(filter(None, (self.why, known)))

    @property
    def duration(self) -> str:
        """How long it lasted; empty while it does."""
        return duration_text(self.ended_at - self.began_at) if self.ended_at is not None else ""


def read_outages(
    *, viewer: Viewer, clusters: Collection[Freshness], most: int = MOST_OUTAGES
) -> dict[int, tuple[OutageRow, ...]]:
    """Return the last outages of these clusters by cluster id, the newest first (1 query)."""
    rank = Window(RowNumber(), partition_by="cluster_id", order_by="-ended_at")
    ids = [one.cluster_id for one in clusters]
    stored: dict[int, list[Outage]] = {id_: [] for id_ in ids}
    last = Outage.objects.filter(cluster_id__in=ids).annotate(rank=rank).filter(rank__lte=most)
    for row in last.order_by("-ended_at"):
        stored[row.cluster_id].append(row)
    return {one.cluster_id: _rows(viewer, one, stored[one.cluster_id]) for one in clusters}


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
    """Yield the pieces of a time, in order, and of each whether nobody could look.

    `outages` are the newest first.
    """
    at = began_at
    for one in reversed(outages):
        if one.ended_at is not None and one.ended_at <= at:
            continue
        start = max(one.began_at, at)
        if ended_at is not None and start >= ended_at:
            break
        if start > at:
            yield at, start, False
        end = _first(one.ended_at, ended_at)
        yield start, end, True
        if end is None or end == ended_at:
            return
        at = end
    yield at, ended_at, False


def _first(one: datetime | None, other: datetime | None) -> datetime | None:
    known = [time for time in (one, other) if time is not None]
    return min(known, default=None)


def with_outages(
    stretches: Sequence[VerdictInterval], outages: Sequence[OutageRow]
) -> tuple[VerdictInterval, ...]:
    """Return stretches, the oldest first, with the times in which nobody could look as their own."""
    if not outages:
        return tuple(stretches)
    unseen = {"health": Health.UNKNOWN.value, "stage": Stage.RUN.value, "code": NOT_OBSERVED}
    return tuple(
        replace(one, began_at=begins, ended_at=ends, **(unseen if blind else {}))
        for one in stretches
        for begins, ends, blind in cut(one.began_at, one.ended_at, outages)
    )
