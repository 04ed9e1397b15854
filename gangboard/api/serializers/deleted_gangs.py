"""The JSON of a deleted gang, of which only its history is left."""

from __future__ import annotations

from typing import Any

from gangboard.api.serializers.gang_detail import MORE, GangDetailSerializer
from gangboard.api.serializers.gangs import GangSerializer
from gangboard.readmodels.gang_history import DeletedGang

_KEPT = (
    *("id", "cluster", "api_group", "kind", "namespace", "name", "uid", "queue", "created_at"),
    *("health", "stage", "code", "title", "message", "advice", "since", "observed_at"),
    *("findings", "timeline", "waits", "gone_at"),
)
_NOT_ANY_MORE: dict[str, Any] = {
    "stale": False,
    "actions": [],
    "next_steps": [],
    "queue_waits": [],
    "fit": [],
    "groups_unseen": [],
}
"""Values of every deleted gang: nothing can be done to it, and none of its pods waits."""


def serialize_deleted_gang(gang: DeletedGang) -> dict[str, Any]:
    """Return every key of `gangs/{id}/`; what nobody knows any more is null."""
    fields = GangDetailSerializer().fields
    kept = {name: (fields[name], fields[name].get_attribute(gang)) for name in _KEPT}
    known = _NOT_ANY_MORE | {
        name: None if value is None else field.to_representation(value)
        for name, (field, value) in kept.items()
    }
    return {name: known.get(name) for name in (*GangSerializer().fields, *MORE)}
