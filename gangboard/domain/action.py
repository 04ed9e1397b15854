"""The words of acting: what may be asked, with which lever, in which steps, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gangboard.domain.objects import ObjectRef


class Verb(StrEnum):
    """What a person may ask for."""

    SUSPEND = "suspend"
    RESUME = "resume"


class ActionState(StrEnum):
    """Where an action is. The way is the first seven, the rest are exits."""

    REQUESTED = "requested"
    CHECKED = "checked"
    ARMED = "armed"
    PROVED = "proved"
    SENT = "sent"
    APPLIED = "applied"
    VERIFIED = "verified"
    REFUSED = "refused"
    CONFLICT = "conflict"
    GONE = "gone"
    EXPIRED = "expired"
    REVERTED = "reverted"
    UNKNOWN = "unknown"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        """Nothing more is done. `verified` can still become `reverted` when a poll sees it undone.

        `unknown` is not final by itself: it is resolved by reading, or says so when it cannot be.
        """
        return self in _FINAL


_FINAL = frozenset(
    {
        ActionState.VERIFIED,
        ActionState.REFUSED,
        ActionState.CONFLICT,
        ActionState.GONE,
        ActionState.EXPIRED,
        ActionState.REVERTED,
        ActionState.FAILED,
    }
)


class StepState(StrEnum):
    """Where a step is. `sending` is written before anything is sent: a crash there is `unknown`."""

    PENDING = "pending"
    SENDING = "sending"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"


class StepKind(StrEnum):
    """What a step is to the one that carries it out."""

    CREATE_HOLD = "create-hold"
    PROVE_HOLD = "prove-hold"
    """Dry run: an un-suspend must come back suspended."""
    PATCH = "patch"
    CREATE = "create"
    """Of an object by which a controller is asked to act: confirmed by the status of what it is about."""
    DELETE_HOLD = "delete-hold"
    PROVE_RELEASE = "prove-release"
    """Dry run: an un-suspend must come back un-suspended."""


@dataclass(frozen=True, slots=True)
class ActionTarget:
    """The object that an action is about, as the caller saw it."""

    cluster: str
    api_group: str
    kind: str
    namespace: str
    name: str
    uid: str
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """What is asked for. Form and JSON make one, and it goes down to the row of the action and its audit line.

    Its text is checked by `actions.requests`, not trusted.
    """

    verb: Verb
    target: ActionTarget
    reason: str
    until: datetime | None = None
    idempotency_key: str = ""
    """Unique per person; empty for none, as for a form without JavaScript that carries its own."""
    forced: bool = False
    """Try a lever that is not proved; for admins."""
    via: str = "api"
    """`page`, `api` or `gangboard`."""
    ended_hold: str = ""
    """uid of the one Hold that a resume removes because its end came; empty: of a person, who removes all."""


@dataclass(frozen=True, slots=True)
class Step:
    """One request to an API server, complete before anything is sent."""

    kind: StepKind
    name: str
    """What it does, for people: `Create the Hold`."""
    subject: ObjectRef
    method: str
    """`POST`, `PATCH` (JSON patch, tests first), `MERGE` (merge patch, for dry runs) or `DELETE`."""
    path: str
    """Path of the request at the API server."""
    patch: str = ""
    """The exact body, as JSON. For `DELETE` the preconditions."""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be done and what would come of it; or why it is not done."""

    verb: Verb
    subject: ObjectRef
    generation: int
    lever: str | None = None
    """Key of the lever; None when it is not allowed."""
    why_not: str = ""
    """One sentence when it is not allowed; empty when it is."""
    needs: str = ""
    """What to install or switch on so that it would be allowed, or empty."""
    steps: tuple[Step, ...] = ()
    reactions: tuple[str, ...] = ()
    """Who will react to it, and how: the owner's policies and other controllers."""
    warnings: tuple[str, ...] = ()
    before: dict[str, str] = field(default_factory=dict)
    """The fields that it changes, as they are now: `spec.suspend` → `false`."""
    after: dict[str, str] = field(default_factory=dict)
    watch_seconds: float = 0.0
    """How long after `sent` it is watched at least before it can be called verified."""
    label: str = ""
    """The word on the button, such as `Hold`. Empty where the verb is the right word."""
    meaning: str = ""
    """What the button does, in a sentence. Empty where the verb says it."""

    @property
    def allowed(self) -> bool:
        """Whether it may be asked for at all."""
        return not self.why_not


class PolicyState(StrEnum):
    """How the Hold resource and its policy are installed. Installed is not yet in force."""

    INSTALLED = "installed"
    MISSING = "missing"
    CHANGED = "changed"
    NOT_SEEN = "not-seen"
    """The reader may not look: only a proof can tell."""


@dataclass(frozen=True, slots=True)
class ClusterLevers:
    """What one cluster allows, apart from the object."""

    cluster: str = ""
    """Its name in gangboard, for the commands in sentences."""
    context: str = ""
    """What the person's kubectl calls it, for the same. Empty if unknown."""
    has_actor: bool = False
    read_only: str = ""
    """Why nothing may be sent: the switch that is on, in a sentence; empty when none is."""
    read_only_command: str = ""
    """The command that switches it off."""
    parallelism: bool = False
    hold: PolicyState = PolicyState.MISSING
    hold_sentence: str = ""
    """What is wrong with the Hold's installation, or empty."""
    hold_proved_at: datetime | None = None
    hold_refuted_at: datetime | None = None
    """When a proof failed last, if it failed after the last one that held."""
    native_honoured: bool = False
    """This build of JobSet was seen to leave a child Job suspended that asked for it."""
    build: str = ""
    """What tells this build of JobSet from others, to show."""
    forced: bool = False
    """An admin asked to try an unproved lever: a plain suspend, watched like every other."""
