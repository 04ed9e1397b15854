"""Lines of the audit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.pages.core.tables import labels_of
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.formatting import printable

ACTION_EVENTS = ("requested", "denied", "state", "stopped")
ADMIN_EVENTS = (
    *("signed-in", "sign-in-failed", "signed-out", "link-made"),
    *("user-made", "user-enabled", "user-disabled", "role-given", "role-taken"),
    *("password-changed", "token-made", "token-revoked", "token-refused"),
    *("cluster-added", "cluster-changed", "cluster-removed", "switch", "export"),
    "keys-rotated",
)
"""Events about a whole cluster or the installation, which only their admins see."""
EXPORTED = (
    *("number", "at", "event", "actor", "source", "cluster", "namespace"),
    *("object_name", "sentence", "action_id", "digest"),
)
"""Fields of a line in an exported file, in order."""
_LABELS = {
    "requested": "Action requested",
    "denied": "Action denied",
    "state": "Action progressed",
    "stopped": "Action stopped",
    "signed-in": "Signed in",
    "sign-in-failed": "Sign-in failed",
    "signed-out": "Signed out",
    "link-made": "Sign-in link created",
    "user-made": "User added",
    "user-enabled": "User enabled",
    "user-disabled": "User disabled",
    "role-given": "Role given",
    "role-taken": "Role removed",
    "password-changed": "Password changed",
    "token-made": "Token created",
    "token-revoked": "Token revoked",
    "token-refused": "Token refused",
    "cluster-added": "Cluster added",
    "cluster-changed": "Cluster changed",
    "cluster-removed": "Cluster removed",
    "switch": "Setting changed",
    "export": "File exported",
    "logs-read": "Log read",
    "channel-made": "Channel added",
    "channel-changed": "Channel changed",
    "channel-removed": "Channel removed",
    "channel-tested": "Channel tested",
    "rule-made": "Rule added",
    "rule-changed": "Rule changed",
    "rule-removed": "Rule removed",
    "rule-muted": "Rule muted",
    "keys-rotated": "Keys rotated",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLineRow:
    """A line of the audit. Lines are added and never changed."""

    number: int = shown("Number", "Its place in the chain of hashes.")
    at: datetime = shown("When")
    event: str = shown("Event", "Such as `requested` or `role-given`; a release may add some.")
    sentence: str = shown("What")
    object_name: str = shown(
        "Object",
        "Such as `Job/train-0` or `User/ada`; null for none.",
        api_name="object",
        empty_is_null=True,
    )
    actor: str = shown("By")
    cluster: str = shown("Cluster", "Null if it is about none.", empty_is_null=True)
    namespace: str = shown("Namespace", "Null if it is about none.", empty_is_null=True)
    action_id: str = shown(
        "Action", "Id of its action in `actions/`; null without one.", empty_is_null=True
    )
    source: str = shown(
        "From",
        "Address from which it came; null if unknown, and for all but admins of everything.",
        empty_is_null=True,
    )
    digest: str = shown("Hash", "SHA-256 of the line and of the hash before it.")
    id: int

    @property
    def event_label(self) -> str:
        """The event in words."""
        return event_label(self.event)

    @property
    def object_label(self) -> str:
        """The object in words: `User ada` for `User/ada`."""
        return self.object_name.replace("/", " ", 1)


COLUMNS = labels_of(AuditLineRow, ("at", "event", "sentence", "object_name", "actor"))


@dataclass(frozen=True, slots=True)
class AuditLinePage:
    """Some lines of the audit, the newest first, and the cursor of the next page."""

    rows: tuple[AuditLineRow, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class AuditGroup:
    """The lines of one action, or one line without an action."""

    newest: AuditLineRow
    """The line that the page shows."""
    lines: tuple[AuditLineRow, ...]
    """All lines of the action, oldest first. Empty for a line without an action."""


@dataclass(frozen=True, slots=True)
class AuditGroupPage:
    """Some groups of lines, the newest first, and the cursor of the next page."""

    groups: tuple[AuditGroup, ...]
    next_cursor: str | None


def event_label(event: str) -> str:
    """Return an event in words. An unknown event of a newer release keeps its code."""
    return _LABELS.get(event) or printable(event)
