"""Verdicts of a gang and actions on it in the order of time, with the nodes of its pods before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.action import ActionState, Verb
from gangboard.domain.health import Health, Stage
from gangboard.readmodels.action_rows import ActionRow
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.formatting import duration_text
from gangboard.readmodels.outages import OutageRow
from gangboard.readmodels.state_labels import Face, face_of
from gangboard.readmodels.verdict_spans import SpanRow

MOST_NODES = 8
"""Nodes that one sentence names."""

Places = Mapping[tuple[str, str], tuple[str, ...]]
"""(kind, name) → nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRow:
    """One thing that was said of the gang or done to it."""

    at: datetime = shown(
        "When", "When the verdict or the outage began, or the action came to its end."
    )
    until: datetime | None = shown(
        "Until", "When it ended; null: it goes on. Null for an action.", default=None
    )
    kind: str = shown("Kind", "`verdict`, `action`, or `cluster`: nothing was seen of its cluster.")
    health: str = shown("Health", "Of a verdict.", choices=Health, empty_is_null=True, default="")
    stage: str = shown("Stage", "Of a verdict.", choices=Stage, empty_is_null=True, default="")
    code: str = shown("Code", "Of a verdict.", empty_is_null=True, default="")
    title: str = shown("What")
    """`Held Job train-w-1`; of a verdict its title; `Cluster prod could not be read`."""
    message: str = shown(
        "How",
        "The sentence of the verdict as it was first; how the action ended, "
        "and where its pods were before and are now.",
    )
    actor: str = shown("By", "Of an action.", empty_is_null=True, default="")
    action_id: str = shown(
        "Action", "Id of the action.", api_name="action", empty_is_null=True, default=""
    )
    face: Face
    row: ActionRow | None = None
    """The action."""
    last: bool = False
    """The gang was deleted at the end of it."""

    @property
    def duration(self) -> str:
        """How long a verdict or an outage lasted that is over."""
        return duration_text(self.until - self.at) if self.until is not None else ""


def make_timeline(
    history: tuple[ActionRow, ...],
    places: Places,
    spans: tuple[SpanRow, ...] = (),
    outages: tuple[OutageRow, ...] = (),
) -> tuple[TimelineRow, ...]:
    """Return the entries, the newest first.

    `history` are the gang's actions, `spans` its verdicts, `outages` those of its cluster, each the
    newest first. `places`: the nodes that the
    pods of the owner and of each Job are on now. Where a Job came up after a resume is known from the next
    action on it, which looked before it acted; after the last one, from now.
    """
    entries = [*(_unseen(outage) for outage in outages), *(_said(span) for span in spans)]
    later: dict[tuple[str, str], tuple[str, ...]] = {}
    earlier = _places_before(history)
    for row in history:
        # A restart makes the Job anew with another uid: its name is what stays.
        key = (row.kind, row.name)
        after = later.get(key, places.get(key, ()))
        where = _where(row, earlier.get(row.id, ()), after)
        message = " ".join(filter(None, (row.message, where)))
        title = f"{row.label} {row.kind} {row.name}"
        time = row.finished_at or row.sent_at or row.requested_at
        entries.append(
            TimelineRow(
                at=time,
                kind="action",
                title=title,
                message=message,
                face=row.face,
                actor=row.actor,
                action_id=row.id,
                row=row,
            )
        )
        later[key] = row.nodes
    if not spans:
        return tuple(entries)
    return tuple(sorted(entries, key=lambda entry: entry.at, reverse=True))


def _unseen(outage: OutageRow) -> TimelineRow:
    return TimelineRow(
        at=outage.began_at,
        kind="cluster",
        title=outage.title,
        message=outage.message,
        face=face_of(Health.UNKNOWN),
        until=outage.ended_at,
    )


def _said(span: SpanRow) -> TimelineRow:
    return TimelineRow(
        at=span.began_at,
        kind="verdict",
        title=span.title,
        message=span.message,
        face=span.face,
        until=span.ended_at,
        health=span.health,
        stage=span.stage,
        code=span.code,
        last=span.last,
    )


def _places_before(history: tuple[ActionRow, ...]) -> dict[str, tuple[str, ...]]:
    """Return, for each resume, the nodes that the Job was on before it was suspended."""
    places: dict[str, tuple[str, ...]] = {}
    last: dict[tuple[str, str], tuple[str, ...]] = {}
    for row in reversed(history):
        key = (row.kind, row.name)
        if row.verb == Verb.RESUME:
            places[row.id] = last.get(key, ())
        elif row.nodes:
            last[key] = row.nodes
    return places


def _where(row: ActionRow, before: tuple[str, ...], after: tuple[str, ...]) -> str:
    if row.state != ActionState.VERIFIED:
        return ""
    if row.verb == Verb.SUSPEND:
        return f"It was on {_names(row.nodes)}." if row.nodes else ""
    if before and after:
        same = "again " if set(before) == set(after) else ""
        return f"It was on {_names(before)}; it came up {same}on {_names(after)}."
    return f"It came up on {_names(after)}." if after else ""


def _names(nodes: tuple[str, ...]) -> str:
    shown = ", ".join(nodes[:MOST_NODES])
    more = len(nodes) - MOST_NODES
    return f"{shown} and {more} more" if more > 0 else shown
