"""The search over everything: gangs, also deleted, Jobs, pods, nodes, queues, namespaces, labels and submitters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from gangboard.domain.health import Health
from gangboard.domain.text import count
from gangboard.pages.search.gang_hits import GangHits, read_gang_hits
from gangboard.pages.search.rows import (
    MOST_HITS,
    Hit,
    HitGroup,
    SearchResults,
    board_href,
    hit_group,
    page_href,
    place_text,
)
from gangboard.readmodels.filters import all_occur_in, label_text, search_words
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.queue_lines import read_queues
from gangboard.readmodels.queue_visibility import serves_queues
from gangboard.readmodels.state_labels import Face, face_of
from gangboard.readmodels.visible_queues import QueueFilters, visible_queues
from gangboard.store.access import Viewer
from gangboard.store.gang_search import count_labels, count_submitters
from gangboard.store.models import Gang, NodeCapacity

_READY = Face("ready", "Ready", "●", Health.RUNNING.value)
_NOT_READY = Face("not-ready", "Not ready", "✕", Health.FAILED.value)
_CORDONED = Face("cordoned", "Cordoned", "❚❚", Health.SUSPENDED.value)


@dataclass(frozen=True, slots=True)
class _Search:
    """One search of one viewer at one time."""

    text: str
    viewer: Viewer
    clusters: Mapping[int, Freshness]
    now: datetime

    def cluster_name(self, id_: int) -> str:
        return self.clusters[id_].cluster


def search_everything(
    text: str, *, viewer: Viewer, clusters: Mapping[int, Freshness], now: datetime
) -> SearchResults:
    """Return the hits that the viewer may see (at most 16 queries, each on an index or narrow rows)."""
    if not search_words(text):
        return SearchResults()
    search = _Search(text, viewer, clusters, now)
    gangs = read_gang_hits(text, viewer=viewer, clusters=clusters, now=now, gone=False)
    deleted = read_gang_hits(text, viewer=viewer, clusters=clusters, now=now, gone=True)
    groups = (
        *_gang_groups(search, gangs),
        hit_group("nodes", "Nodes", _nodes(search)),
        hit_group("queues", "Queues", _queues(search)),
        hit_group("namespaces", "Namespaces", _namespaces(search)),
        hit_group("labels", "Labels", _labels(search)),
        hit_group("submitters", "Submitters", _submitters(search)),
        hit_group(
            "deleted",
            "Deleted gangs",
            deleted.gangs,
            has_more=deleted.has_more,
            all_href=board_href({"q": text, "gone": "1"}),
        ),
    )
    # Gangs that match by a label or submitter only stand below that label or submitter.
    return SearchResults(
        tuple(sorted(filter(lambda group: group.hits, groups), key=lambda group: group.is_implied))
    )


def _gang_groups(search: _Search, found: GangHits) -> Iterable[HitGroup]:
    all_href = board_href({"q": search.text, "show_finished": "1"})
    for key, title, hits in (
        ("gangs", "Gangs", found.gangs),
        ("jobs", "Jobs", found.jobs),
        ("pods", "Pods", found.pods),
    ):
        yield hit_group(key, title, hits, has_more=found.has_more, all_href=all_href)


def _nodes(search: _Search) -> list[Hit]:
    """Return nodes of clusters that the viewer may see as a whole (1 query on an index)."""
    rows = NodeCapacity.objects.filter(
        search.viewer.whole_cluster_filter(),
        all_occur_in(search.text, ("name",)),
        cluster_id__in=list(search.clusters),
    ).order_by("cluster_id", "name")
    columns = rows.values_list("cluster_id", "name", "ready", "cordoned")
    return [
        Hit(
            name=printable(name),
            href=page_href("node", (search.cluster_name(id_), name)),
            place=search.cluster_name(id_),
            face=_node_face(search.clusters[id_], ready=ready, cordoned=cordoned),
        )
        for id_, name, ready, cordoned in columns[: MOST_HITS + 1]
    ]


def _node_face(cluster: Freshness, *, ready: bool, cordoned: bool) -> Face:
    if cluster.is_silent:
        return face_of(Health.UNKNOWN)
    if not ready:
        return _NOT_READY
    return _CORDONED if cordoned else _READY


def _queues(search: _Search) -> list[Hit]:
    if not serves_queues(search.viewer):
        return []
    queues = visible_queues(search.viewer, search.clusters, read_queues(search.clusters))
    matching = [queue for queue in queues if queue.matches(QueueFilters(q=search.text))]
    return [
        Hit(
            name=printable(queue.queue.meta.ref.name),
            href=page_href("queue", (queue.cluster.cluster, queue.queue.meta.ref.name)),
            place=queue.cluster.cluster,
            face=face_of(Health.UNKNOWN) if queue.cluster.is_silent else queue.face,
        )
        for queue in matching[: MOST_HITS + 1]
    ]


def _namespaces(search: _Search) -> list[Hit]:
    """Return namespaces that have gangs (1 query on the index of the Board's counts)."""
    condition = Q(gone_at=None, cluster_id__in=list(search.clusters))
    gangs = Gang.objects.filter(
        search.viewer.gang_filter(), condition, all_occur_in(search.text, ("namespace",))
    )
    counts = gangs.values_list("cluster_id", "namespace").annotate(gangs=Count("*"))
    rows = counts.order_by("cluster_id", "namespace")[: MOST_HITS + 1]
    return [
        Hit(
            name=printable(name),
            href=board_href({"cluster": search.cluster_name(id_), "namespace": name}),
            place=place_text(search.cluster_name(id_), count(number, "gang")),
        )
        for id_, name, number in rows
    ]


def _labels(search: _Search) -> list[Hit]:
    """Return labels of gangs, the most frequent first (1 query)."""
    counts = count_labels(_words(search), viewer=search.viewer, most=MOST_HITS + 1)
    at_least = "at least " if counts.is_partial else ""
    return [
        Hit(
            name=printable(label_text(label)),
            href=board_href({"label": label_text(label), "show_finished": "1"}),
            place=f"{at_least}{count(number, 'gang')}",
        )
        for label, number in counts.rows
    ]


def _submitters(search: _Search) -> list[Hit]:
    """Return submitters of gangs, the most frequent first (1 query)."""
    rows = count_submitters(_words(search), viewer=search.viewer, most=MOST_HITS + 1)
    return [
        Hit(
            name=printable(name),
            href=board_href({"submitter": name, "show_finished": "1"}),
            place=count(number, "gang"),
        )
        for name, number in rows
    ]


def _words(search: _Search) -> Sequence[str]:
    return [word.lower() for word in search_words(search.text)]
