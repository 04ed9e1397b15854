"""Whether an object of an API version that is not known has the fields that its decoder reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from gangboard.domain.registry import Resource

_Path = tuple[str, ...]


def lacks_fields(resource: Resource, wire: Any) -> bool:  # any wire struct
    """Return True if the object has none of the resource's `fields`."""
    return not _has(wire, [tuple(path.split(".")) for path in resource.fields])


def _has(value: Any, paths: Sequence[_Path]) -> bool:  # any part of a wire struct
    """Return True if the value has one of the paths; a list if it has items and each of them does."""
    if value is None:
        return False
    if isinstance(value, list):
        return bool(value) and all(_has(item, paths) for item in value)
    if isinstance(value, msgspec.Raw):
        return _has(msgspec.json.decode(value), paths)
    if any(not path for path in paths):
        return bool(value != "")
    heads = dict.fromkeys(path[0] for path in paths)
    return any(
        _has(_member(value, head), [path[1:] for path in paths if path[0] == head])
        for head in heads
    )


def _member(value: Any, name: str) -> Any:  # any part of a wire struct
    """Return the member with that JSON name; None if there is none."""
    if isinstance(value, dict):
        return value.get(name)
    if isinstance(value, msgspec.Struct):
        names = dict(zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True))
        return getattr(value, names[name], None) if name in names else None
    return None
