"""Decoder of scheduling policies, which are unions such as `{"basic": {}}` with one member set."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from gangboard.decode.quantities import read_minimum
from gangboard.decode.wire import Int32, Wire

WireUnion = dict[str, msgspec.Raw]
"""Member → its bytes. Unlike a struct it also has unknown members."""

# Limit for the text of an unknown union, which pages show.
_MAX_TEXT = 200


class _WireGang(Wire):
    min_count: Int32 | None = None
    min_group_count: Int32 | None = None


_GANG = msgspec.json.Decoder(_WireGang)


@dataclass(frozen=True, slots=True)
class SchedulingPolicy:
    """A decoded scheduling policy."""

    member: str
    """`gang`, `basic`, or `unknown` for any other or several members. Empty if no member is set."""
    min_count: int | None = None
    """`minCount` of a gang of pods or `minGroupCount` of a gang of groups, or None if it is not set."""
    text: str = ""
    """The union as served if the member is unknown."""


def present_members(union: WireUnion | None) -> WireUnion:
    """Return the members that are set. Go writes null for an unset member."""
    return {member: raw for member, raw in (union or {}).items() if bytes(raw) != b"null"}


def read_scheduling_policy(union: WireUnion | None) -> SchedulingPolicy:
    """Decode a scheduling policy. Raises msgspec.ValidationError for a gang that is no object."""
    members = present_members(union)
    if list(members) == ["gang"]:
        gang = _GANG.decode(members["gang"])
        return SchedulingPolicy(
            "gang", read_minimum(gang.min_count) or read_minimum(gang.min_group_count)
        )
    if list(members) == ["basic"]:
        return SchedulingPolicy("basic")
    text = "" if union is None else msgspec.json.encode(union).decode(errors="replace")
    return SchedulingPolicy("unknown" if members else "", text=text[:_MAX_TEXT])
