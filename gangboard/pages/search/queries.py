"""The search over everything: gangs with their Jobs and pods, deleted gangs, nodes, queues, namespaces.

Labels of gangs are not stored, so the search cannot find them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from gangboard.readmodels.filters import all_occur_in, search_words
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.gang_query import GangFilters
from gangboard.readmodels.gangs import GangRow, list_gangs
from gangboard.readmodels.queue_lines import read_queues
from gangboard.readmodels.queue_visibility import serves_queues
from gangboard.readmodels.visible_queues import QueueFilters, visible_queues
from gangboard.store.access import Viewer
from gangboard.store.gangs import unpack_detail
from gangboard.store.models import Gang, NodeCapacity

MOST_HITS = 20
"""Hits of each sort. The page says if there are more."""


@dataclass(frozen=True, slots=True)
class Match:
    """The pod, Job, group or node of a gang that matched instead of its own name."""

    kind: str
    name: str
    node: str = ""
    """Node of the pod, if the viewer may read its name."""


@dataclass(frozen=True, slots=True)
class GangHit:
    """A gang with the pod, Job, group or node that matched; None if its own name, place or reason did."""

    row: GangRow
    match: Match | None


@dataclass(frozen=True, slots=True)
class PlaceHit:
    """A node, a queue or a namespace."""

    cluster: str
    name: str
    gangs: int = 0
    """Gangs in the namespace."""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """Hits that match all words."""

    gangs: tuple[GangHit, ...] = ()
    deleted: tuple[GangHit, ...] = ()
    nodes: tuple[PlaceHit, ...] = ()
    queues: tuple[PlaceHit, ...] = ()
    namespaces: tuple[PlaceHit, ...] = ()
    more: frozenset[str] = frozenset()
    """Sorts with more than MOST_HITS hits."""

    @property
    def hits(self) -> int:
        """The number of hits shown."""
        groups = (self.gangs, self.deleted, self.nodes, self.queues, self.namespaces)
        return sum(map(len, groups))


def search_everything(
    text: str, *, viewer: Viewer, clusters: Mapping[int, Freshness], now: datetime
) -> SearchResults:
    """Return the hits that the viewer may see (at most 12 queries, each on an index or narrow rows)."""
    if not search_words(text):
        return SearchResults()
    gangs, more_gangs = _gangs(text, viewer, clusters, now, gone=False)
    deleted, more_deleted = _gangs(text, viewer, clusters, now, gone=True)
    places = {
        "nodes": _nodes(text, viewer, clusters),
        "queues": _queues(text, viewer, clusters),
        "namespaces": _namespaces(text, viewer, clusters),
    }
    sorts_with_more = {sort for sort, hits in places.items() if len(hits) > MOST_HITS}
    sorts_with_more |= {
        sort for sort, is_more in (("gangs", more_gangs), ("deleted", more_deleted)) if is_more
    }
    first = {sort: hits[:MOST_HITS] for sort, hits in places.items()}
    return SearchResults(gangs, deleted, **first, more=frozenset(sorts_with_more))


def _gangs(
    text: str, viewer: Viewer, clusters: Mapping[int, Freshness], now: datetime, *, gone: bool
) -> tuple[tuple[GangHit, ...], bool]:
    filters = GangFilters(q=text, gone=gone)
    page = list_gangs(viewer=viewer, filters=filters, limit=MOST_HITS, now=now, clusters=clusters)
    matches = {} if gone else _matches(page.rows, search_words(text.lower()), viewer)
    hits = tuple(GangHit(row, matches.get(row.id)) for row in page.rows)
    # An exact name goes first.
    ranked = sorted(hits, key=lambda hit: hit.row.name.lower() != text.strip().lower())
    return tuple(ranked), page.next_cursor is not None


def _matches(rows: Sequence[GangRow], terms: Sequence[str], viewer: Viewer) -> dict[str, Match]:
    """Return the object of each gang whose name has all words, by id of the gang (1 query)."""
    ids = [row.id for row in rows if not _has_all(row.name, terms)]
    details = Gang.objects.filter(pk__in=ids).values_list("id", "cluster_id", "detail")
    matches = {}
    for id_, cluster_id, detail in details:
        match = _match(bytes(detail), terms, names_nodes=viewer.names_nodes(cluster_id))
        if match is not None:
            matches[id_] = match
    return matches


def _match(detail: bytes, terms: Sequence[str], *, names_nodes: bool) -> Match | None:
    stored = unpack_detail(detail)
    for member in stored.members:
        if _has_all(member.ref.name, terms):
            node = printable(member.node) if names_nodes else ""
            return Match(member.ref.kind.lower(), printable(member.ref.name), node)
    for ref in (*(job.ref for job in stored.jobs), *stored.groups):
        if _has_all(ref.name, terms):
            return Match(ref.kind, printable(ref.name))
    for member in stored.members:
        if names_nodes and _has_all(member.node, terms):
            return Match(
                member.ref.kind.lower(), printable(member.ref.name), printable(member.node)
            )
    return None


def _has_all(name: str, terms: Sequence[str]) -> bool:
    return all(term in name.lower() for term in terms)


def _nodes(text: str, viewer: Viewer, clusters: Mapping[int, Freshness]) -> tuple[PlaceHit, ...]:
    """Return nodes of clusters that the viewer may see as a whole (1 query on an index)."""
    rows = NodeCapacity.objects.filter(
        viewer.whole_cluster_filter(), all_occur_in(text, ("name",)), cluster_id__in=list(clusters)
    )
    names = rows.order_by("cluster_id", "name").values_list("cluster_id", "name")
    return tuple(
        PlaceHit(clusters[id_].cluster, printable(name)) for id_, name in names[: MOST_HITS + 1]
    )


def _queues(text: str, viewer: Viewer, clusters: Mapping[int, Freshness]) -> tuple[PlaceHit, ...]:
    if not serves_queues(viewer):
        return ()
    queues = visible_queues(viewer, clusters, read_queues(clusters))
    hits = [queue for queue in queues if queue.matches(QueueFilters(q=text))]
    return tuple(
        PlaceHit(queue.cluster.cluster, printable(queue.queue.meta.ref.name))
        for queue in hits[: MOST_HITS + 1]
    )


def _namespaces(
    text: str, viewer: Viewer, clusters: Mapping[int, Freshness]
) -> tuple[PlaceHit, ...]:
    """Return namespaces that have gangs (1 query on the index of the Board's counts)."""
    condition = Q(gone_at=None, cluster_id__in=list(clusters))
    gangs = Gang.objects.filter(viewer.gang_filter(), condition, all_occur_in(text, ("namespace",)))
    counted = gangs.values_list("cluster_id", "namespace").annotate(gangs=Count("*"))
    rows = counted.order_by("cluster_id", "namespace")[: MOST_HITS + 1]
    return tuple(
        PlaceHit(clusters[id_].cluster, printable(name), gangs) for id_, name, gangs in rows
    )
