"""Actions, offers and Holds as the pages and API show them to one viewer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gangboard.domain.action import ActionState, Plan
from gangboard.readmodels.ages import duration_text
from gangboard.readmodels.audit_labels import event_label
from gangboard.readmodels.state_labels import Face


@dataclass(frozen=True, slots=True)
class OfferRow:
    """One button of one object: pressed it asks, off it says why."""

    verb: str
    label: str
    """The word on the button: `Suspend`, `Resume`, or that of its lever, such as `Hold`."""
    allowed: bool
    lever: str
    """Empty when not allowed, and where it is chosen only when somebody asks (the Board)."""
    why_not: str
    warnings: tuple[str, ...]
    cluster: str
    api_group: str
    kind: str
    namespace: str
    name: str
    uid: str
    generation: int
    gang_id: str = ""
    needs: str = ""
    """What to install or switch on so that it would be allowed: commands, one a line."""
    meaning: str = ""
    """What the button does, in a sentence. Empty where the label says it."""
    primary: bool = True
    """The verb that changes something as things are now; the other one is for completeness."""
    # Not part of what is printed: a plan may name times, and a button does not.
    plan: Plan | None = field(default=None, repr=False, compare=False)
    """None when the viewer may not act there at all, and on the Board."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step of an action."""

    name: str
    method: str
    path: str
    patch: str
    dry_run: bool
    state: str
    result: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class ActionEnd:
    """What put an end to what an action had suspended."""

    by: str
    at: datetime
    action_id: str
    after_seconds: float = 0.0
    """For how long it was suspended."""

    @property
    def sentence(self) -> str:
        """How long it lasted and who ended it, without the time."""
        return (
            f"Lasted {duration_text(timedelta(seconds=self.after_seconds))}; resumed by {self.by}"
        )


@dataclass(frozen=True, slots=True)
class ActionRow:
    """One action."""

    id: str
    verb: str
    cluster: str
    api_group: str
    kind: str
    namespace: str
    name: str
    uid: str
    generation: int | None
    gang_id: str
    state: str
    is_final: bool
    face: Face
    """The state in words for people: `Suspended, watching`, `Held`, `Reverted by jobset` …"""
    lever: str
    lever_label: str
    reason: str
    actor: str
    via: str
    """page, api or gangboard."""
    forced: bool
    message: str
    """How it stands, in a sentence."""
    warnings: tuple[str, ...]
    reactions: tuple[str, ...]
    before: Mapping[str, str]
    after: Mapping[str, str]
    steps: tuple[StepRow, ...]
    button: str
    """The word on the button that asks for it: `Suspend`, `Resume`, or a narrower one such as `Hold`."""
    reverted_by: str
    held_seconds: float | None
    until: datetime | None
    batch: str
    requested_at: datetime
    sent_at: datetime | None
    applied_at: datetime | None
    finished_at: datetime | None
    nodes: tuple[str, ...] = ()
    """Where its pods were when it was looked at, right before it was acted on."""
    stop_asked: bool = False
    """Whether somebody has stopped it: it is not over until a worker has seen that."""
    ended: ActionEnd | None = None
    """What put an end to it since; None where it is in force, or was not looked for."""
    watched_until: datetime | None = None
    """Until when it is watched at least. None before it is applied, and when it is over."""

    @property
    def is_unsent(self) -> bool:
        """Whether it would still be sent."""
        return not self.is_final and self.sent_at is None and not self.stop_asked

    @property
    def label(self) -> str:
        """The state as a page spells it."""
        return self.face.label

    @property
    def tone(self) -> str:
        """The pair of colours of the state."""
        return self.face.tone

    @property
    def went_well(self) -> bool:
        """Whether it is over and did what was asked."""
        return self.state == ActionState.VERIFIED


@dataclass(frozen=True, slots=True)
class ActionPage:
    """Some actions, the newest first, and the cursor of the next page, None when there is none."""

    rows: tuple[ActionRow, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class BatchRow:
    """Actions that were confirmed together, in the order in which they were asked for."""

    batch: str
    rows: tuple[ActionRow, ...]
    stoppable: int
    """How many are not sent yet and may be stopped by the viewer."""

    @property
    def unsent(self) -> int:
        """How many are not sent yet."""
        return sum(row.is_unsent for row in self.rows)

    @property
    def nothing_to_stop(self) -> str:
        """Why there is nothing to stop, in one sentence."""
        sent = sum(row.sent_at is not None for row in self.rows)
        ended = sum(row.sent_at is None and row.is_final for row in self.rows)
        parts = (
            (sent, "had been sent already"),
            (ended, "had ended before"),
            (len(self.rows) - sent - ended, "had been stopped before"),
        )
        said = [f"{count} {words}" for count, words in parts if count]
        return f"Nothing was left to stop: {', '.join(said)}."

    @property
    def open(self) -> int:
        """How many are not over."""
        return sum(not row.is_final for row in self.rows)

    @property
    def counts(self) -> tuple[tuple[str, int], ...]:
        """How many are in each state, by its label."""
        return tuple(sorted(Counter(row.label for row in self.rows).items()))


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One line of the audit."""

    id: int
    at: datetime
    actor: str
    event: str
    cluster: str
    namespace: str
    object_name: str
    sentence: str
    action_id: str
    """Empty when it is about no action."""
    number: int
    """Its place in the chain, and its hash there."""
    digest: str
    source: str
    """The address from which it came; for admins of everything, empty for others."""

    @property
    def event_label(self) -> str:
        """The event in words."""
        return event_label(self.event)

    @property
    def object_label(self) -> str:
        """The object in words: `User ada` for `User/ada`."""
        return self.object_name.replace("/", " ", 1)


@dataclass(frozen=True, slots=True)
class AuditGroup:
    """One action, or one line about none."""

    newest: AuditRow
    """The line that the page shows."""
    lines: tuple[AuditRow, ...]
    """All lines of the action, oldest first. Empty for a line without an action."""


@dataclass(frozen=True, slots=True)
class AuditGroupPage:
    """Some actions and lines, the newest first, and the cursor of the next page."""

    groups: tuple[AuditGroup, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Some lines of the audit, the newest first, and the cursor of the next page."""

    rows: tuple[AuditRow, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class HoldRow:
    """One Hold that is in a cluster."""

    cluster: str
    namespace: str
    name: str
    uid: str
    job: str
    owner_kind: str
    owner_name: str
    """Empty when the owner is not there and nothing names it."""
    owner_uid: str
    gang_id: str
    """Empty when the owner is not there any more."""
    by: str
    reason: str
    action_id: str
    """The action that made it; empty when it was made by hand."""
    since: datetime | None
    until: datetime | None
    in_force: bool | None
    """Whether a resume would be turned back; None when that is not known."""
    checked_at: datetime | None
    """When that was last proved or refuted."""
    lost: bool
    """The JobSet that it held is not there any more."""
    sentence: str
    """What is the matter with it, or empty."""
    face: Face
    job_uid: str = ""
    """Of the Job with that name now; empty when there is none."""
    job_generation: int | None = None


@dataclass(frozen=True, slots=True)
class UnseenHolds:
    """A cluster whose Holds cannot be listed: not the same as having none."""

    cluster: str
    state: str
    """silent, not-served, forbidden, failing, listing …"""
    sentence: str


@dataclass(frozen=True, slots=True)
class HoldPage:
    """Some Holds by place and name, and the clusters that could not be looked at."""

    rows: tuple[HoldRow, ...]
    unseen: tuple[UnseenHolds, ...]
    next_cursor: str | None
