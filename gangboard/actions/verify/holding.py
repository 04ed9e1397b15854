"""The Hold behind a suspended Job: whether it is still there and about that Job."""

from __future__ import annotations

from typing import Any

from gangboard.actions.actor_client import ActorClient, get_object


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
