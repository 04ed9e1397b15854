"""Rows of queue entries: their gang, position and message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from gangboard.diagnosis.scheduler_queues import scheduler_queues
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import FlavorAmount
from gangboard.domain.resources import decimal_text
from gangboard.domain.text import sentence
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.formatting import amount_text, printable
from gangboard.readmodels.group_gangs import GangName, find_owner_gangs
from gangboard.store.access import Viewer
from gangboard.store.uid_lookups import Reference

HIDDEN = "a gang you may not see"
Gangs = Mapping[tuple[int, str], GangName]
"""Cluster id and uid of an entry → its gang."""


@dataclass(frozen=True, slots=True)
class AmountRow:
    """So much of a resource; of a flavor where that is decided."""

    json_name: ClassVar = "FlavorAmount"
    flavor: str = shown("Flavor", empty_is_null=True)
    resource: str = shown("Resource")
    exact: str = shown("Amount", api_name="amount")
    """In base units."""

    @property
    def text(self) -> str:
        """The amount with its unit: `8 GPUs`."""
        return amount_text(self.resource, self.exact)


class HasPriority:
    """A row of an entry that its system ranks by a priority."""

    __slots__ = ()
    priority: int | None
    priority_class: str

    @property
    def priority_text(self) -> str:
        """`priority 5`, `priority class train` if only the class is known, or an empty text."""
        if self.priority is not None:
            return f"priority {self.priority:,}"
        return f"priority class {self.priority_class}" if self.priority_class else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceRow(HasPriority):
    """One entry that waits in a queue, or that has its quota."""

    position: int | None = shown(
        "Place",
        "1 is first, computed by gangboard from all entries. Null if it is not in line, or if the order is unknown.",
    )
    gang: GangName | None = shown("Gang", "Null when the caller may see none.")
    name: str = shown(
        "Name",
        "Name of the gang, or else of the entry. A placeholder if the caller may not see it.",
    )
    namespace: str = shown("Namespace", "Null if the caller may not see it.", empty_is_null=True)
    priority: int | None = shown(
        "Priority", "Null if only `priority_class` is known, because its value is not read."
    )
    priority_class: str = shown("Priority class", empty_is_null=True, default="")
    since: datetime | None = shown(
        "In line for", "Entries of the same priority are in line by this time."
    )
    amounts: tuple[AmountRow, ...] = shown("Requests", "What it requests, or holds.")
    message: str = shown("Message", "Why it is not eligible.", empty_is_null=True)
    why: str = shown("Why first", "Of the first: why it is first.", empty_is_null=True, default="")

    @property
    def is_hidden(self) -> bool:
        """Whether the viewer may not see its gang."""
        return not self.namespace


def gangs_of_entries(entries: Iterable[tuple[int, QueueEntry]], *, viewer: Viewer) -> Gangs:
    """Return the gangs of entries, which are pairs of a cluster id and an entry (2 queries per level of owners)."""
    return find_owner_gangs(
        {
            (cluster_id, ref.uid): {Reference(cluster_id, ref.namespace, uid) for uid in uids}
            for cluster_id, entry in entries
            if (uids := _first_uids(entry))
            and viewer.sees(cluster_id, (ref := entry.meta.ref).namespace)
        },
        viewer=viewer,
    )


def _first_uids(entry: QueueEntry) -> tuple[str, ...]:
    """Return the uids at which the search for the gang of an entry begins.

    Pods that are admitted together are a gang of their own, or belong to the gang of their owner.
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
        _place_row(
            position,
            entry,
            gangs.get((cluster_id, entry.meta.ref.uid)),
            is_visible=viewer.sees(cluster_id, entry.meta.ref.namespace),
        )
        for position, entry in entries
    )


def _place_row(
    position: int | None, entry: QueueEntry, gang: GangName | None, *, is_visible: bool
) -> PlaceRow:
    ref = entry.meta.ref
    message = entry.message.cause if entry.message is not None else ""
    return PlaceRow(
        position=position,
        name=(gang.name if gang is not None else printable(ref.name)) if is_visible else HIDDEN,
        namespace=printable(ref.namespace) if is_visible else "",
        gang=gang,
        priority=priority_of(entry),
        priority_class=printable(entry.priority_class),
        since=entry.in_line_since,
        amounts=amount_rows(entry.holds if entry.has_quota else entry.asks),
        message=printable(sentence(message[:1].upper() + message[1:])) if is_visible else "",
    )


def priority_of(entry: QueueEntry) -> int | None:
    """Return the priority of an entry, or None if only the name of its class is read, as in a scheduler's queue."""
    return None if entry.meta.ref.group in scheduler_queues() else entry.priority


def amount_rows(amounts: Iterable[FlavorAmount]) -> tuple[AmountRow, ...]:
    """Return amounts as rows, in their order."""
    return tuple(
        AmountRow(printable(amount.flavor), printable(amount.resource), decimal_text(amount.amount))
        for amount in amounts
    )
