"""One change as it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.health import Health
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.state_labels import Face
from gangboard.store.feed import FeedType

HEALTHS = tuple(health.value for health in Health)
TYPES = tuple(type_.value for type_ in FeedType)


@dataclass(frozen=True, slots=True)
class ChangeGangRow:
    """The gang of an event."""

    id: str = shown("Gang", "As in `gangs/{id}/`.")
    kind: str = shown("Kind")
    api_group: str = shown("API group", "Empty for the core group.")
    name: str = shown("Name")


@dataclass(frozen=True, slots=True)
class ChangeActionRow:
    """The action of an event."""

    id: str = shown("Action", "As in `actions/{id}/`.")
    verb: str = shown("Verb")
    state: str = shown("State", "The state of the action now.")
    message: str = shown("Message", "How the action ended.")


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A gang got another verdict or was deleted, or an action ended."""

    cursor: str = shown("Cursor", "Send it as `cursor` to read what came after this event.")
    at: datetime = shown("When")
    type: str = shown("What", "`action`: an action ended.", choices=TYPES)
    cluster: str = shown("Cluster")
    namespace: str = shown("Namespace")
    gang: ChangeGangRow | None = shown(
        "Gang", "Null for an action on a gang that is no longer stored."
    )
    health: str | None = shown(
        "Health",
        "The new health. For `deleted` it is the last one, for `action` null.",
        choices=HEALTHS,
    )
    code: str | None = shown("Code", "The reason code, like `health`.")
    title: str = shown("Title", "Title of the verdict, or what was done to which object.")
    message: str = shown("Message", "The sentence of the verdict, or how the action ended.")
    action: ChangeActionRow | None = shown("Action", "Null for verdicts and deletions.")
    face: Face | None = None
    href: str = ""


@dataclass(frozen=True, slots=True)
class ChangePage:
    """Some events in their order."""

    rows: tuple[ChangeRow, ...]
    cursor: str
    """Where the next page begins. There always is one."""
    after: int
    """The number in that cursor."""
