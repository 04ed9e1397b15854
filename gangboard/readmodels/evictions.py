"""Evictions of gangs that a viewer may see: one by one, and how often one gang lost its place lately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from gangboard.domain.eviction import EvictionCode
from gangboard.domain.objects import ObjectRef
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.formatting import duration_text, printable
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.redaction import placeholder
from gangboard.store.access import Viewer
from gangboard.store.models import Eviction

THRASH_TIMES = 3
"""Evictions within THRASH_PERIOD from which a gang makes hardly any progress."""
THRASH_PERIOD = timedelta(hours=2)
MOST_OF_GANG = 20
"""Newest evictions of a gang that its page lists."""
LABELS: Mapping[str, str] = {
    EvictionCode.PREEMPTED: "Preempted",
    EvictionCode.EVICTED: "Evicted",
    EvictionCode.REQUEUED: "Requeued",
}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionRow:
    """One time at which a gang lost its place."""

    at: datetime = shown("When")
    code: str = shown(
        "What",
        "`preempted`: another gang got the place. `evicted`: its pods had to leave. `requeued`: its queue took the admission back.",
        choices=EvictionCode,
    )
    reason: str = shown(
        "Reason", "In the words of the controller; null if it gave none.", empty_is_null=True
    )
    cluster: str = shown("Cluster")
    namespace: str = shown("Namespace")
    kind: str = shown("Kind")
    name: str = shown("Name")
    gang: str = shown("Gang", "Id of the gang, which may be deleted.")
    queue: str = shown("Queue", "Null if it named none.", empty_is_null=True)
    accelerators: float = shown(
        "Accelerators", "Accelerators that the gang requests.", is_quantity=True
    )
    taker: str = shown(
        "By",
        "The gang that got the place, as NAMESPACE/NAME. Null if it is unknown.",
        empty_is_null=True,
    )
    taker_kind: str = shown(
        "Kind of the taker", "Null if it is unknown or hidden.", empty_is_null=True
    )

    @property
    def label(self) -> str:
        """What happened, in a word."""
        return LABELS.get(self.code, printable(self.code))


@dataclass(frozen=True, slots=True, kw_only=True)
class GangEvictions:
    """How often a gang lost its place."""

    json_name: ClassVar = "GangEvictions"
    count: int = shown("Count", "Evictions of the gang that are stored.")
    lately: int = shown("Lately", "Evictions in the two hours before the last one, with it.")
    sentence: str = shown(
        "Sentence",
        "Whether the gang loses its place again and again. Null if it does not.",
        empty_is_null=True,
    )
    last: tuple[EvictionRow, ...] = shown("Last", "The newest evictions, the newest first.")


NO_EVICTIONS = GangEvictions(count=0, lately=0, sentence="", last=())


def read_gang_evictions(
    *, viewer: Viewer, gang_id: str, cluster: Freshness, now: datetime
) -> GangEvictions:
    """Return the evictions of a gang (at most 2 queries)."""
    rows = Eviction.objects.filter(
        viewer.gang_filter(), gang_id=gang_id, cluster_id=cluster.cluster_id
    )
    newest = list(rows.order_by("-at", "-pk")[:MOST_OF_GANG])
    count = rows.count() if len(newest) == MOST_OF_GANG else len(newest)
    times = [row.at for row in newest]
    lately = [at for at in times if times[0] - at <= THRASH_PERIOD]
    return GangEvictions(
        count=count,
        lately=len(lately),
        sentence=thrash_sentence(newest, now),
        last=tuple(eviction_row(row, viewer=viewer, cluster=cluster.cluster) for row in newest),
    )


def thrash_sentence(newest: Sequence[Eviction], now: datetime) -> str:
    """Return `Preempted for the third time in 1 h 40 min.`, or an empty text.

    `newest` are the evictions of one gang, the newest first. The sentence needs THRASH_TIMES of them in
    THRASH_PERIOD, and holds for as long after the last one.
    """
    lately = [row for row in newest if newest[0].at - row.at <= THRASH_PERIOD]
    if len(lately) < THRASH_TIMES or now - lately[0].at > THRASH_PERIOD:
        return ""
    words = {LABELS.get(row.code, "Evicted") for row in lately}
    word = words.pop() if len(words) == 1 else "Lost its place"
    number = len(lately)
    ordinal = _ORDINALS[number - 1] if number <= len(_ORDINALS) else f"{number}th"
    return f"{word} for the {ordinal} time in {duration_text(lately[0].at - lately[-1].at)}."


def eviction_row(row: Eviction, *, viewer: Viewer, cluster: str) -> EvictionRow:
    """Return a stored eviction as the viewer may see it. The name of a hidden taker is left out."""
    taker = taker_text(row, viewer=viewer)
    may_name = viewer.sees(row.cluster_id, row.taker_namespace)
    return EvictionRow(
        at=row.at,
        code=row.code,
        reason=printable(row.reason),
        cluster=cluster,
        namespace=printable(row.namespace),
        kind=printable(row.kind),
        name=printable(row.name),
        gang=row.gang_id,
        queue=printable(row.queue),
        accelerators=row.accelerators,
        taker=taker,
        taker_kind=printable(row.taker_kind) if may_name else "",
    )


def taker_text(row: Eviction, *, viewer: Viewer) -> str:
    """Return the gang that got the place, the words for a hidden gang, or an empty text if it is unknown."""
    if not row.taker_name:
        return ""
    taker = ObjectRef(
        row.taker_group, row.taker_kind, row.taker_namespace, row.taker_name, row.taker_uid
    )
    if not viewer.sees(row.cluster_id, taker.namespace):
        return placeholder(taker)
    return printable(f"{taker.namespace}/{taker.name}")
