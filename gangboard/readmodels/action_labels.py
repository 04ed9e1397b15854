"""The labels of actions: their states, levers and buttons, each written once."""

from __future__ import annotations

from collections.abc import Iterable

from gangboard.domain.action import ActionState, Verb
from gangboard.plugins import registry
from gangboard.readmodels.printable import printable
from gangboard.readmodels.state_labels import Face

_PLAIN: dict[str, tuple[str, str, str]] = {
    ActionState.REQUESTED: ("Requested", "◌", "starting"),
    ActionState.CHECKED: ("Checked", "◌", "starting"),
    ActionState.ARMED: ("Hold made, not proved yet", "◌", "starting"),
    ActionState.PROVED: ("Proved", "◌", "starting"),
    ActionState.SENT: ("Sent", "◌", "starting"),
    ActionState.REFUSED: ("Refused", "■", "blocked"),
    ActionState.CONFLICT: ("Not done: the object has changed", "■", "blocked"),
    ActionState.GONE: ("Not done: the object is gone", "–", "unknown"),
    ActionState.EXPIRED: ("Not sent in time", "■", "blocked"),
    ActionState.UNKNOWN: ("Outcome not known", "?", "unknown"),
    ActionState.FAILED: ("Failed", "✕", "failed"),
}
"""(label, icon, tone) of the states that are called the same for every verb and lever."""
_OTHERS = {
    ActionState.APPLIED: "Done, watching",
    ActionState.VERIFIED: "Done: held, suspended, resumed",
    ActionState.REVERTED: "Reverted",
}
"""Labels of the others, whatever was asked for."""


def state_label(state: ActionState) -> str:
    """Return the name of a state in a list of states; a row says it of its own verb and lever."""
    return _PLAIN[state][0] if state in _PLAIN else _OTHERS[state]


def lever_keys() -> tuple[str, ...]:
    """Return the keys of all levers, in the order of lists."""
    return tuple(lever.key for lever in registry.levers())


def lever_label(lever: str, *, forced: bool = False) -> str:
    """Return the name of a lever; a forced plain suspend is not called what nobody has seen."""
    found = registry.lever(lever)
    if found is None:
        return printable(lever)
    return found.forced_label if forced else found.label


def shared_label(verb: str, labels: Iterable[str]) -> str:
    """Return the word on a button for several objects: theirs if it is the same, else the verb."""
    words = set(labels)
    return words.pop() if len(words) == 1 else verb.capitalize()


def undo_label(lever: str, button: str, verb: str) -> str:
    """Return the word on the button that undoes an action, from its button; `verb` is the undoing one."""
    found = registry.lever(lever)
    return (found.undo_buttons.get(button) if found is not None else None) or verb.capitalize()


def action_face(
    state: str, verb: str, lever: str, *, reverted_by: str = "", only_released: bool = False
) -> Face:
    """Return the face of an action's state; a state from a newer release prints as unknown.

    `only_released`: the Hold was taken away and the Job stays suspended by its JobSet.
    """
    if state in _PLAIN:
        label, icon, tone = _PLAIN[state]
        return Face(state, label, icon, tone)
    if state == ActionState.REVERTED:
        by = f" by {printable(reverted_by)}" if reverted_by else ""
        return Face(state, f"Reverted{by}", "✕", "failed")
    if state not in (ActionState.APPLIED, ActionState.VERIFIED):
        return Face(state, printable(state).capitalize(), "?", "unknown")
    suspends = verb == Verb.SUSPEND
    label = _done_label(suspends, lever, state, only_released)
    if state == ActionState.APPLIED:
        return Face(state, f"{label}, watching", "◌", "starting")
    if suspends or only_released:
        return Face(state, label, "❚❚", "suspended")
    return Face(state, label, "●", "running")


def _done_label(suspends: bool, lever: str, state: str, only_released: bool) -> str:
    if not suspends:
        return "Released" if only_released else "Resumed"
    found = registry.lever(lever)
    if found is None:
        return "Suspended"
    # `Held` is said only when it was watched and has held.
    return found.applied if state == ActionState.APPLIED else found.done
