"""Preconditions of an action, checked right before each request that changes a cluster."""

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
from gangboard.store.actions import read_only_reason
from gangboard.store.authentication import is_token_valid
from gangboard.store.models import Action

VIA_GANGBOARD = "gangboard"
"""`via` of requests that gangboard makes itself. They need no person's rights."""


def check_preconditions(execution: ActionExecution) -> ActionExit | None:
    """Return the end of an action that may send nothing more, or None (about 5 queries)."""
    sentence = (
        _stop_sentence(execution)
        or _lost_rights_sentence(execution)
        or read_only_reason(execution.action.cluster_id)
    )
    is_sent = execution.action.sent_at is not None
    if sentence:
        if is_sent:
            return ActionExit(ActionState.FAILED, f"Stopped half-way: {sentence}")
        return ActionExit(ActionState.REFUSED, f"{sentence} Nothing was sent.")
    if not is_sent and is_expired(execution):
        trouble = execution.context.get("trouble", {}).get("sentence", "")
        sentence = "It was not sent within five minutes of the click, so it has expired."
        return ActionExit(ActionState.EXPIRED, f"{sentence} {trouble}".rstrip())
    return None


def is_expired(execution: ActionExecution) -> bool:
    """Return whether the action has expired, by the database clock that set its expiry."""
    row = Action.objects.filter(
        pk=execution.action.pk, expires_at__lte=execution.clock.database_now()
    )
    return row.exists()


def _stop_sentence(execution: ActionExecution) -> str:
    by = (
        Action.objects.filter(pk=execution.action.pk)
        .values_list("stop_asked_by", flat=True)
        .first()
    )
    return f"{by} stopped it." if by else ""


def _lost_rights_sentence(execution: ActionExecution) -> str:
    action = execution.action
    if action.via == VIA_GANGBOARD:
        return ""
    if action.cluster_id is None:
        return f"Cluster {action.cluster_name} is no longer watched."
    if action.user_id is None:
        return f"Permission withdrawn: {action.actor_name} no longer has an account."
    user = get_user_model().objects.filter(pk=action.user_id).first()
    if user is None:
        return f"Permission withdrawn: {action.actor_name} no longer has an account."
    if not user.is_active:
        return f"Permission withdrawn: the account of {action.actor_name} is disabled."
    if action.token and not is_token_valid(action.token, user_id=action.user_id):
        return f"Permission withdrawn: the token of {action.actor_name} that was used is no longer valid."
    viewer = viewer_of(user, may_act=action.may_act)
    namespace = f"namespace {action.namespace} of cluster {action.cluster_name}"
    if not viewer.may_operate(action.cluster_id, action.namespace):
        return f"Permission withdrawn: {action.actor_name} is no longer an operator of {namespace}."
    if action.forced and not viewer.administers(action.cluster_id, action.namespace):
        return f"Permission withdrawn: {action.actor_name} is no longer an admin of {namespace}."
    return ""


def exit_if_already_applied(
    execution: ActionExecution, gang: Gang, planned: Plan
) -> ActionExit | None:
    """Return the end of an action whose annotation is already on an object, or None.

    This action has sent nothing yet, so the annotation proves that the database was restored from an
    older copy. The annotation remains if somebody undoes the change by hand, and the action is not sent
    again then either. Raises KubeError.
    """
    action_id = execution.action.pk
    ref = _annotated_member(gang, action_id) or _annotated_target(execution, gang, planned)
    if ref is None:
        return None
    return ActionExit(
        ActionState.CONFLICT,
        f"{label(ref)} already has the annotation of this action: the action was carried out before, and the database is "
        "an older copy. Nothing was sent.",
    )


def _annotated_member(gang: Gang, action_id: str) -> ObjectRef | None:
    owners = (*gang.makers, *gang.jobs)
    annotated = [owner.meta.ref for owner in owners if owner.last_action == action_id]
    annotated += [hold.meta.ref for hold in gang.holds if hold.action == action_id]
    return annotated[0] if annotated else None


def _annotated_target(execution: ActionExecution, gang: Gang, planned: Plan) -> ObjectRef | None:
    """Return the annotated patch target that is no owner, such as a queue entry."""
    owners = {owner.meta.ref.uid for owner in (*gang.makers, *gang.jobs)}
    for step in planned.steps:
        if step.kind is StepKind.PATCH and step.subject.uid not in owners:
            raw = get_object(execution.client, step.path)
            if raw is not None and patches.last_action_id(raw) == execution.action.pk:
                return step.subject
    return None
