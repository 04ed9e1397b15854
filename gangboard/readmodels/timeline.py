"""What was said of a gang and done to it, in the order of time, with where its pods were before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.action import ActionState, Verb
from gangboard.domain.health import Health
from gangboard.readmodels.action_rows import ActionRow
from gangboard.readmodels.ages import duration_text
from gangboard.readmodels.outages import OutageRow
from gangboard.readmodels.state_labels import Face, face_of
from gangboard.readmodels.verdict_spans import SpanRow

MOST_NODES = 8
"""Nodes that one sentence names."""

Places = Mapping[tuple[str, str], tuple[str, ...]]
"""(kind, name) → nodes."""


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One entry: a verdict, an action that came to an end or is under way, or an outage."""

    at: datetime
    kind: str
    """`verdict`, `action`, or `cluster`: in that time nothing was seen of its cluster."""
    title: str
    """`Held Job train-w-1`; of a verdict its title; `Cluster prod could not be read`."""
    message: str
    """How the action ended, and where its pods were and are; the sentence of a verdict."""
    face: Face
    actor: str = ""
    action_id: str = ""
    row: ActionRow | None = None
    """The action."""
    until: datetime | None = None
    """When the verdict or the outage ended; None while it goes on."""
    health: str = ""
    stage: str = ""
    code: str = ""
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
    entries = [*(_unseen(one) for one in outages), *(_said(span) for span in spans)]
    later: dict[tuple[str, str], tuple[str, ...]] = {}
    earlier = _places_before(history)
    for row in history:
        # A restart makes the Job anew with another uid: its name is what stays.
        key = (row.kind, row.name)
        after = later.get(key, places.get(key, ()))
        where = _where(row, earlier.get(row.id, ()), after)
        message = " ".join(filter(None, (row.message, where)))
        title = f"{row.label} {row.kind} {row.name}"
        at = row.finished_at or row.sent_at or row.requested_at
        entries.append(TimelineRow(at, "action", title, message, row.face, row.actor, row.id, row))
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
    found: dict[str, tuple[str, ...]] = {}
    last: dict[tuple[str, str], tuple[str, ...]] = {}
    for row in reversed(history):
        key = (row.kind, row.name)
        if row.verb == Verb.RESUME:
            found[row.id] = last.get(key, ())
        elif row.nodes:
            last[key] = row.nodes
    return found


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
