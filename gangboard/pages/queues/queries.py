"""Queues with their quotas, their lines and the gangs in them, as one viewer may see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime

from gangboard.pages.queues.reader import MOST_IN_LINE, QueueReader
from gangboard.pages.queues.rows import QueueDetailRow, QueuePage
from gangboard.readmodels.cursors import page_of
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.visible_queues import QueueFilters, VisibleQueue
from gangboard.store.access import Viewer

SHOWN_IN_LINE = 3
"""Entries of each line in a list of queues."""


def list_queues(
    *,
    viewer: Viewer,
    filters: QueueFilters,
    limit: int = 50,
    cursor: str | None = None,
    now: datetime,
    clusters: Mapping[int, Freshness] | None = None,
) -> QueuePage:
    """Return one page of the queues that the viewer may see, by cluster and name. Raises CursorError.

    Everyone who sees a queue sees the same numbers of it, because their own wait results from these.
    """
    if clusters is None:
        clusters = read_freshness(viewer=viewer, now=now)
    if filters.cluster:
        clusters = _named(clusters, filters.cluster)
    reader = QueueReader(viewer, clusters)
    queues = [queue for queue in reader.queues if queue.matches(filters)]
    chosen, following = page_of(queues, _sort_key, cursor=cursor, limit=limit)
    return QueuePage(
        rows=reader.rows(chosen, SHOWN_IN_LINE),
        lost=tuple(reader.lost_aliases()),
        unseen=reader.unseen,
        serving=reader.watched.serving,
        next_cursor=following,
    )


def queue_detail(
    *, viewer: Viewer, cluster: str, name: str, now: datetime
) -> QueueDetailRow | None:
    """Return one queue with its line and the gangs that have its quota; None if the viewer may see none.

    If two admission systems have a queue of that name, the first by API group and kind.
    """
    clusters = _named(read_freshness(viewer=viewer, now=now), cluster)
    reader = QueueReader(viewer, clusters)
    named = (queue for queue in reader.queues if queue.queue.meta.ref.name == name)
    queue = next(named, None)
    if queue is None:
        return None
    holders, holders_more = reader.holders(queue)
    (row,) = reader.rows((queue,), MOST_IN_LINE)
    return QueueDetailRow(
        **{field.name: getattr(row, field.name) for field in fields(row)},
        holders=holders,
        holders_more=holders_more,
        unseen=reader.unseen,
    )


def _named(clusters: Mapping[int, Freshness], name: str) -> dict[int, Freshness]:
    """Return the cluster of this name by id. Empty if the viewer does not see it."""
    return {id_: cluster for id_, cluster in clusters.items() if cluster.cluster == name}


def _sort_key(queue: VisibleQueue) -> tuple[str, ...]:
    return queue.sort_key
