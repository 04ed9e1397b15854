"""What a request to act says, the errors that it can meet, and its answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gangboard.domain.action import ActionTarget, Verb

MOST_AT_ONCE = 50
"""Objects of one confirmation."""


class RequestErrorCode(StrEnum):
    """What is wrong with a request itself, before any lever is looked at."""

    INVALID = "invalid"
    """400: a field is missing or makes no sense."""
    FORBIDDEN = "forbidden"
    """403: visible, but not to be acted on by this person or token."""
    NOT_FOUND = "not-found"
    """404: not there, or not visible: the same answer."""
    MOVED_ON = "moved-on"
    """409: uid or generation is not what the caller saw; both are in the sentence."""
    BUSY = "busy"
    """409: another action on this object is open; `action_id` names it."""
    KEY_REUSED = "key-reused"
    """422: the idempotency key was used for another request; `action_id` names its action."""
    TOO_MANY = "too-many"
    """429: this person has asked for too much within this minute; `wait` is how long it lasts."""


class RequestError(ValueError):
    """The request cannot be taken. The text is one sentence for the one who asked."""

    def __init__(
        self, code: RequestErrorCode, sentence: str, action_id: str = "", *, wait: int = 0
    ) -> None:
        super().__init__(sentence)
        self.code = code
        self.action_id = action_id
        self.wait = wait
        """Seconds after which it may be asked again; 0 when something else is wrong."""


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """What a person asks for. Text is checked here, not trusted."""

    verb: Verb
    target: ActionTarget
    reason: str
    until: datetime | None = None
    idempotency_key: str = ""
    """Unique per person; empty: none, as for a form without JavaScript that carries its own."""
    forced: bool = False
    """Try a lever that is not proved; for admins."""
    via: str = "api"
    """`page` or `api`."""


@dataclass(frozen=True, slots=True)
class AcceptedRequest:
    """A request that was written down, or the one that the same key had made before."""

    action_id: str
    created: bool


@dataclass(frozen=True, slots=True)
class RequestResult:
    """One of several requests of one confirmation: taken, or why not."""

    target: ActionTarget
    action_id: str = ""
    refused: str = ""
