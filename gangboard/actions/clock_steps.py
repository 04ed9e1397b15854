"""Steps of the clock: moments that an action wrote down before its clock was set back lie in the future.

Whoever waited since such a moment would wait until the clock has caught up, for hours, and the object would take
no other action. A moment in the future counts from now on.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from gangboard.actions.execution import ActionExecution
from gangboard.store import actions

TOLERANCE = timedelta(minutes=1)
"""Clocks of two workers may differ by less."""
_MOMENTS = frozenset({"since", "sent_at", "quiet_since", "missing_since"})
"""Names of the moments in the context of an action."""


def forget_future(execution: ActionExecution) -> None:
    """Let every moment that lies in the future be now. Writes nothing where there is none."""
    action, now = execution.action, execution.now
    columns: dict[str, Any] = {
        name: now
        for name in ("sent_at", "applied_at")
        if (moment := getattr(action, name)) is not None and moment > now + TOLERANCE
    }
    steps = [step for step in execution.steps if step.at is not None and step.at > now + TOLERANCE]
    context = corrected(action.context, now)
    if not columns and not steps and context == action.context:
        return
    action.context = context

    def correct_steps() -> None:
        for step in steps:
            actions.change(step, {"at": now})

    execution.write(context=True, also=correct_steps, **columns)


def corrected(context: dict[str, Any], now: datetime) -> dict[str, Any]:
    """Return the context of an action, in which no moment lies in the future."""
    found = dict(context)
    for name, value in context.items():
        if isinstance(value, dict):
            found[name] = corrected(value, now)
        elif name in _MOMENTS and datetime.fromisoformat(value) > now + TOLERANCE:
            found[name] = now.isoformat()
    return found
