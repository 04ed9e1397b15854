"""Verdicts of a gang and actions on it by time, with the nodes of its pods before and after."""

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
"""Maximum number of nodes in one sentence."""

NodesByObject = Mapping[tuple[str, str], tuple[str, ...]]
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
    """Whether the gang was deleted at its end."""

    @property
    def duration(self) -> str:
        """The duration of a verdict or outage. Empty if it is not over."""
        return duration_text(self.until - self.at) if self.until is not None else ""


def make_timeline(
    history: tuple[ActionRow, ...],
    nodes: NodesByObject,
    spans: tuple[SpanRow, ...] = (),
    outages: tuple[OutageRow, ...] = (),
) -> tuple[TimelineRow, ...]:
    """Return the entries, the newest first.

    `history` are the gang's actions, `spans` its verdicts and `outages` those of its cluster, each with the
    newest first. `nodes` has the current nodes of the owner and of each Job. The next action on a Job has
    recorded the nodes on which the Job started after a resume. For the last action, `nodes` has them.
    """
    entries = [*map(_outage_entry, outages), *map(_verdict_entry, spans)]
    nodes_after: dict[tuple[str, str], tuple[str, ...]] = {}
    nodes_before = _nodes_before_resumes(history)
    for row in history:
        # A restart re-creates the Job with another uid, but with the same name.
        key = (row.kind, row.name)
        after = nodes_after.get(key, nodes.get(key, ()))
        nodes_sentence = _nodes_sentence(row, nodes_before.get(row.id, ()), after)
        message = " ".join(filter(None, (row.message, nodes_sentence)))
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
        nodes_after[key] = row.nodes
    if not spans:
        return tuple(entries)
    return tuple(sorted(entries, key=lambda entry: entry.at, reverse=True))


def _outage_entry(outage: OutageRow) -> TimelineRow:
    return TimelineRow(
        at=outage.began_at,
        kind="cluster",
        title=outage.title,
        message=outage.message,
        face=face_of(Health.UNKNOWN),
        until=outage.ended_at,
    )


def _verdict_entry(span: SpanRow) -> TimelineRow:
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


def _nodes_before_resumes(history: tuple[ActionRow, ...]) -> dict[str, tuple[str, ...]]:
    """Return the id of each resume → the nodes of the Job before it was suspended."""
    nodes: dict[str, tuple[str, ...]] = {}
    last: dict[tuple[str, str], tuple[str, ...]] = {}
    for row in reversed(history):
        key = (row.kind, row.name)
        if row.verb == Verb.RESUME:
            nodes[row.id] = last.get(key, ())
        elif row.nodes:
            last[key] = row.nodes
    return nodes


def _nodes_sentence(row: ActionRow, before: tuple[str, ...], after: tuple[str, ...]) -> str:
    if row.state != ActionState.VERIFIED:
        return ""
    if row.verb == Verb.RELOCATE:
        return ""  # Its own message names both places.
    if row.verb == Verb.SUSPEND:
        return f"It was on {_names(row.nodes)}." if row.nodes else ""
    if before and after:
        again = "again " if set(before) == set(after) else ""
        return f"It was on {_names(before)}; it came up {again}on {_names(after)}."
    return f"It came up on {_names(after)}." if after else ""


def _names(nodes: tuple[str, ...]) -> str:
    names = ", ".join(nodes[:MOST_NODES])
    omitted = len(nodes) - MOST_NODES
    return f"{names} and {omitted} more" if omitted > 0 else names
