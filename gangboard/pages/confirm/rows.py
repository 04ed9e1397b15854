"""Rows of a confirmation: the form, the plan of each object, and their common effect."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.utils import timezone

from gangboard.actions.requests import RequestErrorCode
from gangboard.domain.action import Verb
from gangboard.domain.hold import HOLD_LEVER
from gangboard.domain.text import count, for_each
from gangboard.pages.confirm.forms import ActionForm
from gangboard.readmodels.action_labels import Note, notes, shared_label
from gangboard.readmodels.action_rows import FieldChange, OfferRow
from gangboard.readmodels.advice import StoppedGang
from gangboard.readmodels.formatting import printable


@dataclass(frozen=True, slots=True)
class StepPreview:
    """One request that the action would send."""

    name: str
    method: str
    path: str
    patch: str
    dry_run: bool


@dataclass(frozen=True, slots=True)
class TargetPreview:
    """One object of a confirmation."""

    target: str
    """The string that the form sends back, with the generation of this preview."""
    cluster: str
    kind: str
    namespace: str
    name: str
    uid: str
    allowed: bool = False
    lever: str = ""
    lever_label: str = ""
    label: str = ""
    """The label of its button. Empty if the verb is the label."""
    meaning: str = ""
    """The effect of the button, if its label does not tell it."""
    why_not: str = ""
    """Why the action is not possible, in one sentence."""
    needs: str = ""
    change_notice: str = ""
    """Changes of the object since the page with the button was read."""
    action_id: str = ""
    """Id of the open action that blocks the request."""
    error_code: RequestErrorCode | None = None
    changes: tuple[FieldChange, ...] = ()
    steps: tuple[StepPreview, ...] = ()
    reactions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusedTargets:
    """Objects for which the action is not possible for the same reason."""

    why_not: str
    needs: str
    previews: tuple[TargetPreview, ...]

    @property
    def only(self) -> TargetPreview | None:
        """The object if there is only one."""
        return self.previews[0] if len(self.previews) == 1 else None

    @property
    def what(self) -> str:
        """Their common name: `Job llama-workers-0`, `3 Jobs`."""
        if self.only is not None:
            return f"{self.only.kind} {self.only.name}"
        return count_objects(len(self.previews), self.previews)


@dataclass(frozen=True, slots=True)
class SelectionRow:
    """The Jobs of one gang that would be suspended together."""

    gang_id: str
    owner: str
    """`JobSet llama`."""
    namespace: str
    cluster: str
    uids: frozenset[str]
    """The uids of the Jobs."""
    jobs: str
    """The names of the Jobs, at most two of them."""
    sentences: tuple[str, ...]
    """The effect on the gang; empty if the previews of the Jobs say all."""
    offer: OfferRow | None
    """The button of the owner instead, if no Job of the gang would run and the viewer may press it."""


@dataclass(frozen=True, slots=True)
class ActionTotals:
    """Totals of all objects of a confirmation, as last stored by the poller."""

    pods: int
    """Pods that exist and have not ended."""
    accelerators: float | None
    """Accelerators of the pods on nodes, or None if the request of a pod is unknown."""

    @property
    def sentence(self) -> str:
        """The first sentence of the form."""
        pods = f"{count(self.pods, 'pod')} end{'s' if self.pods == 1 else ''}"
        if self.accelerators is None:
            return f"{pods}; the number of freed accelerators is unknown."
        if not self.accelerators:
            return f"{pods}; no accelerator becomes free."
        if self.accelerators == 1:
            return f"{pods}; 1 accelerator becomes free."
        return f"{pods}; {self.accelerators:,.10g} accelerators become free."


@dataclass(frozen=True, slots=True)
class PlaceChoice:
    """A place that the Job can leave."""

    value: str
    """The text of the form."""
    label: str
    """`node a100-2`, `rack=r1`."""
    pods: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The content of the confirmation form."""

    form: ActionForm
    previews: tuple[TargetPreview, ...]
    selection_rows: tuple[SelectionRow, ...]
    """The effect on each gang."""
    totals: ActionTotals | None
    """Totals of the objects for which the action is possible. None for a resume, or if unknown."""
    costs: tuple[StoppedGang, ...]
    """The running gangs that the action would suspend, as a whole or some of their Jobs. Empty for a resume."""
    problem: str = ""
    """The error of the last submitted form."""
    action_id: str = ""
    """Id of the action that the problem is about, or empty."""
    wrong_field: str = ""
    """The wrong field of the form, `reason` or `until`, or empty."""
    may_force: bool = False
    places: tuple[PlaceChoice, ...] = ()
    """The places that a relocated Job can leave. Empty for other verbs."""
    excluded: str = ""
    """The place that an earlier relocation excludes, or empty."""
    key: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    """Idempotency key of this form."""

    @property
    def asks_place(self) -> bool:
        """Whether the page asks for the place that a relocated Job leaves, before it shows the effect."""
        values = self.form.cleaned_data
        is_open = values["verb"] is Verb.RELOCATE and values["avoid"] is None
        return is_open and bool(self.ready)

    @property
    def leaves(self) -> str:
        """The place that the Job leaves, for the heading; empty for other verbs."""
        avoid = self.form.cleaned_data["avoid"]
        return printable(avoid.text) if avoid is not None and not avoid.is_empty else ""

    @property
    def has_place(self) -> bool:
        """Whether the page can go back to the choice of the place."""
        return self.form.cleaned_data["avoid"] is not None

    @property
    def reason_is_wrong(self) -> bool:
        """Whether the reason is invalid."""
        return self.wrong_field == "reason"

    @property
    def until_is_wrong(self) -> bool:
        """Whether the end is invalid."""
        return self.wrong_field == "until"

    @property
    def selections(self) -> tuple[SelectionRow, ...]:
        """The effects to show. They apply only if the action is possible for every Job of the row."""
        uids = {target.uid for target in self.ready}
        return tuple(row for row in self.selection_rows if row.sentences and row.uids <= uids)

    @property
    def ready(self) -> tuple[TargetPreview, ...]:
        """The objects for which the action is possible."""
        return tuple(target for target in self.previews if target.allowed)

    @property
    def refused(self) -> tuple[RefusedTargets, ...]:
        """The objects for which the action is not possible, by their reasons."""
        return group_refused_targets(self.previews)

    @property
    def single(self) -> TargetPreview | None:
        """The object if there is only one."""
        return self.previews[0] if len(self.previews) == 1 else None

    @property
    def verb_label(self) -> str:
        """The label of the button: the common label of its objects, else `Suspend` or `Resume`."""
        verb = str(self.form.cleaned_data["verb"])
        return shared_label(verb, (target.label or verb.capitalize() for target in self.ready))

    @property
    def meanings(self) -> tuple[Note, ...]:
        """Effects of the button that its label does not tell, each sentence once."""
        return notes(
            (target.name, (target.meaning,) if target.meaning else ()) for target in self.ready
        )

    @property
    def what(self) -> str:
        """The object of the button, or the number of objects."""
        if self.single is not None:
            return f"{self.single.kind} {self.single.name}"
        return count_objects(len(self.ready) or len(self.previews), self.previews)

    @property
    def has_until_field(self) -> bool:
        """Whether the form has a field for an end, which only Holds have."""
        holds = any(target.lever == HOLD_LEVER for target in self.ready)
        return self.form.cleaned_data["verb"] is Verb.SUSPEND and holds

    @property
    def zone(self) -> str:
        """The time zone of the end: that of the submitted form, else that of the viewer."""
        return str(self.form.cleaned_data["zone"]) or timezone.get_current_timezone_name()

    @property
    def reactions(self) -> tuple[Note, ...]:
        """Reactions of controllers, each sentence once."""
        return notes((target.name, target.reactions) for target in self.ready)

    @property
    def warnings(self) -> tuple[Note, ...]:
        """Warnings before the confirmation, each sentence once."""
        return notes((target.name, target.warnings) for target in self.ready)

    @property
    def status(self) -> int:
        """HTTP status of the form before it is submitted."""
        error_code = self.single.error_code if self.single is not None else None
        return error_code.status if error_code is not None else 200


def count_objects(number: int, previews: Iterable[TargetPreview]) -> str:
    """Return `3 Jobs` if all objects have one kind, else `3 objects`."""
    kinds = {target.kind for target in previews}
    noun = kinds.pop() if len(kinds) == 1 else "object"
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def group_refused_targets(previews: Iterable[TargetPreview]) -> tuple[RefusedTargets, ...]:
    """Return the objects for which the action is not possible, grouped by reason, in order."""
    groups: dict[tuple[str, str], list[TargetPreview]] = {}
    for target in previews:
        if not target.allowed:
            why_not = for_each(target.why_not, target.kind, target.name)
            groups.setdefault((why_not, target.needs), []).append(target)
    return tuple(
        RefusedTargets(why_not if len(group) > 1 else group[0].why_not, needs, tuple(group))
        for (why_not, needs), group in groups.items()
    )
