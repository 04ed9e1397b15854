"""Results that are kept because many ask for the same, within a bound of bytes.

What is asked with comes from clusters, where one text can be as long as an object: a number of results
says nothing of the memory that they take.
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
"""What an entry takes besides what is in it."""
_SIMPLE = frozenset({str, bytes, int, bool, float, Decimal, type(None)})


def bounded_cache(most: int, most_bytes: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Keep up to `most` results of a function, those asked for last, and about `most_bytes` of them.

    Every result is weighed with its arguments when it is made; when they come to more, all that was
    kept before is forgotten. Asking for what is kept costs as much as without the bound. What is
    asked with is hashable and comes by position.
    """

    def decorate(work: Callable[P, R]) -> Callable[P, R]:
        lock = threading.Lock()
        weight = 0

        def make(*args: P.args, **more: P.kwargs) -> R:
            nonlocal weight
            result = work(*args, **more)
            added = _ENTRY + weigh((args, result), most_bytes)
            with lock:
                weight += added
                if weight > most_bytes:
                    memory.cache_clear()
                    weight = added
            return result

        memory = lru_cache(maxsize=most)(make)
        return cast("Callable[P, R]", memory)

    return decorate


def weigh(value: object, enough: int) -> int:
    """Return the bytes of an object and of all that it is made of; no more is counted than `enough`."""
    weight = 0
    seen: set[int] = set()
    left = [value]
    while left and weight <= enough:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        weight += getsizeof(one)
        if type(one) not in _SIMPLE:
            left += _parts(one)
    return weight


def _parts(one: object) -> Iterable[object]:
    """Return what is in a collection, a dataclass with slots, or a struct of the wire.

    None of them has a `msgspec.Raw`, whose `__sizeof__` says any number.
    """
    if isinstance(one, tuple | list | frozenset):
        return one
    if isinstance(one, dict):
        return [*one, *one.values()]
    kind = type(one)
    names: tuple[str, ...] = getattr(kind, "__struct_fields__", ()) or getattr(
        kind, "__slots__", ()
    )
    return [getattr(one, name) for name in names]
