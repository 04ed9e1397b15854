"""The plan of each object of a confirmation: lever, requests, reactions. Nothing is sent or written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from gangboard.actions.previews import NO_SELECTION, preview_many
from gangboard.actions.requests import RequestError, RequestErrorCode
from gangboard.domain.action import ActionRequest, ActionTarget, Plan, Step
from gangboard.pages.confirm.rows import FieldChange, StepPreview, TargetPreview
from gangboard.readmodels.action_labels import lever_label
from gangboard.readmodels.action_offers import printable_lines
from gangboard.readmodels.actions import LONGEST_PATCH
from gangboard.readmodels.printable import printable
from gangboard.store.access import Viewer
from gangboard.web.forms import write_target


def preview_targets(
    viewer: Viewer,
    action_requests: Iterable[ActionRequest],
    *,
    now: datetime,
    together: Mapping[str, frozenset[str]] = NO_SELECTION,
) -> tuple[TargetPreview, ...]:
    """Return what would come of each object, in the order asked. Sends and writes nothing.

    `together`: uid → uids of the selection that is judged as a whole and that it is part of.
    """
    asked = tuple(action_requests)
    plans = preview_many(viewer, asked, now=now, together=together)
    moved = [one for one, found in zip(asked, plans, strict=True) if _has_moved_on(one, found)]
    # An object that has changed may still be the same object: plan it as it is now.
    here = [replace(one, target=replace(one.target, generation=None)) for one in moved]
    seen_now = preview_many(viewer, here, now=now, together=together)
    plan_now = dict(zip(moved, seen_now, strict=True))
    return tuple(
        _preview(one.target, found, plan_now.get(one))
        for one, found in zip(asked, plans, strict=True)
    )


def _has_moved_on(action_request: ActionRequest, found: Plan | RequestError) -> bool:
    return (
        isinstance(found, RequestError)
        and found.code is RequestErrorCode.MOVED_ON
        and action_request.target.generation is not None
    )


def _preview(
    target: ActionTarget, found: Plan | RequestError, plan_now: Plan | RequestError | None
) -> TargetPreview:
    """Return the preview of one object; `plan_now` is that of one that has moved on."""
    if plan_now is None:
        plan_now = found
    if isinstance(plan_now, RequestError):
        return _from_error(target, plan_now)
    shown = _from_plan(target, plan_now)
    return replace(shown, moved=printable(str(found))) if plan_now is not found else shown


def _from_plan(target: ActionTarget, plan: Plan) -> TargetPreview:
    lever = plan.lever if plan.lever is not None and plan.allowed else ""
    return replace(
        _named(replace(target, generation=plan.generation)),
        allowed=plan.allowed,
        lever=lever,
        lever_label=lever_label(lever),
        label=plan.label,
        meaning=printable(plan.meaning),
        why_not=printable(plan.why_not),
        needs=printable_lines(plan.needs),
        changes=tuple(
            FieldChange(
                printable(name), printable(str(plan.before.get(name, "–"))), printable(str(new))
            )
            for name, new in plan.after.items()
        ),
        steps=tuple(_step(step) for step in plan.steps),
        reactions=tuple(printable(text) for text in plan.reactions),
        warnings=tuple(printable(text) for text in plan.warnings),
    )


def _from_error(target: ActionTarget, error: RequestError) -> TargetPreview:
    return replace(
        _named(target),
        why_not=printable(str(error)),
        action_id=error.action_id,
        error_code=error.code,
    )


def _named(target: ActionTarget) -> TargetPreview:
    return TargetPreview(
        target=write_target(target),
        cluster=printable(target.cluster),
        kind=printable(target.kind),
        namespace=printable(target.namespace),
        name=printable(target.name),
        uid=target.uid,
    )


def _step(step: Step) -> StepPreview:
    return StepPreview(
        name=printable(step.name),
        method=step.method,
        path=printable(step.path),
        patch=printable(step.patch, LONGEST_PATCH),
        dry_run=step.dry_run,
    )
