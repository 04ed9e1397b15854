"""What a confirmation shows of each object before anything is asked: lever, requests, reactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from gangboard.actions import service
from gangboard.actions.requests import RequestError, RequestErrorCode
from gangboard.domain.action import ActionRequest, ActionTarget, Plan, Step
from gangboard.domain.hold import HOLD_LEVER
from gangboard.domain.reading.wording import for_each
from gangboard.readmodels.action_labels import lever_label
from gangboard.readmodels.action_offers import printable_lines
from gangboard.readmodels.actions import LONGEST_PATCH
from gangboard.readmodels.printable import printable
from gangboard.store.access import Viewer
from gangboard.web.forms import write_target

NOTHING: Mapping[str, frozenset[str]] = MappingProxyType({})


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
    together: Mapping[str, frozenset[str]] = NOTHING,
) -> tuple[TargetPreview, ...]:
    """Return what would come of each object, in the order asked. Sends and writes nothing.

    `together`: uid → uids of the selection that is judged as a whole and that it is part of.
    """
    return tuple(
        _preview_target(viewer, one, now, together.get(one.target.uid, frozenset()))
        for one in action_requests
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


def _preview_target(
    viewer: Viewer, action_request: ActionRequest, now: datetime, chosen: frozenset[str]
) -> TargetPreview:
    target = action_request.target
    try:
        plan = service.preview(viewer, action_request, now=now, chosen=chosen)
        return _from_plan(target, plan)
    except RequestError as error:
        if error.code is not RequestErrorCode.MOVED_ON or target.generation is None:
            return _from_error(target, error)
        moved = error
    # Whether the object itself is still the one that the person meant, and what is true of it now.
    here = replace(target, generation=None)
    try:
        plan = service.preview(viewer, replace(action_request, target=here), now=now, chosen=chosen)
    except RequestError as error:
        return _from_error(target, error)
    return replace(_from_plan(here, plan), moved=printable(str(moved)))


def _from_plan(target: ActionTarget, plan: Plan) -> TargetPreview:
    lever = plan.lever if plan.lever is not None and plan.allowed else ""
    return replace(
        _named(replace(target, generation=plan.generation)),
        allowed=plan.allowed,
        lever=lever,
        lever_label=lever_label(lever),
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
