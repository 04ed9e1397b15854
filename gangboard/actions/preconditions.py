"""Reasons why an action may not be sent, checked right before each request that changes a cluster."""

from __future__ import annotations

from django.contrib.auth import get_user_model

from gangboard.actions import patches
from gangboard.actions.actor_client import get_object
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import ActionExit
from gangboard.domain.action import ActionState, Plan, StepKind
from gangboard.domain.objects import ObjectRef
from gangboard.domain.text import label
from gangboard.facts.gang import Gang
from gangboard.store.access import viewer_of
from gangboard.store.actions import is_read_only
from gangboard.store.authentication import is_token_valid
from gangboard.store.models import Action

VIA_GANGBOARD = "gangboard"
"""`via` of what gangboard itself asks for: no person's rights stand behind it."""


def unmet(execution: ActionExecution) -> ActionExit | None:
    """Return why nothing more may be sent, or None (about 5 queries)."""
    sentence = (
        _stopped(execution) or _withdrawn(execution) or is_read_only(execution.action.cluster_id)
    )
    begun = execution.action.sent_at is not None
    if sentence:
        if begun:
            return ActionExit(ActionState.FAILED, f"Stopped half-way: {sentence}")
        return ActionExit(ActionState.REFUSED, f"{sentence} Nothing was sent.")
    if not begun and is_expired(execution):
        return ActionExit(
            ActionState.EXPIRED,
            "It was not sent within five minutes of the click, so it is not sent any more.",
        )
    return None


def is_expired(execution: ActionExecution) -> bool:
    """Return whether the action has expired by the clock of the database, which set the time."""
    row = Action.objects.filter(
        pk=execution.action.pk, expires_at__lte=execution.clock.database_now()
    )
    return row.exists()


def _stopped(execution: ActionExecution) -> str:
    by = (
        Action.objects.filter(pk=execution.action.pk)
        .values_list("stop_asked_by", flat=True)
        .first()
    )
    return f"{by} stopped it." if by else ""


def _withdrawn(execution: ActionExecution) -> str:
    action = execution.action
    if action.via == VIA_GANGBOARD:
        return ""
    if action.cluster_id is None:
        return f"Cluster {action.cluster_name} is not watched any more."
    if action.user_id is None:
        return f"Permission withdrawn: {action.actor_name} has no account any more."
    user = get_user_model().objects.filter(pk=action.user_id).first()
    if user is None:
        return f"Permission withdrawn: {action.actor_name} has no account any more."
    if not user.is_active:
        return f"Permission withdrawn: the account of {action.actor_name} is disabled."
    if action.token and not is_token_valid(action.token, user_id=action.user_id):
        return f"Permission withdrawn: the token of {action.actor_name} that asked is not valid any more."
    viewer = viewer_of(user, may_act=action.may_act)
    where = f"namespace {action.namespace} of cluster {action.cluster_name}"
    if not viewer.may_operate(action.cluster_id, action.namespace):
        return f"Permission withdrawn: {action.actor_name} is no operator of {where} any more."
    if action.forced and not viewer.administers(action.cluster_id, action.namespace):
        return f"Permission withdrawn: {action.actor_name} is no admin of {where} any more."
    return ""


def exit_if_already_applied(
    execution: ActionExecution, gang: Gang, planned: Plan
) -> ActionExit | None:
    """Return the end of an action that has sent nothing yet and whose mark is on an object; None without one.

    The mark says that the action was carried out, and that the database is a copy from before. It stays when somebody
    undoes the change by hand, and the action is not sent again then either. Raises KubeError.
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
    marked = [owner.meta.ref for owner in owners if owner.last_action == action_id]
    marked += [hold.meta.ref for hold in gang.holds if hold.action == action_id]
    return marked[0] if marked else None


def _marked_beside(execution: ActionExecution, gang: Gang, planned: Plan) -> ObjectRef | None:
    """Return the marked object among those that are patched and are no owners, such as the entry of a queue."""
    owners = {owner.meta.ref.uid for owner in (*gang.makers, *gang.jobs)}
    for step in planned.steps:
        if step.kind is StepKind.PATCH and step.subject.uid not in owners:
            raw = get_object(execution.client, step.path)
            if raw is not None and patches.last_action_id(raw) == execution.action.pk:
                return step.subject
    return None
