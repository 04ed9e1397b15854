"""The largest objects that a wire type takes, and how much work they are.

Work is counted in lines of Python, which is the same on every machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from tests.decode.reading import Json

Answer = TypeVar("Answer")
LARGEST = 2**31 - 1
_IDENTITY = {
    "name": "big",
    "namespace": "team-a",
    "uid": "uid-big",
    "resourceVersion": "7",
    "generation": 1,
    "creationTimestamp": "2026-11-20T09:00:00Z",
}
_LEFT_OUT = frozenset({"managedBy"})
"""Fields that end the work early: what another manager runs elsewhere is judged by one rule."""
_FIRST = (inspect.StructType, inspect.ListType, inspect.DictType, inspect.IntType, inspect.StrType)
"""Which type of a union is taken."""


def largest(wire: type[Any], entries: int, inner: int) -> Json:
    """Return an object with every field of a wire type: int32 at its most, names `n0`, `n1`, … in lists.

    Lists and maps have `entries` items, and nested ones `inner` items. A list that refers to another list
    contains valid references.
    """
    created = _Maker(entries, inner).of(inspect.type_info(wire), 0, 0, ())
    return {**created, "metadata": {**_metadata(created["metadata"]), **_IDENTITY}}


def _metadata(obj: Json) -> Json:
    unwanted = ("deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences")
    return {name: value for name, value in obj.items() if name not in unwanted}


class _Maker:
    def __init__(self, entries: int, inner: int) -> None:
        self._entries, self._inner = entries, inner

    def of(self, info: Any, index: int, depth: int, above: tuple[type[Any], ...]) -> Any:
        if isinstance(info, inspect.Metadata):  # such as the mark of a key field
            return self.of(info.type, index, depth, above)
        if isinstance(info, inspect.UnionType):
            known = [entry for entry in info.types if isinstance(entry, _FIRST)]
            return self.of(known[0], index, depth, above) if known else None
        if isinstance(info, inspect.StructType):
            return self._struct(info, index, depth, above)
        number = self._inner if depth else self._entries
        if isinstance(info, inspect.ListType):
            items = (
                self.of(info.item_type, position, depth + 1, above) for position in range(number)
            )
            return [item for item in items if item is not None]
        if isinstance(info, inspect.DictType):
            return {
                f"n{position}": self.of(info.value_type, position, depth + 1, above)
                for position in range(number)
            }
        if isinstance(info, inspect.IntType):
            return LARGEST
        return f"n{index}" if isinstance(info, inspect.StrType) else None

    def _struct(
        self, info: inspect.StructType, index: int, depth: int, above: tuple[type[Any], ...]
    ) -> Json | None:
        if info.cls in above:
            return None
        created = {
            field.encode_name: self.of(field.type, index, depth, (*above, info.cls))
            for field in info.fields
            if field.encode_name not in _LEFT_OUT
        }
        return {name: value for name, value in created.items() if value is not None}


class TooMuchWorkError(BaseException):
    """More lines were run than are allowed. No rule and no reader takes it for an error of its own."""


def lines_of(call: Callable[[], Answer], most: int) -> tuple[int, Answer]:
    """Return how many lines of Python a call runs, and its answer. Raises TooMuchWorkError above `most`."""
    lines = 0

    def count(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal lines
        if event == "line":
            lines += 1
            if lines > most:
                raise TooMuchWorkError(f"more than {most:,} lines")
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        answer = call()
    finally:
        sys.settrace(before)
    return lines, answer


def body_of(obj: Json) -> bytes:
    """Return a list of one object as the API server sends it."""
    return msgspec.json.encode(
        {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": [obj]}
    )
