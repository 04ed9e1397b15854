"""What a confirmation shows of each object before anything is asked: lever, requests, reactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gangboard.actions.previews import NO_SELECTION, preview_many
from gangboard.actions.requests import RequestError, RequestErrorCode
from gangboard.domain.action import ActionRequest, ActionTarget, Plan, Step
from gangboard.domain.hold import HOLD_LEVER
from gangboard.domain.text import for_each
from gangboard.readmodels.action_labels import lever_label
from gangboard.readmodels.action_offers import printable_lines
from gangboard.readmodels.actions import LONGEST_PATCH
from gangboard.readmodels.printable import printable
from gangboard.store.access import Viewer
from gangboard.web.forms import write_target


@dataclass(frozen=True, slots=True)
class StepPreview:
    """One request as it would be sent."""

    name: str
    method: str
    path: str
    patch: str
    dry_run: bool


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field, as it is and as it would be."""

    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class TargetPreview:
    """One object of a confirmation."""

    target: str
    """As the form sends it back, with the generation for which the rest is true."""
    cluster: str
    kind: str
    namespace: str
    name: str
    uid: str
    allowed: bool = False
    lever: str = ""
    lever_label: str = ""
    label: str = ""
    """The word on its button; empty where the verb is the right word."""
    meaning: str = ""
    """What the button does, where its word does not say it."""
    why_not: str = ""
    """Why it would not be done, or cannot be asked for; one sentence."""
    needs: str = ""
    moved: str = ""
    """What has changed since the page from which this was asked."""
    action_id: str = ""
    """The action that stands in the way."""
    error_code: RequestErrorCode | None = None
    changes: tuple[FieldChange, ...] = ()
    steps: tuple[StepPreview, ...] = ()
    reactions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusedTargets:
    """Objects that cannot be asked for, all for the same reason."""

    why_not: str
    needs: str
    previews: tuple[TargetPreview, ...]

    @property
    def only(self) -> TargetPreview | None:
        """The object if there is only one."""
        return self.previews[0] if len(self.previews) == 1 else None

    @property
    def what(self) -> str:
        """What they are together: `Job llama-workers-0`, `3 Jobs`."""
        if self.only is not None:
            return f"{self.only.kind} {self.only.name}"
        return count_objects(len(self.previews), self.previews)


def count_objects(number: int, previews: Iterable[TargetPreview]) -> str:
    """Return a number of objects that are all of one kind, or not: `3 Jobs`, `1 object`."""
    kinds = {one.kind for one in previews}
    noun = kinds.pop() if len(kinds) == 1 else "object"
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def refused_together(previews: Iterable[TargetPreview]) -> tuple[RefusedTargets, ...]:
    """Return the objects that cannot be asked for by their reasons, in the order of their first ones."""
    alike: dict[tuple[str, str], list[TargetPreview]] = {}
    for one in previews:
        if not one.allowed:
            why_not = for_each(one.why_not, one.kind, one.name)
            alike.setdefault((why_not, one.needs), []).append(one)
    return tuple(
        RefusedTargets(why_not if len(some) > 1 else some[0].why_not, needs, tuple(some))
        for (why_not, needs), some in alike.items()
    )


@dataclass(frozen=True, slots=True)
class Note:
    """One sentence and the objects for which it is true; no name when it is true for all."""

    text: str
    names: tuple[str, ...]


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


def notes(texts: Iterable[tuple[str, Sequence[str]]]) -> tuple[Note, ...]:
    """Return each sentence once, with the names of those it is about, from (name, sentences)."""
    names: dict[str, list[str]] = {}
    every = 0
    for name, sentences in texts:
        every += 1
        for text in dict.fromkeys(sentences):
            names.setdefault(text, []).append(name)
    return tuple(
        Note(text, () if len(found) == every else tuple(found)) for text, found in names.items()
    )


def would_hold(previews: Iterable[TargetPreview]) -> bool:
    """Whether some of them would be held, so that an end can be given."""
    return any(one.allowed and one.lever == HOLD_LEVER for one in previews)


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
