"""What a confirmation shows: each object, what comes of all of them, and the form."""

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
from gangboard.readmodels.action_rows import OfferRow
from gangboard.readmodels.advice import StoppedGang


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


@dataclass(frozen=True, slots=True)
class SelectionRow:
    """The Jobs of one gang that would be suspended together."""

    gang_id: str
    owner: str
    """`JobSet llama`."""
    namespace: str
    cluster: str
    uids: frozenset[str]
    """Those of the Jobs."""
    jobs: str
    """Their names; of many the first two."""
    sentences: tuple[str, ...]
    """What comes of all of them; none where there is nothing to say of the set."""
    offer: OfferRow | None
    """To suspend the owner instead: where nothing of it would run and the viewer may do that now."""


@dataclass(frozen=True, slots=True)
class ActionTotals:
    """Of all objects of a confirmation together, as last seen."""

    pods: int
    """Those that are there and have not ended."""
    accelerators: float | None
    """Those that pods on nodes hold; None where it is not known what each of them asks for."""

    @property
    def sentence(self) -> str:
        """What a person reads first."""
        pods = f"{count(self.pods, 'pod')} end{'s' if self.pods == 1 else ''}"
        if self.accelerators is None:
            return f"{pods}; how many accelerators that frees is not known."
        if not self.accelerators:
            return f"{pods}; no accelerator becomes free."
        if self.accelerators == 1:
            return f"{pods}; 1 accelerator becomes free."
        return f"{pods}; {self.accelerators:,.10g} accelerators become free."


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Everything on the form."""

    form: ActionForm
    previews: tuple[TargetPreview, ...]
    problem: str = ""
    """What was wrong with what was sent last."""
    action_id: str = ""
    """The action that it is about, or empty."""
    wrong_field: str = ""
    """The wrong field of the form, `reason` or `until`, or empty."""
    may_force: bool = False
    judged: tuple[SelectionRow, ...] = ()
    """What comes of all that is asked for together, gang by gang."""
    totals: ActionTotals | None = None
    """What ends and becomes free with all that can be asked for; None of a resume, and where it is not known."""
    costs: tuple[StoppedGang, ...] = ()
    """The running gangs that the action would suspend whole. Empty for a resume."""
    key: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    """Of this form, which was not sent yet."""

    @property
    def reason_is_wrong(self) -> bool:
        """Whether the reason has to be mended."""
        return self.wrong_field == "reason"

    @property
    def until_is_wrong(self) -> bool:
        """Whether the end has to be mended."""
        return self.wrong_field == "until"

    @property
    def selections(self) -> tuple[SelectionRow, ...]:
        """The selections with something to say, if every Job of them can be asked for: only then it is true."""
        ready = {one.uid for one in self.ready}
        return tuple(one for one in self.judged if one.sentences and one.uids <= ready)

    @property
    def ready(self) -> tuple[TargetPreview, ...]:
        """The objects that can be asked for."""
        return tuple(one for one in self.previews if one.allowed)

    @property
    def refused(self) -> tuple[RefusedTargets, ...]:
        """The objects that cannot be asked for, by their reasons."""
        return refused_together(self.previews)

    @property
    def single(self) -> TargetPreview | None:
        """The object if there is only one."""
        return self.previews[0] if len(self.previews) == 1 else None

    @property
    def verb_label(self) -> str:
        """The word of the button: that of all its objects, else `Suspend` or `Resume`."""
        verb = str(self.form.cleaned_data["verb"])
        return shared_label(verb, (one.label or verb.capitalize() for one in self.ready))

    @property
    def meanings(self) -> tuple[Note, ...]:
        """What the button does where its word does not say it, each sentence once."""
        return notes((one.name, (one.meaning,) if one.meaning else ()) for one in self.ready)

    @property
    def what(self) -> str:
        """What the button acts on."""
        if self.single is not None:
            return f"{self.single.kind} {self.single.name}"
        return count_objects(len(self.ready) or len(self.previews), self.previews)

    @property
    def wants_until(self) -> bool:
        """Whether an end can be given."""
        return self.form.cleaned_data["verb"] is Verb.SUSPEND and would_hold(self.previews)

    @property
    def zone(self) -> str:
        """The time zone in which the end is typed: the one of the form that was sent, else the person's."""
        return str(self.form.cleaned_data["zone"]) or timezone.get_current_timezone_name()

    @property
    def reactions(self) -> tuple[Note, ...]:
        """Who will react, each sentence once."""
        return notes((one.name, one.reactions) for one in self.ready)

    @property
    def warnings(self) -> tuple[Note, ...]:
        """What to know before, each sentence once."""
        return notes((one.name, one.warnings) for one in self.ready)

    @property
    def status(self) -> int:
        """HTTP status of the form when it is shown for the first time."""
        error_code = self.single.error_code if self.single is not None else None
        return error_code.status if error_code is not None else 200


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


def would_hold(previews: Iterable[TargetPreview]) -> bool:
    """Whether some of them would be held, so that an end can be given."""
    return any(one.allowed and one.lever == HOLD_LEVER for one in previews)
