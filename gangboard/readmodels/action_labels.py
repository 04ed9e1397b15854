"""The labels of actions: their states, levers and buttons, each written once."""

from __future__ import annotations

from gangboard.domain.action import ActionState, Lever, Verb
from gangboard.readmodels.printable import printable
from gangboard.readmodels.state_labels import Face

# (word on the button, done and watched) by verb and lever; the empty lever is not chosen yet.
_SUSPENDED: dict[str, tuple[str, str]] = {
    Lever.HOLD: ("Hold", "Held"),
    Lever.PARALLELISM: ("Pause", "Paused"),
    Lever.KUEUE: ("Suspend", "Deactivated"),
}

LEVER_LABELS: dict[str, str] = {
    Lever.NATIVE: "spec.suspend of the Job, left alone by its JobSet",
    Lever.HOLD: "Hold",
    Lever.PARALLELISM: "parallelism 0",
    Lever.SUSPEND: "spec.suspend",
    Lever.KUEUE: "Kueue's spec.active",
}

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


def lever_label(lever: str, *, forced: bool = False) -> str:
    """Return the name of a lever; a forced plain suspend is not called what nobody has seen."""
    if forced and lever == Lever.NATIVE:
        return "spec.suspend of the Job, not proved"
    return LEVER_LABELS.get(lever, printable(lever))


def button_label(verb: str, lever: str) -> str:
    """Return the word on a button: `Hold` and `Release` for the Hold, `Pause` for parallelism."""
    if verb == Verb.SUSPEND:
        return _SUSPENDED.get(lever, ("Suspend", ""))[0]
    return "Release" if lever == Lever.HOLD else "Resume"


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
    if lever == Lever.HOLD and state == ActionState.APPLIED:
        # `Held` is said only when it was watched and has held.
        return "Suspended"
    return _SUSPENDED.get(lever, ("", "Suspended"))[1]
