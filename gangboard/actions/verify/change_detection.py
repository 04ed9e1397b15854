"""Detection of reverted changes: the objects, the changed values, the Hold, and the reverting client."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gangboard.actions import patches
from gangboard.actions.actor_client import ActorClient, Json, get_object
from gangboard.decode.wire import read_time

# managedFields have whole seconds.
_RESOLUTION = 1.0


@dataclass(frozen=True, slots=True)
class Undone:
    """A change of the action that another client has undone."""

    manager: str
    """Field manager that owns the field now, or empty if it is unknown."""
    held_seconds: float
    sentence: str


@dataclass(slots=True)
class ChangedObjects:
    """The current state of the changed objects."""

    undone: Undone | None = None
    missing: str = ""
    """Name of an object that is gone."""
    notes: list[str] = field(default_factory=list)
    """Sentences about changes that do not undo the action."""
    is_recreated: bool = False
    """An object was re-created with the expected values."""
    raws: list[Json] = field(default_factory=list)


def read_changed_objects(
    client: ActorClient,
    subjects: list[dict[str, Any]],
    *,
    survives: bool,
    since: datetime,
    now: datetime,
) -> ChangedObjects:
    """Read the changed objects once. Raises KubeError.

    `subjects` are those of the action's context; their generation and uid are updated in place.
    `survives`: the lever also applies to an object that is re-created under the same name.
    """
    changed = ChangedObjects()
    for subject in subjects:
        raw = get_object(client, subject["path"])
        if raw is None:
            changed.missing = subject["name"]
            continue
        changed.raws.append(raw)
        _compare(changed, subject, raw, survives=survives, since=since, now=now)
    return changed


def _compare(
    changed: ChangedObjects,
    subject: dict[str, Any],
    raw: Json,
    *,
    survives: bool,
    since: datetime,
    now: datetime,
) -> None:
    meta, expected = raw["metadata"], subject["wanted"]
    is_recreated = meta["uid"] != subject["uid"]
    if not patches.has_values(raw, expected):
        changed.undone = describe_undone(
            subject, raw, is_recreated=is_recreated, since=since, now=now
        )
        return
    if is_recreated:
        state = "it is still held" if survives else "it was created suspended"
        changed.notes.append(f"{subject['name']} was re-created meanwhile; {state}.")
        changed.is_recreated = True
    elif (meta.get("generation") or 0) > (subject["generation"] or 0):
        still = f"; {patches.describe_fields(expected)} did not change" if expected else ""
        changed.notes.append(
            f"Another client changed the spec of {subject['name']} meanwhile (generation "
            f"{subject['generation']} to {meta['generation']}){still}."
        )
    subject["uid"], subject["generation"] = meta["uid"], meta.get("generation")


def describe_undone(
    subject: dict[str, Any], raw: Json, *, is_recreated: bool, since: datetime, now: datetime
) -> Undone:
    """Return the client that reverted an object and the time that the change held.

    Both come from the managedFields of the object.
    """
    pointer = next(
        pointer
        for pointer, value in subject["wanted"].items()
        if patches.value_at(raw, pointer) != value
    )
    manager, time = patches.field_manager(raw, pointer)
    changed_at = read_time(raw["metadata"].get("creationTimestamp") if is_recreated else time)
    seconds = _held_seconds(since, changed_at, now)
    value = patches.describe_fields({pointer: patches.value_at(raw, pointer)})
    client = manager or "another client"
    if is_recreated:
        sentence = (
            f"{client} re-created {subject['name']} with {value} after {seconds:.1f} s, so this action has no "
            "effect any more."
        )
    else:
        sentence = f"{client} set {value} on {subject['name']} after {seconds:.1f} s."
    return Undone(manager, round(seconds, 2), sentence)


def _held_seconds(since: datetime, changed_at: datetime | None, now: datetime) -> float:
    """Return how long the change held, by the time in managedFields if that is plausible.

    That time is the API server's, in whole seconds. Within the first two seconds our own observation is
    more exact. A time outside of the watched period is ignored.
    """
    watched = max(0.0, (now - since).total_seconds())
    if changed_at is None or watched <= 2 * _RESOLUTION:
        return watched
    reported = (changed_at - since).total_seconds()
    if not -_RESOLUTION <= reported <= watched + _RESOLUTION:
        return watched
    return min(max(reported, 0.0), watched)


def find_hold_loss(client: ActorClient, hold: dict[str, Any]) -> str:
    """Return a sentence about a lost Hold of a suspended Job, or an empty string. Raises KubeError."""
    raw = get_object(client, hold["path"])
    name = f"Hold {hold['name']}"
    if raw is None or raw["metadata"]["uid"] != hold.get("uid"):
        return f"{name} was deleted by another client."
    if raw["metadata"].get("deletionTimestamp"):
        return f"{name} is being deleted."
    spec = raw.get("spec") or {}
    if (spec.get("jobName"), spec.get("ownerUID")) != (hold["job"], hold["owner_uid"]):
        return f"{name} was changed: it is for another Job now."
    return ""
