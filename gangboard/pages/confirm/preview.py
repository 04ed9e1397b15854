"""The plan of each object of a confirmation, and the effect on all of them. It sends and writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from gangboard.actions.previews import NO_SELECTION, preview_many
from gangboard.actions.requests import RequestError, RequestErrorCode
from gangboard.domain.action import ActionRequest, ActionTarget, Plan, Step, Verb
from gangboard.pages.confirm.forms import ActionForm
from gangboard.pages.confirm.queries import judge_selections, read_totals
from gangboard.pages.confirm.rows import Confirmation, StepPreview, TargetPreview
from gangboard.pages.core.forms import write_target
from gangboard.readmodels.action_labels import lever_label
from gangboard.readmodels.action_rows import changes_of
from gangboard.readmodels.actions import LONGEST_PATCH
from gangboard.readmodels.advice import costs_of
from gangboard.readmodels.formatting import printable, printable_lines
from gangboard.store.access import Viewer


def read_confirmation(*, viewer: Viewer, form: ActionForm, now: datetime) -> Confirmation:
    """Return the form with the plans of its objects and their effect together."""
    values = form.cleaned_data
    verb, targets = values["verb"], values["target"]
    judged = judge_selections(
        viewer=viewer, verb=verb, targets=targets, forced=values["forced"], now=now
    )
    together = {uid: row.uids for row in judged for uid in row.uids}
    previews = preview_targets(viewer, _without_end(form), now=now, together=together)
    if verb is not Verb.SUSPEND:
        return Confirmation(form=form, previews=previews, judged=judged, totals=None, costs=())
    uids = {preview.uid for preview in previews if preview.allowed}
    ready = [target for target in targets if target.uid in uids]
    return Confirmation(
        form=form,
        previews=previews,
        judged=judged,
        totals=read_totals(ready),
        costs=costs_of(ready, viewer=viewer),
    )


def may_force(*, viewer: Viewer, shown: Confirmation, now: datetime) -> bool:
    """Whether an admin may try a lever that is not proved, because every proved lever is refused."""
    values = shown.form.cleaned_data
    if values["forced"] or values["verb"] is not Verb.SUSPEND:
        return False
    if any(target.allowed or target.error_code is not None for target in shown.previews):
        return False
    forced = [replace(request, forced=True) for request in _without_end(shown.form)]
    # The plan says whether the viewer is an admin of the objects, as for the API.
    return any(target.allowed for target in preview_targets(viewer, forced, now=now))


def _without_end(form: ActionForm) -> list[ActionRequest]:
    """Return the requests without an end: people type it below the preview, and `service` checks it."""
    return [replace(request, until=None) for request in form.requests]


def preview_targets(
    viewer: Viewer,
    action_requests: Iterable[ActionRequest],
    *,
    now: datetime,
    together: Mapping[str, frozenset[str]] = NO_SELECTION,
) -> tuple[TargetPreview, ...]:
    """Return the preview of each object, in order.

    `together` maps a uid to the uids of its selection, which `judge_selections` judges as a whole.
    """
    requests = tuple(action_requests)
    plans = preview_many(viewer, requests, now=now, together=together)
    changed = [
        request
        for request, plan in zip(requests, plans, strict=True)
        if _has_moved_on(request, plan)
    ]
    # An object that has changed may still be the same object: plan it as it is now.
    current = [
        replace(request, target=replace(request.target, generation=None)) for request in changed
    ]
    current_plans = preview_many(viewer, current, now=now, together=together)
    replanned = dict(zip(changed, current_plans, strict=True))
    return tuple(
        _preview(request.target, plan, replanned.get(request))
        for request, plan in zip(requests, plans, strict=True)
    )


def _has_moved_on(action_request: ActionRequest, plan: Plan | RequestError) -> bool:
    return (
        isinstance(plan, RequestError)
        and plan.code is RequestErrorCode.MOVED_ON
        and action_request.target.generation is not None
    )


def _preview(
    target: ActionTarget, plan: Plan | RequestError, current: Plan | RequestError | None
) -> TargetPreview:
    """Return the preview of one object. `current` is the second plan of an object that has moved on."""
    if current is None:
        current = plan
    if isinstance(current, RequestError):
        return _from_error(target, current)
    preview = _from_plan(target, current)
    return replace(preview, moved=printable(str(plan))) if current is not plan else preview


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
        changes=changes_of(_texts(plan.before), _texts(plan.after)),
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


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    return {printable(name): printable(str(value)) for name, value in values.items()}
