"""Tabs of the Actions section, and the link that undoes actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.urls import reverse

from gangboard.domain.action import Verb
from gangboard.pages.core.forms import write_target
from gangboard.pages.core.layout import NavigationItem
from gangboard.readmodels.action_labels import shared_label, undo_label
from gangboard.readmodels.action_rows import ActionRow
from gangboard.readmodels.actions import existing_objects
from gangboard.store.access import Viewer

_TABS = (("actions", "Record"), ("holds", "Holds"), ("audit", "Audit"))
"""(name of the address, label)."""


def tabs(current: str) -> tuple[NavigationItem, ...]:
    """Return the tabs of the section. `current` is the name of the address that is shown."""
    return tuple(
        NavigationItem(label, reverse(name), "page" if name == current else "")
        for name, label in _TABS
    )


@dataclass(frozen=True, slots=True)
class Undo:
    """A link to the confirmation that undoes some actions."""

    address: str
    label: str
    """The word of the undoing button: `Resume`, `Release`; the verb if the words differ."""
    subject: str
    """The object, or the number of objects."""


def undo_of(rows: Sequence[ActionRow], *, viewer: Viewer) -> Undo | None:
    """Return the link that undoes the actions in force whose objects still exist.

    There is no link without such an action, or while an action still runs. The actions were confirmed
    together, so they have the same verb.
    """
    done = [row for row in rows if row.went_well and row.ended is None]
    if not done or not all(row.is_final for row in rows):
        return None
    existing = existing_objects(done, viewer=viewer)
    done = [row for row in done if row.id in existing]
    if not done:
        return None
    if done[0].verb == Verb.RELOCATE:
        return _undo_relocation(done[0])
    verb = Verb.RESUME if done[0].verb == Verb.SUSPEND else Verb.SUSPEND
    # The action itself has moved the generation on.
    targets = [("target", write_target(replace(row.target, generation=None))) for row in done]
    gangs = {row.gang_id for row in done}
    gang = [("gang", gangs.pop())] if len(gangs) == 1 else []
    query = urlencode([("verb", verb.value), *targets, *(pair for pair in gang if pair[1])])
    first = done[0]
    subject = f"{first.kind} {first.name}" if len(done) == 1 else f"all {len(done)}"
    label = shared_label(verb, (undo_label(row.lever, row.button, verb) for row in done))
    return Undo(f"{reverse('confirm')}?{query}", label, subject)


def _undo_relocation(row: ActionRow) -> Undo | None:
    """Return the link that removes the exclusion, or None if the action itself has removed one."""
    if not row.avoid:
        return None
    pairs = [("verb", row.verb), ("target", write_target(replace(row.target, generation=None)))]
    pairs += [("avoid", "none"), *([("gang", row.gang_id)] if row.gang_id else [])]
    return Undo(
        f"{reverse('confirm')}?{urlencode(pairs)}", "Allow all nodes", f"{row.kind} {row.name}"
    )
