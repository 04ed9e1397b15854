"""The labels of the steps of an action: each state with its icon, word and tone."""

from __future__ import annotations

from gangboard.domain.action import StepState
from gangboard.readmodels.printable import printable
from gangboard.readmodels.state_labels import Face

_FACES: dict[str, Face] = {
    StepState.PENDING: Face("pending", "not yet", "○", "none"),
    StepState.SENDING: Face("sending", "being sent", "◌", "starting"),
    StepState.DONE: Face("done", "done", "✓", "running"),
    StepState.FAILED: Face("failed", "failed", "✕", "failed"),
    StepState.UNKNOWN: Face("unknown", "outcome not known", "?", "unknown"),
    StepState.SKIPPED: Face("skipped", "not needed", "–", "none"),
}


_NEVER = Face("pending", "never sent", "–", "none")


def step_face(state: str, *, over: bool = False) -> Face:
    """Return the face of a step's state; one from a newer release still prints.

    `over`: its action has ended, so what is still to come does not come.
    """
    if over and state == StepState.PENDING:
        return _NEVER
    return _FACES.get(state) or Face(state, printable(state), "?", "unknown")
