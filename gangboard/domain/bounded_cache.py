"""LRU cache of function results, bounded by bytes.

Arguments come from clusters, where a single text can be as long as an object. So the number of results
does not bound the memory they take.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import lru_cache
from sys import getsizeof
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

MEBIBYTE = 1024 * 1024
_ENTRY = 256
"""Bytes of an entry itself, without its arguments and result."""
_SIMPLE = frozenset({str, bytes, int, bool, float, Decimal, type(None)})


def bounded_cache(most: int, most_bytes: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Cache the last `most` results of a function, up to about `most_bytes` bytes.

    The size of a result and its arguments is measured once, when it is computed. If the total exceeds the
    bound, all older results are dropped. A cache hit costs as much as with `lru_cache`. Arguments must be
    hashable and positional.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        lock = threading.Lock()
        weight = 0

        def compute(*args: P.args, **kwargs: P.kwargs) -> R:
            nonlocal weight
            result = function(*args, **kwargs)
            added = _ENTRY + weigh((args, result), most_bytes)
            with lock:
                weight += added
                if weight > most_bytes:
                    memory.cache_clear()
                    weight = added
            return result

        memory = lru_cache(maxsize=most)(compute)
        return cast("Callable[P, R]", memory)

    return decorate


def weigh(value: object, enough: int) -> int:
    """Return the size of an object with all its members in bytes. It stops counting above `enough`."""
    weight = 0
    counted: set[int] = set()
    pending = [value]
    while pending and weight <= enough:
        item = pending.pop()
        if id(item) in counted:
            continue
        counted.add(id(item))
        weight += getsizeof(item)
        if type(item) not in _SIMPLE:
            pending += _members(item)
    return weight


def _members(value: object) -> Iterable[object]:
    """Return the members of a collection, a dataclass with slots, or a wire struct.

    Such values must not contain a `msgspec.Raw`, because its `__sizeof__` is not reliable.
    """
    if isinstance(value, tuple | list | frozenset):
        return value
    if isinstance(value, dict):
        return [*value, *value.values()]
    kind = type(value)
    names: tuple[str, ...] = getattr(kind, "__struct_fields__", ()) or getattr(
        kind, "__slots__", ()
    )
    return [getattr(value, name) for name in names]
