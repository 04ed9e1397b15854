"""Actions that were carried out before: a copy of the database from before that was put back.

The mark that an action leaves on an object is its own record in the cluster. It stays when somebody undoes the
change by hand, and the action is not sent again then either.
"""

from __future__ import annotations

from gangboard.actions import patches
from gangboard.actions.actor_client import get_object
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import ActionExit
from gangboard.domain.action import ActionState, Plan, StepKind
from gangboard.domain.objects import ObjectRef
from gangboard.domain.text import label
from gangboard.facts.gang import Gang


def exit_for(execution: ActionExecution, gang: Gang, planned: Plan) -> ActionExit | None:
    """Return the end of an action that has sent nothing yet and whose mark is on an object; None without one.

    Raises KubeError.
    """
    ref = _marked(gang, execution.action.pk) or _marked_beside(execution, gang, planned)
    if ref is None:
        return None
    return ActionExit(
        ActionState.CONFLICT,
        f"{label(ref)} already has the annotation of this action: the action was carried out before, and the database is "
        "an older copy. Nothing was sent.",
    )


def _marked(gang: Gang, action_id: str) -> ObjectRef | None:
    owners = (*gang.makers, *gang.jobs)
    marked = [one.meta.ref for one in owners if one.last_action == action_id]
    marked += [hold.meta.ref for hold in gang.holds if hold.action == action_id]
    return marked[0] if marked else None


def _marked_beside(execution: ActionExecution, gang: Gang, planned: Plan) -> ObjectRef | None:
    """Return the same of what is patched and is no owner, such as the entry of a queue."""
    owners = {one.meta.ref.uid for one in (*gang.makers, *gang.jobs)}
    for step in planned.steps:
        if step.kind is StepKind.PATCH and step.subject.uid not in owners:
            raw = get_object(execution.client, step.path)
            if raw is not None and patches.mark_of(raw) == execution.action.pk:
                return step.subject
    return None
