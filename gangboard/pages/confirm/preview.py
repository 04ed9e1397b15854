"""Preview of a confirmation: the plan of each object, and their common effect. It has no side effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from gangboard.actions.previews import (
    NO_SELECTION,
    RelocationChoices,
    preview_many,
    relocation_choices,
)
from gangboard.actions.requests import RequestError, RequestErrorCode
from gangboard.domain.action import ActionRequest, ActionTarget, Plan, Step, Verb
from gangboard.pages.confirm.forms import ActionForm, write_avoid
from gangboard.pages.confirm.queries import preview_selections, read_totals
from gangboard.pages.confirm.rows import Confirmation, PlaceChoice, StepPreview, TargetPreview
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
    selection_rows = preview_selections(
        viewer=viewer, verb=verb, targets=targets, forced=values["forced"], now=now
    )
    selections = {uid: row.uids for row in selection_rows for uid in row.uids}
    previews = preview_targets(viewer, _requests_without_end(form), now=now, selections=selections)
    if verb is not Verb.SUSPEND:
        choices = _choices(viewer, form)
        return Confirmation(
            form=form,
            previews=previews,
            selection_rows=selection_rows,
            totals=None,
            costs=(),
            places=tuple(
                PlaceChoice(write_avoid(place.avoid)[0], printable(place.avoid.text), place.pods)
                for place in choices.places
            ),
            excluded=printable(choices.excluded),
        )
    uids = {preview.uid for preview in previews if preview.allowed}
    ready = [target for target in targets if target.uid in uids]
    return Confirmation(
        form=form,
        previews=previews,
        selection_rows=selection_rows,
        totals=read_totals(ready),
        costs=costs_of(ready, viewer=viewer),
    )


def _choices(viewer: Viewer, form: ActionForm) -> RelocationChoices:
    """Return the places that a relocated Job can leave, while the form asks for one."""
    values = form.cleaned_data
    if values["verb"] is not Verb.RELOCATE or values["avoid"] is not None:
        return RelocationChoices()
    (action_request,) = form.requests
    return relocation_choices(viewer, action_request)


def may_force(*, viewer: Viewer, confirmation: Confirmation, now: datetime) -> bool:
    """Return whether the viewer may try an unproved lever, because every proved one is refused."""
    values = confirmation.form.cleaned_data
    if values["forced"] or values["verb"] is not Verb.SUSPEND:
        return False
    if any(target.allowed or target.error_code is not None for target in confirmation.previews):
        return False
    forced = [replace(request, forced=True) for request in _requests_without_end(confirmation.form)]
    # As in the API, planning checks whether the viewer is an admin of the objects.
    return any(target.allowed for target in preview_targets(viewer, forced, now=now))


def _requests_without_end(form: ActionForm) -> list[ActionRequest]:
    """Return the requests without an end. People enter it below the preview, and `service` checks it."""
    return [replace(request, until=None) for request in form.requests]


def preview_targets(
    viewer: Viewer,
    action_requests: Iterable[ActionRequest],
    *,
    now: datetime,
    selections: Mapping[str, frozenset[str]] = NO_SELECTION,
) -> tuple[TargetPreview, ...]:
    """Return the preview of each object, in order.

    `selections` maps a uid to the uids of its selection, which `preview_selections` evaluates as a
    whole.
    """
    requests = tuple(action_requests)
    plans = preview_many(viewer, requests, now=now, selections=selections)
    changed = [
        request
        for request, plan in zip(requests, plans, strict=True)
        if _has_moved_on(request, plan)
    ]
    # An object with a new generation may still be the same object, so plan its current state.
    current = [
        replace(request, target=replace(request.target, generation=None)) for request in changed
    ]
    current_plans = preview_many(viewer, current, now=now, selections=selections)
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
    """Return the preview of one object. `current` is the second plan of an object that has changed."""
    if current is None:
        current = plan
    if isinstance(current, RequestError):
        return _from_error(target, current)
    preview = _from_plan(target, current)
    return replace(preview, change_notice=printable(str(plan))) if current is not plan else preview


def _from_plan(target: ActionTarget, plan: Plan) -> TargetPreview:
    lever = plan.lever if plan.lever is not None and plan.allowed else ""
    return replace(
        _unplanned_preview(replace(target, generation=plan.generation)),
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
        _unplanned_preview(target),
        why_not=printable(str(error)),
        action_id=error.action_id,
        error_code=error.code,
    )


def _unplanned_preview(target: ActionTarget) -> TargetPreview:
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
