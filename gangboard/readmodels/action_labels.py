"""Labels of actions: states, steps, levers and buttons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gangboard.domain.action import ActionState, StepState, Verb
from gangboard.plugins import registry
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.state_labels import Face

_PLAIN: dict[str, tuple[str, str, str]] = {
    ActionState.REQUESTED: ("Requested", "◌", "starting"),
    ActionState.CHECKED: ("Checked", "◌", "starting"),
    ActionState.ARMED: ("Hold created, not proved yet", "◌", "starting"),
    ActionState.PROVED: ("Proved", "◌", "starting"),
    ActionState.SENT: ("Sent", "◌", "starting"),
    ActionState.REFUSED: ("Refused", "■", "blocked"),
    ActionState.CONFLICT: ("Not done: the object changed", "■", "blocked"),
    ActionState.GONE: ("Not done: the object is gone", "–", "unknown"),
    ActionState.EXPIRED: ("Not sent in time", "■", "blocked"),
    ActionState.UNKNOWN: ("Outcome unknown", "?", "unknown"),
    ActionState.FAILED: ("Failed", "✕", "failed"),
}
"""(label, icon, tone) of the states whose label is the same for every verb and lever."""
_OTHERS = {
    ActionState.APPLIED: "Done, watching",
    ActionState.VERIFIED: "Done: held, suspended, resumed, relocated",
    ActionState.REVERTED: "Reverted",
}
"""Labels of the other states in a list of states."""
_STEPS: dict[str, Face] = {
    StepState.PENDING: Face("pending", "not yet", "○", "none"),
    StepState.SENDING: Face("sending", "being sent", "◌", "starting"),
    StepState.DONE: Face("done", "done", "✓", "running"),
    StepState.FAILED: Face("failed", "failed", "✕", "failed"),
    StepState.UNKNOWN: Face("unknown", "outcome unknown", "?", "unknown"),
    StepState.SKIPPED: Face("skipped", "not needed", "–", "none"),
}
_NEVER_SENT = Face("pending", "never sent", "–", "none")


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence and the names of the objects it applies to. Without a name it applies to all."""

    text: str
    names: tuple[str, ...]


def state_label(state: ActionState) -> str:
    """Return the label of a state for a list of states. The label in a row depends on verb and lever."""
    return _PLAIN[state][0] if state in _PLAIN else _OTHERS[state]


def lever_keys() -> tuple[str, ...]:
    """Return the keys of all levers, in the order of lists."""
    return tuple(lever.key for lever in registry.levers())


def lever_label(lever: str, *, forced: bool = False) -> str:
    """Return the label of a lever. A forced action gets the label of a lever that was not proved."""
    known = registry.lever(lever)
    if known is None:
        return printable(lever)
    return known.forced_label if forced else known.label


def shared_label(verb: str, labels: Iterable[str]) -> str:
    """Return the label of a button for several objects: their common label, else the verb."""
    distinct = set(labels)
    return distinct.pop() if len(distinct) == 1 else verb.capitalize()


def notes(texts: Iterable[tuple[str, Sequence[str]]]) -> tuple[Note, ...]:
    """Return each sentence once with the names of its objects. `texts` are pairs of name and sentences."""
    names: dict[str, list[str]] = {}
    objects = 0
    for name, sentences in texts:
        objects += 1
        for text in dict.fromkeys(sentences):
            names.setdefault(text, []).append(name)
    return tuple(
        Note(text, () if len(named) == objects else tuple(named)) for text, named in names.items()
    )


def undo_label(lever: str, button: str, verb: str) -> str:
    """Return the label of the button that undoes an action. `verb` is the verb that undoes it."""
    known = registry.lever(lever)
    return (known.undo_buttons.get(button) if known is not None else None) or verb.capitalize()


def action_face(
    state: str, verb: str, lever: str, *, reverted_by: str = "", only_released: bool = False
) -> Face:
    """Return the face of an action's state. A state from a newer release is shown as unknown.

    `only_released`: the Hold was deleted, and the JobSet keeps the Job suspended.
    """
    if state in _PLAIN:
        label, icon, tone = _PLAIN[state]
        return Face(state, label, icon, tone)
    if state == ActionState.REVERTED:
        by = f" by {printable(reverted_by)}" if reverted_by else ""
        return Face(state, f"Reverted{by}", "✕", "failed")
    if state not in (ActionState.APPLIED, ActionState.VERIFIED):
        return Face(state, printable(state).capitalize(), "?", "unknown")
    if verb == Verb.RELOCATE:
        return _relocated_face(state, lever)
    suspends = verb == Verb.SUSPEND
    label = _done_label(suspends, lever, state, only_released)
    if state == ActionState.APPLIED:
        return Face(state, f"{label}, watching", "◌", "starting")
    if suspends or only_released:
        return Face(state, label, "❚❚", "suspended")
    return Face(state, label, "●", "running")


def _relocated_face(state: str, lever: str) -> Face:
    if state == ActionState.APPLIED:
        known = registry.lever(lever)
        label = known.applied if known is not None else "Restarted"
        return Face(state, f"{label}, watching", "◌", "starting")
    return Face(state, "Relocated", "●", "running")


def _done_label(suspends: bool, lever: str, state: str, only_released: bool) -> str:
    if not suspends:
        return "Released" if only_released else "Resumed"
    known = registry.lever(lever)
    if known is None:
        return "Suspended"
    # The label `Held` appears after the watch, because the Hold is not proved before.
    return known.applied if state == ActionState.APPLIED else known.done


def step_face(state: str, *, over: bool = False) -> Face:
    """Return the face of a step's state. A state from a newer release is shown as unknown.

    `over`: the action has ended, so a pending step will never be sent.
    """
    if over and state == StepState.PENDING:
        return _NEVER_SENT
    return _STEPS.get(state) or Face(state, printable(state), "?", "unknown")
