"""One entry in a line as a viewer is shown it: whose it is, in which place, and why there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from gangboard.diagnosis.scheduler_queues import scheduler_queues
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import FlavorAmount
from gangboard.domain.resource_units import decimal_text
from gangboard.domain.text import sentence
from gangboard.readmodels.group_gangs import GangName, gangs_above
from gangboard.readmodels.printable import printable
from gangboard.readmodels.quantities import amount_text
from gangboard.store.access import Viewer
from gangboard.store.uid_lookups import Reference

HIDDEN = "a gang you may not see"


@dataclass(frozen=True, slots=True)
class AmountRow:
    """So much of a resource; of a flavor where that is decided."""

    flavor: str
    resource: str
    exact: str
    """In base units."""

    @property
    def text(self) -> str:
        """As a person reads it: `8 GPUs`."""
        return amount_text(self.resource, self.exact)


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """One entry that waits, or that has quota."""

    position: int | None
    """1 for the first; None for who stands in no line, and where the order cannot be told."""
    name: str
    """Of the gang, else of the entry; a placeholder where the viewer may not see it."""
    namespace: str
    """Empty where the viewer may not see it."""
    gang: GangName | None
    """None where the viewer may see none."""
    priority: int | None
    """None where only the class is known, whose value is not read."""
    since: datetime | None
    """Since when it stands in line, as far as that decides its place."""
    amounts: tuple[AmountRow, ...]
    """What it asks for, or has."""
    message: str
    """What keeps it, or empty."""
    why: str = ""
    """Why it stands where it stands, of the first."""
    priority_class: str = ""
    """Name of its PriorityClass, where `priority` is None; empty for none."""

    @property
    def is_hidden(self) -> bool:
        """Whether the viewer may not know whose it is."""
        return not self.namespace


Gangs = Mapping[tuple[int, str], GangName]
"""Cluster id and uid of an entry → the gang that it is about."""


def gangs_of_entries(entries: Iterable[tuple[int, QueueEntry]], *, viewer: Viewer) -> Gangs:
    """Return the gangs of entries, each with the id of its cluster (2 queries a generation of owners)."""
    return gangs_above(
        {
            (cluster_id, ref.uid): {Reference(cluster_id, ref.namespace, uid) for uid in about}
            for cluster_id, entry in entries
            if (about := _about(entry))
            and viewer.sees(cluster_id, (ref := entry.meta.ref).namespace)
        },
        viewer=viewer,
    )


def is_ranked_by_class(entry: QueueEntry) -> bool:
    """Whether it waits in a queue of a scheduler: that goes by the PriorityClass of its group."""
    return entry.meta.ref.group in scheduler_queues()


def _about(entry: QueueEntry) -> tuple[str, ...]:
    """Return the uids that the search for the gang of an entry begins with.

    Pods that are admitted together are a gang by that name, or are in that of their owner: each tells the same.
    """
    if entry.group_pods:
        return entry.meta.ref.uid, *entry.meta.owner_uids[:1]
    return (entry.owner_uid,) if entry.owner_uid else ()


def place_rows(
    entries: Iterable[tuple[int | None, QueueEntry]],
    gangs: Gangs,
    *,
    viewer: Viewer,
    cluster_id: int,
) -> tuple[PlaceRow, ...]:
    """Return entries of one cluster with their positions as rows."""
    return tuple(
        _row(
            position,
            entry,
            gangs.get((cluster_id, entry.meta.ref.uid)),
            is_visible=viewer.sees(cluster_id, entry.meta.ref.namespace),
        )
        for position, entry in entries
    )


def _row(
    position: int | None, entry: QueueEntry, gang: GangName | None, *, is_visible: bool
) -> PlaceRow:
    ref = entry.meta.ref
    message = entry.message.cause if entry.message is not None else ""
    return PlaceRow(
        position=position,
        name=(gang.name if gang is not None else printable(ref.name)) if is_visible else HIDDEN,
        namespace=printable(ref.namespace) if is_visible else "",
        gang=gang,
        priority=None if is_ranked_by_class(entry) else entry.priority,
        priority_class=printable(entry.priority_class),
        since=entry.in_line_since,
        amounts=amount_rows(entry.holds if entry.has_quota else entry.asks),
        message=printable(sentence(message[:1].upper() + message[1:])) if is_visible else "",
    )


def amount_rows(amounts: Iterable[FlavorAmount]) -> tuple[AmountRow, ...]:
    """Return amounts as rows, in their order."""
    return tuple(
        AmountRow(printable(one.flavor), printable(one.resource), decimal_text(one.amount))
        for one in amounts
    )


def why_first(line: Sequence[QueueEntry]) -> str:
    """Return why the first of those who stand in line is first; empty where nobody does."""
    if not line:
        return ""
    first, *rest = line
    if not rest:
        return "Nobody else stands in line."
    second = rest[0]
    if first.priority > second.priority:
        return f"Its priority is the highest: {first.priority:,}, the next has {second.priority:,}."
    if first.in_line_since != second.in_line_since:
        return f"Of those with priority {first.priority:,} it has stood in line for longest."
    return f"Of those with priority {first.priority:,} and its time its uid comes first."
