"""How much is in a text of JSON, counted before anything of it is built.

Decoding makes some 30 bytes of memory from one byte of `[{},{},…]` and 15 from one of `{"a":"b",…}`.
So what is counted is not bytes but what becomes an object each: fields and items.
"""

from __future__ import annotations

import re

import msgspec

MAX_OBJECT_ITEMS = 100_000
"""Fields and items of one object. etcd refuses objects over 1.5 MiB; a pod has some hundreds."""
MAX_PAGE_ITEMS = 2_000_000
"""Most fields and items of one page of a list: 4,000 for each object that is asked for."""

# Texts are stepped over, so that a brace in an annotation counts for nothing. Nothing is tried twice,
# not even in a text that never ends.
_TOKEN = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+"?+)|[{\[,]', re.DOTALL)


def has_more_items(text: bytes | msgspec.Raw, most: int) -> bool:
    """Whether JSON has more objects, arrays and separators between their members than `most`.

    The time is bounded by `most` and the bytes; most texts are too short to have so many.
    """
    if len(memoryview(text)) <= most:
        return False
    whole = text if isinstance(text, bytes) else bytes(text)
    if sum(whole.count(mark) for mark in (b"{", b"[", b",")) <= most:
        return False
    found = 0
    for token in _TOKEN.finditer(whole):
        found += token.lastindex is None  # no text
        if found > most:
            return True
    return False
