"""Unions of the scheduling API: `{"basic": {}}`, where the presence of a member is the meaning."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from gangboard.decode.quantities import read_minimum
from gangboard.decode.wire import Int32, Wire

WireUnion = dict[str, msgspec.Raw]
"""Member → its bytes. Unlike a struct it also shows members that this release does not know."""

# Longer text of a union that nobody knows would only be cut again on the page.
_MAX_TEXT = 200


class _WireGang(Wire):
    min_count: Int32 | None = None
    min_group_count: Int32 | None = None


_GANG = msgspec.json.Decoder(_WireGang)


@dataclass(frozen=True, slots=True)
class Union:
    """A scheduling policy as read."""

    member: str
    """`gang`, `basic`, `unknown` for any other or several members; empty when nothing is set."""
    min_count: int | None = None
    """`minCount` of a gang of pods, `minGroupCount` of a gang of groups; None when not given."""
    text: str = ""
    """The union as served when its member is neither gang nor basic."""


def present_members(union: WireUnion | None) -> WireUnion:
    """Return the members that are set: null is Go's way to say not set."""
    return {word: raw for word, raw in (union or {}).items() if bytes(raw) != b"null"}


def read_scheduling_policy(union: WireUnion | None) -> Union:
    """Read a scheduling policy. Raises msgspec.ValidationError for a gang that is no object."""
    members = present_members(union)
    if list(members) == ["gang"]:
        gang = _GANG.decode(members["gang"])
        return Union("gang", read_minimum(gang.min_count) or read_minimum(gang.min_group_count))
    if list(members) == ["basic"]:
        return Union("basic")
    text = "" if union is None else msgspec.json.encode(union).decode(errors="replace")
    return Union("unknown" if members else "", text=text[:_MAX_TEXT])
