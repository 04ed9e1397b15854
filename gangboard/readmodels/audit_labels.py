"""The events of the audit in words, each written once."""

from __future__ import annotations

from gangboard.readmodels.printable import printable

_LABELS = {
    "requested": "Action requested",
    "denied": "Action denied",
    "state": "Action progressed",
    "stopped": "Action stopped",
    "signed-in": "Signed in",
    "sign-in-failed": "Sign-in failed",
    "signed-out": "Signed out",
    "link-made": "Sign-in link made",
    "user-made": "User added",
    "user-enabled": "User enabled",
    "user-disabled": "User disabled",
    "role-given": "Role given",
    "role-taken": "Role taken",
    "password-changed": "Password changed",
    "token-made": "Token made",
    "token-revoked": "Token revoked",
    "token-refused": "Token refused",
    "cluster-added": "Cluster added",
    "cluster-changed": "Cluster changed",
    "cluster-removed": "Cluster removed",
    "switch": "Setting changed",
    "export": "File exported",
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


def event_label(event: str) -> str:
    """Return an event in words; one from a newer release is printed as it is."""
    return _LABELS.get(event) or printable(event)
