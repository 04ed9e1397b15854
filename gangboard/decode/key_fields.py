"""Key fields, by which an object of an unknown API version is accepted or rejected.

A plugin marks them in its wire structs: `min_member: KeyField[Int32 | None] = None`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from gangboard.domain.api_resource import Resource

_Path = tuple[str, ...]
_Type = TypeVar("_Type")
_MARK = msgspec.Meta(extra={"key field": True})
KeyField = Annotated[_Type, _MARK]
"""Type of a field that is essential for its object.

Choose a field that every object of the kind has. If kinds or versions differ, mark one field of each. An object must
have one of them, and in a list each item must."""


def key_fields(wire: type[msgspec.Struct]) -> tuple[str, ...]:
    """Return the JSON paths of all `KeyField`s of a wire struct, for `Resource.fields`."""
    return tuple(".".join(path) for path in _marked(wire, ()))


def _marked(wire: type[msgspec.Struct], above: tuple[type, ...]) -> Iterator[_Path]:
    hints = get_type_hints(wire, include_extras=True)
    for name, served in zip(wire.__struct_fields__, wire.__struct_encode_fields__, strict=True):
        if _MARK in get_args(hints[name]):
            yield (served,)
            continue
        for inner in _structs_in(hints[name]):
            if inner not in (wire, *above):  # templates contain templates
                yield from ((served, *path) for path in _marked(inner, (wire, *above)))


def _structs_in(hint: Any) -> Iterator[type[msgspec.Struct]]:  # any type hint
    """Yield the structs of an optional, a union or a list. A map is skipped, because its keys are not fixed."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    elif get_origin(hint) is not dict:
        for inner in get_args(hint):
            yield from _structs_in(inner)


def lacks_key_fields(resource: Resource, wire: Any) -> bool:  # any wire struct
    """Return whether the object has none of the resource's `fields`."""
    return not _has(wire, [tuple(path.split(".")) for path in resource.fields])


def _has(value: Any, paths: Sequence[_Path]) -> bool:  # any part of a wire struct
    """Return whether the value has one of the paths. A list must have items, and each item a path."""
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
    """Return the member with that JSON name, or None."""
    if isinstance(value, dict):
        return value.get(name)
    if isinstance(value, msgspec.Struct):
        names = dict(zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True))
        return getattr(value, names[name], None) if name in names else None
    return None
