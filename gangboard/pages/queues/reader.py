"""The queues of some clusters, read once, and their rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from gangboard.diagnosis.scheduler_queues import queue_system, queue_words, scheduler_queues
from gangboard.domain.advice import with_cluster_name
from gangboard.domain.api_resource import WatchState
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import Flavor, Queue, QueueLevel
from gangboard.domain.resources import is_accelerator
from gangboard.domain.text import listed, sentence
from gangboard.facts.queue_sentences import closed_queue_text
from gangboard.pages.queues.quotas import quota_rows, term_rows
from gangboard.pages.queues.rows import (
    AliasRow,
    LostAliasRow,
    NamespaceRow,
    QueueRow,
    UnseenQueuesRow,
)
from gangboard.plugins import registry
from gangboard.readmodels.cluster_visibility import unobserved_sentence
from gangboard.readmodels.fair_shares import fair_share_row
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness, Level
from gangboard.readmodels.queue_lines import read_queues
from gangboard.readmodels.queue_places import Gangs, PlaceRow, gangs_of_entries, place_rows
from gangboard.readmodels.queue_visibility import WatchedQueues
from gangboard.readmodels.visible_queues import (
    QUEUE_FACES,
    VisibleQueue,
    order_sentences,
    tells_places,
    visible_aliases,
    visible_queues,
)
from gangboard.store.access import Viewer
from gangboard.store.models import WatchedObject

MOST_IN_LINE = 500
"""Entries of the line of one queue, and of those that have its quota."""
_UNSEEN = {
    WatchState.FORBIDDEN: "The reader may not list {kinds} in cluster {cluster}: the current ones are unknown.",
    WatchState.UNKNOWN_VERSION: "Cluster {cluster} serves {kinds} in versions that this release "
    "cannot read: the current ones are unknown.",
    WatchState.LISTING: "{kinds} of cluster {cluster} are being listed: some may be missing here.",
    Level.SILENT: "Cluster {cluster} {does_not}: its queues are as last seen.",
    Level.NEVER: "Cluster {cluster} {has_not_once}: its queues are unknown.",
    "not-looked": "{kinds} of cluster {cluster} have not been read yet.",
    "": "{kinds} of cluster {cluster} cannot be read now; the list may be outdated.",
}


class QueueReader:
    """The queues of some clusters as one viewer may see them."""

    def __init__(self, viewer: Viewer, clusters: Mapping[int, Freshness]) -> None:
        """Read them (4 queries, some 6 more with gangs in queues of schedulers)."""
        self.watched = WatchedQueues(clusters)
        self._viewer = viewer
        self._clusters = clusters
        self._stored = read_queues(clusters)
        self._flavors = _flavor_names(clusters)
        self.queues = visible_queues(viewer, clusters, self._stored)

    @property
    def unseen(self) -> tuple[UnseenQueuesRow, ...]:
        """A sentence for each cluster and state in which kinds cannot be read, by cluster."""
        return tuple(
            UnseenQueuesRow(
                cluster.cluster,
                state,
                kinds,
                unobserved_sentence(
                    _UNSEEN, state, cluster, kinds=listed([f"{kind}s" for kind in kinds])
                ),
            )
            for cluster, state, kinds in self.watched.unseen()
        )

    def lost_aliases(self) -> Iterator[LostAliasRow]:
        """Yield the aliases that name a missing queue, in clusters whose queues are all known."""
        for id_, cluster in self._clusters.items():
            stored = self._stored[id_]
            for target, aliases in sorted(visible_aliases(self._viewer, id_, stored).items()):
                if not self.watched.is_known(id_, Queue, target.group):
                    continue
                if stored.tree.get(target) is None:
                    for ref in (alias.meta.ref for alias in aliases):
                        yield LostAliasRow(
                            cluster.cluster,
                            printable(ref.kind),
                            printable(ref.namespace),
                            printable(ref.name),
                            printable(target.kind),
                            printable(target.name),
                        )

    def rows(self, queues: Sequence[VisibleQueue], most: int) -> tuple[QueueRow, ...]:
        """Return queues as rows, each with the first `most` entries of its line."""
        lines = [self._line(queue) for queue in queues]
        gangs = gangs_of_entries(
            (
                (queue.cluster.cluster_id, entry)
                for queue, line in zip(queues, lines, strict=True)
                for entry in (line or ())[:most]
            ),
            viewer=self._viewer,
        )
        return tuple(
            self._row(queue, line, self._places(queue, line, gangs, most))
            for queue, line in zip(queues, lines, strict=True)
        )

    def holders(self, queue: VisibleQueue) -> tuple[tuple[PlaceRow, ...] | None, int]:
        """Return the entries that have the quota of a queue, largest first, and how many more there are."""
        id_ = queue.cluster.cluster_id
        if not self._knows_entries(queue):
            return None, 0
        entries = queue.queues.holders(queue.queue.name)
        entries.sort(key=lambda entry: (-_accelerators(entry), entry.meta.ref.uid))
        first = entries[:MOST_IN_LINE]
        gangs = gangs_of_entries(((id_, entry) for entry in first), viewer=self._viewer)
        rows = place_rows(
            ((None, entry) for entry in first), gangs, viewer=self._viewer, cluster_id=id_
        )
        return rows, len(entries) - len(first)

    def _line(self, queue: VisibleQueue) -> list[QueueEntry] | None:
        """Return the entries that wait in a queue; None if they cannot be read."""
        return queue.queues.line(queue.queue.name) if self._knows_entries(queue) else None

    def _knows_entries(self, queue: VisibleQueue) -> bool:
        group = queue.queue.meta.ref.group
        return self.watched.knows_entries(queue.cluster.cluster_id, group)

    def _reached_by(self, queue: VisibleQueue) -> str:
        """Return who may use a queue without an alias, as far as that is known."""
        group = queue.queue.meta.ref.group
        vocabulary = queue_words(group)
        if vocabulary.open_to or _alias_count(queue):
            return vocabulary.open_to
        if not self.watched.is_known(queue.cluster.cluster_id, Queue, group):
            return "The namespaces that can use it are unknown: the objects that lead to it cannot be read."
        return vocabulary.no_alias

    def _row(
        self, visible: VisibleQueue, line: list[QueueEntry] | None, places: tuple[PlaceRow, ...]
    ) -> QueueRow:
        id_, queue, ref = visible.cluster.cluster_id, visible.queue, visible.queue.meta.ref
        sharing = visible.queues.sharing(queue)
        knows_queues = self.watched.is_known(id_, Queue, ref.group)
        knows_flavors = self.watched.is_known(id_, Flavor, ref.group)
        in_line = sum(entry.stands_in_line for entry in line or ())
        is_of_scheduler = ref.group in scheduler_queues()
        users = visible.queues.users(queue.name)
        cause, system = visible.cause, queue_system(ref.group)
        cluster = visible.cluster
        advice, command = with_cluster_name(
            queue.advice, queue.command, cluster.cluster, cluster.context
        )
        return QueueRow(
            id=f"{visible.cluster.cluster}~{ref.uid}",
            cluster=visible.cluster.cluster,
            system=system.label if system is not None else "",
            api_group=printable(ref.group),
            api_version=printable(queue.meta.api_version),
            kind=printable(ref.kind),
            name=printable(ref.name),
            uid=ref.uid,
            shared=visible.shared,
            shared_kind=printable(queue.parent.kind) if visible.shared and queue.parent else "",
            shares_with=sum(sharer.level is QueueLevel.QUEUE for sharer in sharing) - 1,
            face=visible.face,
            cause=printable(sentence(cause[:1].upper() + cause[1:])),
            advice_text=printable(advice),
            command=command,
            quotas=quota_rows(
                queue,
                sharing if knows_queues else None,
                self._flavors.get(id_, ()) if knows_flavors else None,
            ),
            is_quota_overridden=queue.is_quota_overridden,
            pending=queue.pending,
            reserving=queue.reserving,
            admitted=queue.admitted,
            line=None if line is None else places,
            in_line=None if line is None else in_line,
            kept_out=None if line is None else len(line) - in_line,
            waiting=(None if line is None else len(line)) if is_of_scheduler else queue.pending,
            placed=len(visible.queues.holders(queue.name))
            if is_of_scheduler and line is not None
            else None,
            unknown=visible.queues.unknown(queue.name),
            namespaces=tuple(
                NamespaceRow(printable(name), users[name]) for name in visible.namespaces
            ),
            namespaces_hidden=len(users) - len(visible.namespaces),
            reached_by=self._reached_by(visible),
            terms=term_rows(queue.terms),
            fair_share=fair_share_row(visible.queues, queue, viewer=self._viewer, cluster_id=id_),
            tells_places=tells_places(queue),
            order=order_sentences(queue, visible.aliases),
            aliases=tuple(map(_alias_row, visible.aliases)),
            aliases_hidden=_alias_count(visible) - len(visible.aliases),
            stale=visible.cluster.is_stale or self.watched.is_stale(id_, ref.group),
        )

    def _places(
        self, queue: VisibleQueue, line: list[QueueEntry] | None, gangs: Gangs, most: int
    ) -> tuple[PlaceRow, ...]:
        """Return the first `most` entries of a line as rows."""
        if not line:
            return ()
        has_places = tells_places(queue.queue)
        first = (
            (index if has_places and entry.stands_in_line else None, entry)
            for index, entry in enumerate(line[:most], start=1)
        )
        id_ = queue.cluster.cluster_id
        rows = place_rows(first, gangs, viewer=self._viewer, cluster_id=id_)
        if rows and rows[0].position == 1:
            why = _why_first([entry for entry in line if entry.stands_in_line])
            rows = (replace(rows[0], why=why), *rows[1:])
        return rows


def _why_first(line: Sequence[QueueEntry]) -> str:
    """Return why the first of a line is first."""
    first, *rest = line
    if not rest:
        return "It is the only one in line."
    second = rest[0]
    if first.priority > second.priority:
        return f"Its priority is the highest: {first.priority:,}, the next has {second.priority:,}."
    if first.in_line_since != second.in_line_since:
        return f"Of those with priority {first.priority:,} it has stood in line for longest."
    return f"Of those with priority {first.priority:,} and its time its uid comes first."


def _alias_row(alias: Queue) -> AliasRow:
    ref = alias.meta.ref
    return AliasRow(
        kind=printable(ref.kind),
        namespace=printable(ref.namespace),
        name=printable(ref.name),
        face=QUEUE_FACES[alias.state],
        cause=printable(closed_queue_text(alias)),
        pending=alias.pending,
    )


def _accelerators(entry: QueueEntry) -> Decimal:
    """Return how many accelerators an entry has: people look for large ones first."""
    return sum(
        (amount.amount for amount in entry.holds if is_accelerator(amount.resource)), Decimal(0)
    )


def _alias_count(queue: VisibleQueue) -> int:
    """Return how many aliases a queue has, hidden ones included."""
    named_by = queue.queues.tree.children(queue.queue.name)
    return sum(alias.level is QueueLevel.ALIAS for alias in named_by)


def _flavor_names(clusters: Iterable[int]) -> dict[int, set[str]]:
    """Return the names of the existing flavors by cluster (1 query)."""
    keys = [resource.key for resource in registry.queue_resources(Flavor)]
    rows = WatchedObject.objects.filter(cluster_id__in=list(clusters), resource__in=keys)
    names: dict[int, set[str]] = {}
    for id_, name in rows.values_list("cluster_id", "name"):
        names.setdefault(id_, set()).add(name)
    return names
