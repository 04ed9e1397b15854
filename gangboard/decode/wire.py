"""Wire structs and decoders of the parts that every object has: metadata, conditions and times.

Wire structs have the fields that gangboard reads, and msgspec skips all others without building them. A list, struct or
optional number may be `null` or missing. Times stay text until a model is built. So an unchanged object costs no
parsing, and a malformed time does not affect the rest of its object. Numbers have the limits of the API, and names those
of the database. A value outside makes its object a problem, instead of a failed write of all objects.
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
    """Base of all wire structs, with camel-case names in JSON and without tracking by the garbage collector."""


class WireOwnerReference(Wire):
    """Entry of `metadata.ownerReferences`."""

    uid: str = ""
    kind: str = ""
    name: str = ""
    api_version: str = ""
    controller: bool | None = None


class WireMeta(Wire):
    """`metadata`. Kinds with relevant labels or annotations extend it."""

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
    """Object of which only the presence counts."""


class WireCondition(Wire):
    """Condition of a pod, a Job or a custom resource."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


def read_time(text: str | None) -> datetime | None:
    """Return an RFC 3339 time (Go's Time and MicroTime) in UTC, from the year 1000 to 9000.

    None if the text is missing, Go's zero time (year 1), or not a time with an offset. Other times are moved to the
    nearest of these years. Rules add hours to a time, and an overflow would fail the whole cluster.
    """
    time = read_unbounded_time(text)
    return None if time is None else min(max(time, _EARLIEST), _LATEST)


def read_unbounded_time(text: str | None) -> datetime | None:
    """Return the time in any year of the calendar, for times that are only compared and printed."""
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
    """Return a number that the API server defaults to 1. Negative numbers become 0."""
    return 1 if number is None else max(0, number)


def read_text(text: str | None) -> str:
    """Return the text without NUL characters, which containers can write and databases reject."""
    return text.replace("\x00", "") if text else ""


def read_condition(condition: WireCondition) -> Condition:
    """Return a condition with its texts as served, even with an unknown status."""
    return Condition(
        type=condition.type,
        status=condition.status,
        reason=condition.reason or "",
        message=read_text(condition.message),
        since=read_time(condition.last_transition_time),
    )


def pick_condition(conditions: list[WireCondition] | None, type_: str) -> Condition | None:
    """Return the condition of that type, or None, without building the others."""
    for condition in conditions or ():
        if condition.type == type_:
            return read_condition(condition)
    return None


def read_conditions(conditions: list[WireCondition] | None) -> tuple[Condition, ...]:
    """Return all conditions in their order."""
    return tuple(map(read_condition, conditions or ()))


def api_group(api_version: str) -> str:
    """Return `batch` of `batch/v1`, and the empty core group of `v1`."""
    group, slash, _ = api_version.rpartition("/")
    return group if slash else ""


def _read_controller(reference: WireOwnerReference) -> Controller:
    group = api_group(reference.api_version)
    return Controller(group, reference.kind, reference.name, reference.uid)


def read_meta(metadata: WireMeta, group: str, kind: str, version: str) -> Meta:
    """Return the stored fields of `metadata`. `version` is the served version without the group."""
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
        annotated=_has_annotations(metadata),
    )


def _has_annotations(metadata: WireMeta) -> bool:
    """Return whether the object has annotations. The structs of kinds that actions change have the attribute."""
    annotations = getattr(metadata, "annotations", None)
    return (
        bytes(annotations) != b"null"
        if isinstance(annotations, msgspec.Raw)
        else annotations is not None
    )
