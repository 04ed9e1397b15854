"""Rows of channels, rules and messages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.notify.outbox import STATES
from gangboard.notify.posting import KINDS
from gangboard.notify.rules import TRIGGERS
from gangboard.readmodels.declarations import shown

CHANNEL_STATES = ("new", "works", "fails")
RULE_STATES = ("in force", "muted", "ended")


@dataclass(frozen=True, slots=True)
class ChannelRow:
    """A place to which messages go. Its address is never shown again."""

    name: str = shown("Channel")
    id: str = shown("Id", on_page=False)
    kind: str = shown(
        "Kind", "`apprise` for people, `webhook` for programs.", on_page=False, choices=KINDS
    )
    service: str = shown("Goes to", "The service, or scheme and host of a webhook.")
    used_by: str = shown("For", "Whose rules may use it: `admins`, `everybody`, or one person.")
    state: str = shown("State", choices=CHANNEL_STATES)
    error: str = shown("Error", "Why the last attempt failed. Empty if the caller is not an admin.")
    owner: str = shown(
        "Person", "The one person whose rules may use it; empty: no single person.", on_page=False
    )
    for_everybody: bool = shown("For everybody", on_page=False)
    waiting: int = shown("Waiting", "Messages that are still to be sent.")
    sent_at: datetime | None = shown("Last message", "When it took a message last.")


@dataclass(frozen=True, slots=True)
class NewChannelRow(ChannelRow):
    """A channel that was made just now."""

    secret: str = shown(
        "Secret", "Secret that signs the requests of a webhook. It is shown only once.", default=""
    )


@dataclass(frozen=True, slots=True)
class RuleRow:
    """Conditions of a message, and the channels it goes to."""

    name: str = shown("Rule")
    id: str = shown("Id", on_page=False)
    when: str = shown("When", "The conditions in words.")
    channels: tuple[str, ...] = shown("Channels")
    owner_text: str = shown("Of", in_api=False)
    owner: str | None = shown("Owner", "Whose rule it is; null: of all admins.", on_page=False)
    state: str = shown("State", choices=RULE_STATES)
    muted_until: datetime | None = shown("Muted until")
    trigger: str = shown("Trigger", on_page=False, choices=TRIGGERS)
    minutes: int | None = shown("Minutes", on_page=False)
    cluster: str | None = shown("Cluster", on_page=False)
    namespace: str = shown("Namespace", "A pattern such as `team-*`.", on_page=False)
    kind: str = shown("Kind", on_page=False)
    code: str = shown("Reason", "A reason code.", on_page=False)
    health: str = shown("Health", on_page=False)
    accelerators_at_least: float | None = shown("Accelerators at least", on_page=False)
    gang_id: str = shown("Gang", "The one gang that it is about.", on_page=False)
    created_at: datetime | None = shown("Made", on_page=False, default=None)

    @property
    def is_muted(self) -> bool:
        """Whether the rule sends no messages for now."""
        return self.state == "muted"


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """A message to one channel, and what became of it."""

    rule: str = shown("Message of", "The rule; empty for a test of the channel.")
    id: str = shown("Id", on_page=False)
    channel: str = shown("Channel")
    about: int = shown("Changes", "Number of changes in it.")
    state: str = shown("State", choices=STATES)
    attempts: int = shown("Attempts")
    error: str = shown("Error", "Why the last attempt failed.")
    created_at: datetime = shown("Made")
    next_at: datetime | None = shown("Next attempt", "Null when it is over.")
    finished_at: datetime | None = shown("Over", "When it was sent or given up.")
