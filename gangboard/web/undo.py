"""The way back from actions that did what was asked: the confirmation of the other verb."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.urls import reverse

from gangboard.domain.action import Verb
from gangboard.readmodels.action_labels import shared_label, undo_label
from gangboard.readmodels.action_rows import ActionRow
from gangboard.web.forms import write_target


@dataclass(frozen=True, slots=True)
class Undo:
    """A link to the confirmation that undoes some actions."""

    address: str
    label: str
    """The word of the button that undoes them: `Resume`, `Release`; the verb where they differ in it."""
    what: str
    """The object, or how many there are."""


def undo_of(rows: Sequence[ActionRow]) -> Undo | None:
    """Return the way back from those actions that are in force; None while one is not over, and if none is in force.

    All of them have the same verb: they were confirmed together.
    """
    done = [row for row in rows if row.went_well and row.ended is None]
    if not done or not all(row.is_final for row in rows):
        return None
    verb = Verb.RESUME if done[0].verb == Verb.SUSPEND else Verb.SUSPEND
    # The action itself has moved the generation on.
    targets = [("target", write_target(replace(row, generation=None))) for row in done]
    gangs = {row.gang_id for row in done}
    gang = [("gang", gangs.pop())] if len(gangs) == 1 else []
    query = urlencode([("verb", verb.value), *targets, *(pair for pair in gang if pair[1])])
    one = done[0]
    what = f"{one.kind} {one.name}" if len(done) == 1 else f"all {len(done)}"
    label = shared_label(verb, (undo_label(row.lever, row.button, verb) for row in done))
    return Undo(f"{reverse('confirm')}?{query}", label, what)
