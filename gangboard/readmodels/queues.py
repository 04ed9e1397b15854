"""Queues: quota, what is used, borrowed and lent of it, and who stands in line and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from gangboard.diagnosis.scheduler_queues import queue_words, scheduler_queues
from gangboard.domain.group import Group
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import Flavor, Queue, QueueLevel, QueueName
from gangboard.domain.resources import is_accelerator
from gangboard.domain.text import sentence
from gangboard.plugins import registry
from gangboard.readmodels.cursors import page_of
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.printable import printable
from gangboard.readmodels.queue_lines import read_queues
from gangboard.readmodels.queue_places import (
    Gangs,
    PlaceRow,
    gangs_of_entries,
    place_rows,
    why_first,
)
from gangboard.readmodels.queue_quotas import quota_rows, term_rows
from gangboard.readmodels.queue_rows import (
    LostAlias,
    NamespaceRow,
    QueuePlace,
    QueueRow,
    alias_row,
    order_sentences,
    shared_names,
    system_label,
    tells_places,
)
from gangboard.readmodels.queue_visibility import UnseenQueues, WatchedQueues
from gangboard.readmodels.word_search import all_words_in
from gangboard.store.access import Viewer
from gangboard.store.models import WatchedObject

SHOWN_IN_LINE = 3
"""Of the line of a queue in a list of queues."""
MOST_IN_LINE = 500
"""Of the line of one queue, and of those who have its quota."""


@dataclass(frozen=True, slots=True)
class QueueFilters:
    """Which queues are asked for. Empty means all."""

    cluster: str = ""
    state: str = ""
    """active, stopped, inactive or unknown."""
    q: str = ""
    """Words that must all occur in the name of the queue, of what it shares quota in, or of an alias with its
    namespace."""


@dataclass(frozen=True, slots=True)
class QueuePage:
    """Some queues in order, and the cursor of the next page, None when there is none."""

    rows: tuple[QueueRow, ...]
    lost: tuple[LostAlias, ...]
    """Of all clusters that are asked for, in any page."""
    unseen: tuple[UnseenQueues, ...]
    """What could not be looked at: absence from `rows` means nothing there."""
    serving: tuple[str, ...]
    """The clusters that serve queues: in all others there are none."""
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class QueueDetail:
    """One queue, all who wait in it, and who has its quota."""

    row: QueueRow
    holders: tuple[PlaceRow, ...] | None
    """Largest first; None where entries cannot be looked at."""
    holders_more: int
    unseen: tuple[UnseenQueues, ...]


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

    Who may see a whole cluster sees all of its queues, anybody else those that aliases of his
    namespaces lead to or their gangs are in, with the same numbers: his own wait is made of these.
    """
    if clusters is None:
        clusters = read_freshness(viewer=viewer, now=now)
    asked = {id_: one for id_, one in clusters.items() if filters.cluster in ("", one.cluster)}
    board = _Board(viewer, asked)
    places = sorted(
        (place for place in board.places() if _is_asked_for(place, filters)), key=_sort_key
    )
    chosen, following = page_of(places, _sort_key, cursor=cursor, limit=limit)
    return QueuePage(
        rows=board.rows(chosen, SHOWN_IN_LINE),
        lost=tuple(board.lost()),
        unseen=board.visibility.sentences,
        serving=board.visibility.serving,
        next_cursor=following,
    )


def queue_detail(*, viewer: Viewer, cluster: str, name: str, now: datetime) -> QueueDetail | None:
    """Return one queue with its line and who has its quota; None when there is none that he may see.

    Of two of one name in different admission systems the first by API group and kind.
    """
    clusters = read_freshness(viewer=viewer, now=now)
    board = _Board(viewer, {id_: one for id_, one in clusters.items() if one.cluster == cluster})
    named = (place for place in board.places() if place.queue.meta.ref.name == name)
    place = min(named, key=_sort_key, default=None)
    if place is None:
        return None
    holders, more = board.holders(place)
    return QueueDetail(
        row=board.rows((place,), MOST_IN_LINE)[0],
        holders=holders,
        holders_more=more,
        unseen=board.visibility.sentences,
    )


def _weight(entry: QueueEntry) -> Decimal:
    """Return how many accelerators an entry has, which is what people look for first."""
    return sum((one.amount for one in entry.holds if is_accelerator(one.resource)), Decimal(0))


def _sort_key(place: QueuePlace) -> tuple[str, ...]:
    ref = place.queue.meta.ref
    return place.cluster.cluster, ref.name, ref.group, ref.kind


def _is_asked_for(place: QueuePlace, filters: QueueFilters) -> bool:
    if filters.state and filters.state != place.face.word:
        return False
    texts = [place.queue.meta.ref.name, *place.shared]
    for alias in place.aliases:
        texts += (alias.meta.ref.namespace, alias.meta.ref.name)
    texts += place.namespaces
    return all_words_in(filters.q, texts)


class _Board:
    """The queues of some clusters as one viewer may see them."""

    def __init__(self, viewer: Viewer, clusters: Mapping[int, Freshness]) -> None:
        """Read them (4 queries; where gangs are in queues of schedulers some 6 more)."""
        self.visibility = WatchedQueues(clusters)
        self._viewer = viewer
        self._clusters = clusters
        self._queues = read_queues(clusters)
        self._flavors = _flavor_names(clusters)

    def places(self) -> Iterator[QueuePlace]:
        """Yield the queues that the viewer may see, in no order."""
        for id_, cluster in self._clusters.items():
            queues, aliases = self._queues[id_], self._aliases(id_)
            for queue in queues.tree:
                if queue.level is not QueueLevel.QUEUE:
                    continue
                own = aliases.get(queue.name, ())
                users = sorted(queues.users(queue.name))
                namespaces = tuple(one for one in users if self._viewer.sees(id_, one))
                if self._viewer.sees_cluster(id_):
                    shared = shared_names(queues, queue)
                elif own or namespaces:
                    shared = ()
                else:
                    continue
                yield QueuePlace(cluster, queues, queue, own, shared, namespaces)

    def _aliases(self, cluster_id: int) -> dict[QueueName, list[Queue]]:
        """Return the aliases that the viewer may see, by the queue that they lead to, there or not."""
        found: dict[QueueName, list[Queue]] = {}
        for queue in sorted(self._queues[cluster_id].tree, key=lambda one: one.name):
            if queue.level is not QueueLevel.ALIAS or queue.parent is None:
                continue
            if self._viewer.sees(cluster_id, queue.meta.ref.namespace):
                found.setdefault(queue.parent, []).append(queue)
        return found

    def lost(self) -> Iterator[LostAlias]:
        """Yield the aliases that lead nowhere, where all queues are known."""
        for id_, cluster in self._clusters.items():
            for target, aliases in sorted(self._aliases(id_).items()):
                if not self.visibility.is_known(id_, Queue, target.group):
                    continue
                if self._queues[id_].tree.get(target) is None:
                    for ref in (one.meta.ref for one in aliases):
                        yield LostAlias(
                            cluster.cluster,
                            printable(ref.kind),
                            printable(ref.namespace),
                            printable(ref.name),
                            printable(target.kind),
                            printable(target.name),
                        )

    def rows(self, places: Sequence[QueuePlace], most: int) -> tuple[QueueRow, ...]:
        """Return queues as they are shown, with so many of the line of each."""
        lines = [self._line(place) for place in places]
        gangs = gangs_of_entries(
            (
                (place.cluster.cluster_id, entry)
                for place, line in zip(places, lines, strict=True)
                for entry in (line or ())[:most]
            ),
            viewer=self._viewer,
        )
        return tuple(
            self._row(place, line, gangs, most) for place, line in zip(places, lines, strict=True)
        )

    def holders(self, place: QueuePlace) -> tuple[tuple[PlaceRow, ...] | None, int]:
        """Return who has the quota of a queue, largest first, and how many more there are."""
        id_ = place.cluster.cluster_id
        if not self._knows_entries(place):
            return None, 0
        found = place.queues.holders(place.queue.name)
        found.sort(key=lambda one: (-_weight(one), one.meta.ref.uid))
        shown = found[:MOST_IN_LINE]
        gangs = gangs_of_entries(((id_, one) for one in shown), viewer=self._viewer)
        rows = place_rows(
            ((None, one) for one in shown), gangs, viewer=self._viewer, cluster_id=id_
        )
        return rows, len(found) - len(shown)

    def _line(self, place: QueuePlace) -> list[QueueEntry] | None:
        """Return who waits in a queue; None where it has no entries that can be looked at."""
        if not self._knows_entries(place):
            return None
        return place.queues.line(place.queue.name)

    def _knows_entries(self, place: QueuePlace) -> bool:
        """Whether all who wait in a queue are known: by their entries, in that of a scheduler by their groups."""
        id_, group = place.cluster.cluster_id, place.queue.meta.ref.group
        model = Group if group in scheduler_queues() else QueueEntry
        return self.visibility.is_known(id_, model, group)

    def _reached_by(self, place: QueuePlace) -> str:
        """Return who may use a queue that no alias leads to, as far as that is known."""
        group = place.queue.meta.ref.group
        words = queue_words(group)
        if words.open_to or _aliases(place):
            return words.open_to
        if not self.visibility.is_known(place.cluster.cluster_id, Queue, group):
            return "Which namespaces can use it is not known: what leads to it cannot be read."
        return words.no_alias

    def _row(
        self, place: QueuePlace, line: list[QueueEntry] | None, gangs: Gangs, most: int
    ) -> QueueRow:
        id_, queue, ref = place.cluster.cluster_id, place.queue, place.queue.meta.ref
        sharing = place.queues.sharing(queue)
        knows_flavors = self.visibility.is_known(id_, Flavor, ref.group)
        in_line = sum(one.stands_in_line for one in line or ())
        is_of_scheduler = ref.group in scheduler_queues()
        users = place.queues.users(queue.name)
        return QueueRow(
            id=f"{place.cluster.cluster}~{ref.uid}",
            cluster=place.cluster.cluster,
            system=system_label(ref.group),
            api_group=printable(ref.group),
            api_version=printable(queue.meta.api_version),
            kind=printable(ref.kind),
            name=printable(ref.name),
            uid=ref.uid,
            shared=place.shared,
            shared_kind=printable(queue.parent.kind) if place.shared and queue.parent else "",
            shares_with=sum(one.level is QueueLevel.QUEUE for one in sharing) - 1,
            face=place.face,
            cause=printable(sentence(place.cause[:1].upper() + place.cause[1:])),
            advice=printable(queue.advice),
            quotas=quota_rows(
                queue,
                sharing if self.visibility.is_known(id_, Queue, ref.group) else None,
                self._flavors.get(id_, ()) if knows_flavors else None,
            ),
            is_quota_overridden=queue.is_quota_overridden,
            pending=queue.pending,
            reserving=queue.reserving,
            admitted=queue.admitted,
            line=None if line is None else self._places(place, line, gangs, most),
            in_line=None if line is None else in_line,
            kept_out=None if line is None else len(line) - in_line,
            waiting=(None if line is None else len(line)) if is_of_scheduler else queue.pending,
            placed=len(place.queues.holders(queue.name))
            if is_of_scheduler and line is not None
            else None,
            unknown=place.queues.unknown(queue.name),
            namespaces=tuple(
                NamespaceRow(printable(name), users[name]) for name in place.namespaces
            ),
            namespaces_hidden=len(users) - len(place.namespaces),
            reached_by=self._reached_by(place),
            terms=term_rows(queue.terms),
            tells_places=tells_places(queue),
            order=order_sentences(queue, place.aliases),
            aliases=tuple(map(alias_row, place.aliases)),
            aliases_hidden=_aliases(place) - len(place.aliases),
            stale=place.cluster.is_stale or self.visibility.is_stale(id_, ref.group),
        )

    def _places(
        self, place: QueuePlace, line: list[QueueEntry], gangs: Gangs, most: int
    ) -> tuple[PlaceRow, ...]:
        tells = tells_places(place.queue)
        shown = (
            (index if tells and one.stands_in_line else None, one)
            for index, one in enumerate(line[:most], start=1)
        )
        id_ = place.cluster.cluster_id
        rows = place_rows(shown, gangs, viewer=self._viewer, cluster_id=id_)
        if rows and rows[0].position == 1:
            why = why_first([one for one in line if one.stands_in_line])
            rows = (replace(rows[0], why=why), *rows[1:])
        return rows


def _aliases(place: QueuePlace) -> int:
    """Return how many aliases a queue has, whoever may see them."""
    named_by = place.queues.tree.named_by(place.queue.name)
    return sum(one.level is QueueLevel.ALIAS for one in named_by)


def _flavor_names(clusters: Iterable[int]) -> dict[int, set[str]]:
    """Return the names of the flavors that there are (1 query)."""
    keys = [resource.key for resource in registry.queue_resources(Flavor)]
    rows = WatchedObject.objects.filter(cluster_id__in=list(clusters), resource__in=keys)
    found: dict[int, set[str]] = {}
    for id_, name in rows.values_list("cluster_id", "name"):
        found.setdefault(id_, set()).add(name)
    return found
