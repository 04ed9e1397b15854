"""What every object has on the wire: metadata, conditions, times. Lenient where truth allows it.

Wire structs name only the fields that are read: msgspec skips everything else without building
it. A list, struct or optional number may be `null` or missing. Times stay text until a model is
built, so that an unchanged object costs no parsing and a malformed time loses the time, not the
object. Numbers are bounded as the API bounds them and identities as the store keeps them: a value
outside makes its object a problem, never a failed write of all the others.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import msgspec

from gangboard.domain.api_resource import DecodeError
from gangboard.domain.objects import Condition, Controller, Meta, ObjectRef

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Uid = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
Namespace = Annotated[str, msgspec.Meta(max_length=253)]
ResourceVersion = Annotated[str, msgspec.Meta(max_length=128)]

_EARLIEST, _LATEST = datetime(1000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


class Wire(msgspec.Struct, rename="camel", gc=False):
    """Base of all wire structs: JSON names in camel case, not tracked by the garbage collector."""


class WireOwnerReference(Wire):
    """One entry of `metadata.ownerReferences`."""

    uid: str = ""
    kind: str = ""
    name: str = ""
    api_version: str = ""
    controller: bool | None = None


class WireMeta(Wire):
    """`metadata`. Kinds whose labels or annotations are read extend it with the few by name."""

    name: Name
    uid: Uid
    namespace: Namespace = ""
    resource_version: ResourceVersion = ""
    generation: Int64 | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: Int64 | None = None
    owner_references: list[WireOwnerReference] | None = None


class WirePresence(Wire):
    """An object of which only the presence counts."""


class WireCondition(Wire):
    """One condition, of a pod, a Job or a custom resource alike."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


def read_time(text: str | None) -> datetime | None:
    """Return an RFC 3339 time (Go's Time and MicroTime) in UTC, from the year 1000 to 9000.

    None for nothing, for Go's zero time (year 1), and for what is no time with an offset. A time
    beyond is brought to the nearest of these years: rules add hours to it, and must not fall off
    the end of the calendar for all other objects of the cluster.
    """
    time = read_unbounded_time(text)
    return None if time is None else min(max(time, _EARLIEST), _LATEST)


def read_unbounded_time(text: str | None) -> datetime | None:
    """Return the same in any year of the calendar: for what is only compared and printed."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is None or time.year == 1:
            return None
        return time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def or_one(number: int | None) -> int:
    """Return a number of which the API server makes one where it is left out, and that is not negative."""
    return 1 if number is None else max(0, number)


def read_text(text: str | None) -> str:
    """Return text for people, without NUL: containers can write it and databases refuse it."""
    return text.replace("\x00", "") if text else ""


def read_condition(condition: WireCondition) -> Condition:
    """Return a condition with its words as they are on the wire; an unknown status is kept."""
    return Condition(
        type=condition.type,
        status=condition.status,
        reason=condition.reason or "",
        message=read_text(condition.message),
        since=read_time(condition.last_transition_time),
    )


def pick_condition(conditions: list[WireCondition] | None, type_: str) -> Condition | None:
    """Return the one condition of that type, or None, without building the others."""
    for condition in conditions or ():
        if condition.type == type_:
            return read_condition(condition)
    return None


def read_conditions(conditions: list[WireCondition] | None) -> tuple[Condition, ...]:
    """Return all conditions in the order in which they are served."""
    return tuple(map(read_condition, conditions or ()))


def api_group(api_version: str) -> str:
    """Return `batch` of `batch/v1`, and the empty core group of `v1`."""
    group, slash, _ = api_version.rpartition("/")
    return group if slash else ""


def _read_controller(reference: WireOwnerReference) -> Controller:
    group = api_group(reference.api_version)
    return Controller(group, reference.kind, reference.name, reference.uid)


def read_meta(metadata: WireMeta, group: str, kind: str, version: str) -> Meta:
    """Return the kept part of `metadata`; `version` is the served one, without the group."""
    identity = (metadata.uid, metadata.namespace, metadata.name, metadata.resource_version)
    if any("\x00" in text for text in identity):
        raise DecodeError("its name has a NUL character, which no API server allows")
    references = metadata.owner_references or ()
    controller = next((reference for reference in references if reference.controller), None)
    return Meta(
        api_version=version,
        ref=ObjectRef(group, kind, metadata.namespace, metadata.name, metadata.uid),
        resource_version=metadata.resource_version,
        generation=metadata.generation or 0,
        created_at=read_time(metadata.creation_timestamp),
        deleting_since=read_time(metadata.deletion_timestamp),
        controller=_read_controller(controller) if controller else None,
        owner_uids=tuple(reference.uid for reference in references),
        # Only kinds that are acted on name annotations in their metadata.
        annotated=getattr(metadata, "annotations", None) is not None,
    )
