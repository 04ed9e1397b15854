"""Batches of actions that were confirmed together, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from gangboard.actions.requests import RequestResult
from gangboard.pages.core.actions import Undo, undo_of
from gangboard.readmodels.action_rows import ActionRow
from gangboard.readmodels.actions import action_row, make_row, with_ends
from gangboard.readmodels.formatting import printable
from gangboard.store.access import Viewer
from gangboard.store.models import Action


@dataclass(frozen=True, slots=True)
class BatchRow:
    """Actions that were confirmed together, in the order of their requests."""

    batch: str
    rows: tuple[ActionRow, ...]
    stoppable: int
    """Number of actions that are not sent yet and that the viewer may stop."""

    @property
    def unsent(self) -> int:
        """Number of actions that are not sent yet."""
        return sum(row.is_unsent for row in self.rows)

    @property
    def nothing_to_stop(self) -> str:
        """The sentence for a batch without an action that can be stopped."""
        sent = sum(row.sent_at is not None for row in self.rows)
        ended = sum(row.sent_at is None and row.is_final for row in self.rows)
        counts = (
            (sent, "had been sent already"),
            (ended, "had ended before"),
            (len(self.rows) - sent - ended, "had been stopped before"),
        )
        texts = [f"{count} {text}" for count, text in counts if count]
        return f"Nothing was left to stop: {', '.join(texts)}."


@dataclass(frozen=True, slots=True)
class RejectedTarget:
    """An object of a confirmation whose request was refused."""

    name: str
    why: str
    action_id: str = ""
    """Id of the open action that blocks the request, or empty."""

    @classmethod
    def of(cls, result: RequestResult) -> Self:
        """Return the object of a refused request with sanitized texts."""
        target = result.target
        name = printable(f"{target.kind} {target.name}")
        return cls(name, printable(result.refused), result.action_id)


@dataclass(frozen=True, slots=True)
class ProgressEnd:
    """The common result of actions that a dialog or page follows."""

    total: int
    over: bool
    watched_until: datetime | None
    """When the last watch ends. None if an open action is not applied yet."""
    undo: Undo | None

    @classmethod
    def of(cls, rows: Sequence[ActionRow], *, viewer: Viewer) -> Self:
        """Return the common result of these actions."""
        times = [row.watched_until for row in rows if not row.is_final]
        known = [time for time in times if time is not None]
        watched = max(known) if known and len(known) == len(times) else None
        return cls(len(rows), bool(rows) and not times, watched, undo_of(rows, viewer=viewer))


def read_batch(*, viewer: Viewer, batch: str) -> BatchRow | None:
    """Return a batch, or None if the viewer may see no action of it (at most 3 queries)."""
    if not batch or "\x00" in batch:
        return None
    visible = Action.objects.filter(viewer.gang_filter(), batch=batch)
    actions = list(visible.order_by("requested_at", "id").prefetch_related("steps"))
    rows = with_ends(viewer, map(make_row, actions))
    stoppable = sum(
        row.is_unsent
        and action.cluster_id is not None
        and viewer.may_stop(action.cluster_id, action.namespace, asked_by=action.user_id)
        for action, row in zip(actions, rows, strict=True)
    )
    return BatchRow(batch, rows, stoppable) if rows else None


def read_followed(viewer: Viewer, batch: str, action_ids: Sequence[str]) -> BatchRow:
    """Return the actions that a dialog follows: those of the batch, or else those with these ids."""
    if batch:
        return read_batch(viewer=viewer, batch=batch) or BatchRow(batch, (), 0)
    rows = (action_row(viewer=viewer, action_id=id_) for id_ in action_ids)
    return BatchRow("", tuple(row for row in rows if row is not None), 0)
