"""Limits for the number of fields and items in JSON, checked before decoding.

Decoding turns one byte of `[{},{},…]` into some 30 bytes of memory, and one byte of `{"a":"b",…}` into 15. So the limit
counts fields and items, each of which becomes an object, instead of bytes.
"""

from __future__ import annotations

import re

import msgspec

MAX_OBJECT_ITEMS = 100_000
"""Limit for one object. etcd rejects objects over 1.5 MiB, and a pod has some hundreds of fields."""
MAX_PAGE_ITEMS = 2_000_000
"""Limit for one page of a list, which allows 4,000 for each requested object."""

# Strings are skipped, so that braces in an annotation do not count. Possessive quantifiers prevent backtracking, even
# in an unterminated string.
_TOKEN = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+"?+)|[{\[,]', re.DOTALL)


def has_more_items(text: bytes | msgspec.Raw, most: int) -> bool:
    """Return whether JSON has more objects, arrays and separators than `most`.

    The time is bounded by `most` and the number of bytes. Most texts are too short to exceed the limit.
    """
    if len(memoryview(text)) <= most:
        return False
    data = text if isinstance(text, bytes) else bytes(text)
    if sum(data.count(mark) for mark in (b"{", b"[", b",")) <= most:
        return False
    number = 0
    for token in _TOKEN.finditer(data):
        number += token.lastindex is None  # not a string
        if number > most:
            return True
    return False
