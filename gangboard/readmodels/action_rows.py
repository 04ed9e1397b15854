"""Rows of actions and offers for pages, API and messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import attrgetter

from gangboard.domain.action import ActionState, Plan, StepState, Verb
from gangboard.readmodels.action_labels import lever_keys
from gangboard.readmodels.declarations import shown, shown_property
from gangboard.readmodels.formatting import duration_text
from gangboard.readmodels.state_labels import Face

VERBS = tuple(verb.value for verb in Verb)
LEVERS = lever_keys()
ACTION_STATES = tuple(state.value for state in ActionState)
STEP_STATES = tuple(state.value for state in StepState)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferRow:
    """What the caller may do to an object now."""

    verb: str = shown("Verb", choices=VERBS)
    label: str = shown(
        "Button",
        "Text of the button: the verb, or a narrower word such as Hold or Release.",
    )
    meaning: str = shown(
        "Meaning",
        "Its effect, if the label alone does not say it.",
        empty_is_null=True,
        default="",
    )
    allowed: bool = shown("Allowed")
    lever: str = shown("Lever", choices=LEVERS, empty_is_null=True)
    """Key of the lever. Empty if not allowed, and on the Board, because the confirmation chooses the lever."""
    why_not: str = shown("Why not", empty_is_null=True)
    warnings: tuple[str, ...] = shown("Warnings")
    cluster: str
    api_group: str
    kind: str
    namespace: str
    name: str
    uid: str
    generation: int
    gang_id: str = ""
    needs: str = ""
    """Commands that would allow it, one per line."""
    primary: bool = True
    """Whether the verb has an effect in the current state."""
    # Left out of comparisons, because a plan contains times and a button does not.
    plan: Plan | None = field(default=None, repr=False, compare=False)
    """The plan. None if the viewer may not act there, and on the Board."""


@dataclass(frozen=True, slots=True)
class TargetRow:
    """The object of an action, as the caller saw it."""

    cluster: str = shown("Cluster")
    api_group: str = shown("API group")
    kind: str = shown("Kind")
    namespace: str = shown("Namespace")
    name: str = shown("Name")
    uid: str = shown("uid")
    generation: int | None = shown("Generation")


@dataclass(frozen=True, slots=True)
class StepRow:
    """One request of an action to an API server."""

    name: str = shown("Step")
    method: str = shown("Method", "POST, DELETE, PATCH (a JSON patch) or MERGE (a merge patch).")
    path: str = shown("Path")
    patch: str = shown("Patch", "The exact body; of a DELETE its preconditions.")
    dry_run: bool = shown("Dry run", "A dry run: it changes nothing and proves the lever.")
    state: str = shown("State", choices=STEP_STATES)
    result: str = shown("Result", "Its result, in a sentence.", empty_is_null=True)
    at: datetime | None = shown("When")


@dataclass(frozen=True, slots=True)
class ActionEndRow:
    """What put an end to what an action had suspended."""

    by: str = shown("By", "The person who resumed it.")
    at: datetime = shown("When")
    action_id: str = shown("Action")
    after_seconds: float = 0.0
    """Seconds for which it was suspended."""

    @property
    def sentence(self) -> str:
        """The duration and who ended it, without the time."""
        return (
            f"Lasted {duration_text(timedelta(seconds=self.after_seconds))}; resumed by {self.by}"
        )


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field before and after an action."""

    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRow:
    """An action: what was asked, what was sent, and how it ended."""

    id: str = shown("Action")
    verb: str = shown("Verb", choices=VERBS)
    button: str = shown(
        "Button",
        "Text of the button: the verb, or a narrower word such as Hold.",
    )
    target: TargetRow = shown("What")
    gang_id: str = shown("Gang", "The gang that the object belongs to.", empty_is_null=True)
    state: str = shown("State", choices=ACTION_STATES)
    is_final: bool = shown(
        "Final",
        "Nothing more is done. `verified` can still become `reverted` later.",
        api_name="final",
    )

    @shown_property("State in words", "The state in words for people, such as `Held`.")
    def label(self) -> str:
        """The state as a page spells it."""
        return self.face.label

    lever: str = shown("Lever", choices=LEVERS, empty_is_null=True)
    reason: str = shown("Reason")
    actor: str = shown("By")
    via: str = shown("Via", "page, api or gangboard (the end of a Hold).")
    forced: bool = shown("Forced")
    message: str = shown("Result", "Its current result, in a sentence.")
    warnings: tuple[str, ...] = shown("Warnings")
    reactions: tuple[str, ...] = shown("Reactions", "Controllers that react to it, and how.")
    before: Mapping[str, str] = shown("Before")
    after: Mapping[str, str] = shown("After")
    steps: tuple[StepRow, ...] = shown("Steps")
    reverted_by: str = shown("Reverted by", "The field manager that undid it.", empty_is_null=True)
    held_seconds: float | None = shown("Lasted")
    ended: ActionEndRow | None = shown(
        "Ended",
        "Of a suspend: the next resume that was done. Null where there is none.",
        default=None,
    )
    until: datetime | None = shown("Until")
    avoid: str = shown(
        "Avoid",
        "Of a relocation: the place that the Job leaves, such as `node a100-2` or `rack=r1`.",
        empty_is_null=True,
        default="",
    )
    batch: str = shown(
        "Batch", "Actions that were confirmed together have the same.", empty_is_null=True
    )
    requested_at: datetime = shown("When")
    sent_at: datetime | None = shown("Sent")
    applied_at: datetime | None = shown("Applied")
    finished_at: datetime | None = shown("Ended")
    face: Face = shown("State", in_api=False)
    lever_label: str
    nodes: tuple[str, ...] = ()
    """Nodes of its pods right before the action."""
    stop_asked: bool = False
    """Whether a user has stopped it. It becomes final when a worker notices."""
    watched_until: datetime | None = None
    """Earliest end of the watch, while the action is applied and not yet final."""

    cluster = property(attrgetter("target.cluster"))
    kind = property(attrgetter("target.kind"))
    namespace = property(attrgetter("target.namespace"))
    name = property(attrgetter("target.name"))
    uid = property(attrgetter("target.uid"))

    @property
    def changes(self) -> tuple[FieldChange, ...]:
        """The fields that it changes."""
        return changes_of(self.before, self.after)

    @property
    def is_unsent(self) -> bool:
        """Whether a worker would still send it."""
        return not self.is_final and self.sent_at is None and not self.stop_asked

    @property
    def tone(self) -> str:
        """The colour tone of the state."""
        return self.face.tone

    @property
    def went_well(self) -> bool:
        """Whether it was verified."""
        return self.state == ActionState.VERIFIED


def changes_of(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[FieldChange, ...]:
    """Return the changed fields. A new field has a dash as its old value."""
    return tuple(FieldChange(name, before.get(name, "–"), value) for name, value in after.items())
