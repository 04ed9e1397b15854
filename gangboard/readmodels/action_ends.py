"""What put an end to suspends that went well: the next resume of the same object, by whom and when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from gangboard.domain.action import ActionState, Verb
from gangboard.readmodels.action_rows import ActionEnd, ActionRow
from gangboard.readmodels.printable import printable
from gangboard.readmodels.state_labels import Face
from gangboard.store.access import Viewer
from gangboard.store.models import Action

_DONE = (ActionState.APPLIED, ActionState.VERIFIED)


def with_ends(viewer: Viewer, rows: Iterable[ActionRow]) -> tuple[ActionRow, ...]:
    """Return the rows, those of suspends that were resumed since with that (1 query, none without suspends)."""
    every = tuple(rows)
    stopped = [row for row in every if row.verb == Verb.SUSPEND and row.state in _DONE]
    if not stopped:
        return every
    ends: dict[tuple[str, str], list[ActionEnd]] = {}
    resumes = Action.objects.filter(
        viewer.gang_filter(),
        uid__in={row.uid for row in stopped},
        verb=Verb.RESUME,
        state__in=_DONE,
    ).order_by("requested_at", "id")
    for resume in resumes:
        at = resume.applied_at or resume.finished_at or resume.requested_at
        end = ActionEnd(printable(resume.actor_name), at, resume.pk)
        ends.setdefault((resume.cluster_name, resume.uid), []).append(end)
    return tuple(_with_end(row, ends.get((row.cluster, row.uid), ())) for row in every)


def _with_end(row: ActionRow, ends: Iterable[ActionEnd]) -> ActionRow:
    if row.verb != Verb.SUSPEND or row.state not in _DONE:
        return row
    end = next((one for one in ends if one.at >= _began(row)), None)
    if end is None:
        return row
    seconds = (end.at - _began(row)).total_seconds()
    was = Face(row.face.word, f"Was {row.face.label.lower()}", "–", "unknown")
    return replace(row, face=was, ended=replace(end, after_seconds=seconds))


def _began(row: ActionRow) -> datetime:
    return row.applied_at or row.sent_at or row.requested_at
