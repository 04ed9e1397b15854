"""The Hold behind a suspended Job: which one keeps it, and whether that is still there."""

from __future__ import annotations

from typing import Any

from gangboard.actions.actor_client import ActorClient, get_object
from gangboard.domain.action import Verb
from gangboard.domain.hold import HOLD_LEVER
from gangboard.store.models import Action


def relied_on(action: Action) -> dict[str, Any] | None:
    """Return the Hold that keeps what was asked for: the action's own, or the one that it found."""
    if action.lever != HOLD_LEVER or action.verb != Verb.SUSPEND:
        return None
    found: dict[str, Any] | None = action.context.get("hold") or action.context.get("found_hold")
    return found


def lost(client: ActorClient, hold: dict[str, Any]) -> str:
    """Return what has happened to the Hold, or empty. Raises KubeError."""
    raw = get_object(client, hold["path"])
    name = f"Hold {hold['name']}"
    if raw is None or raw["metadata"]["uid"] != hold.get("uid"):
        return f"{name} was deleted, and not by gangboard."
    if raw["metadata"].get("deletionTimestamp"):
        return f"{name} is being deleted."
    spec = raw.get("spec") or {}
    if (spec.get("jobName"), spec.get("ownerUID")) != (hold["job"], hold["owner_uid"]):
        return f"{name} was changed: it is about another Job now."
    return ""
