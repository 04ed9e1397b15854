"""Fragments of a page. Each has a fingerprint of its content, so an update sends only the changed ones.

The version of a page lists the marks of its fragments in order. The browser sends it back, and the server sends
the fragments whose marks are missing in it. A forged or broken version gets all fragments.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from django.template.loader import render_to_string

SIZE = 6
"""Bytes of a fingerprint, and of a mark."""
MOST_MARKS = 480
"""Marks of one version. On a page with more fragments, several fragments share a mark."""
LONGEST_VERSION = 4_000
"""Characters. The version travels in a header, and proxies accept 8 KB for all headers together."""
AS_BEFORE = "…"
"""Placeholder in an order for the children that the browser already shows at this place."""
Neighbours = frozenset[tuple[bytes, bytes]]
"""Pairs of fingerprints of adjacent fragments."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """An element that is replaced as a whole. The root element of its template has the fragment's id."""

    id: str
    template: str
    context: Mapping[str, object]
    shown: object
    """The printed values without ages, which the browser updates itself."""
    fingerprint: bytes = field(init=False, repr=False)
    """Digest of the id and the printed values."""
    length: int = field(init=False, repr=False)
    """Characters of the printed values."""

    def __post_init__(self) -> None:
        # The repr of a frozen dataclass contains every field, so no printed value can be forgotten.
        text = repr((self.id, self.shown))
        object.__setattr__(self, "fingerprint", _digest(text))
        object.__setattr__(self, "length", len(text))

    def render(self, base: Mapping[str, object]) -> str:
        """Return the HTML. `base` is the context of every template, such as `now`."""
        return render_to_string(self.template, {**base, **self.context, "fragment_id": self.id})


@dataclass(frozen=True, slots=True)
class FragmentList:
    """An element whose children are fragments that can be added, removed and moved."""

    id: str
    fragments: tuple[Fragment, ...]
    fingerprint: bytes = field(init=False, repr=False)
    """Digest of the ids of the children in order. Their content does not change it."""

    def __post_init__(self) -> None:
        ids = [fragment.id for fragment in self.fragments]
        object.__setattr__(self, "fingerprint", _digest(repr((self.id, ids))))

    @property
    def neighbours(self) -> Neighbours:
        """Return the pairs of adjacent children."""
        return frozenset(pairwise(fragment.fingerprint for fragment in self.fragments))

    def order(self, known: Neighbours) -> tuple[str, ...]:
        """Return the ids in order, with AS_BEFORE for children whose neighbours are unchanged."""
        pairs = pairwise(fragment.fingerprint for fragment in self.fragments)
        follows = [False, *(pair in known for pair in pairs), False]
        ids: list[str] = []
        for fragment, *both in zip(self.fragments, follows, follows[1:], strict=False):
            if not all(both):
                ids.append(fragment.id)
            elif ids[-1] != AS_BEFORE:
                ids.append(AS_BEFORE)
        return tuple(ids)


@dataclass(frozen=True, slots=True)
class Diff:
    """The difference between a page and a version: fragments to replace, and changed lists."""

    fragments: tuple[Fragment, ...] = ()
    lists: tuple[ListDiff, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.fragments or self.lists)


@dataclass(frozen=True, slots=True)
class ListDiff:
    """New or changed children of a list, and the new order if children were added, removed or moved."""

    id: str
    order: tuple[str, ...] | None
    """Ids, and AS_BEFORE."""
    fragments: tuple[Fragment, ...] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Version:
    """The version of a page in a browser: its fragments, and when they were read."""

    marks: frozenset[bytes] = frozenset()
    read_at: int = 0
    """Milliseconds since 1970."""
    neighbours: Neighbours = frozenset()


def marks_of(page: Iterable[Fragment | FragmentList]) -> Mapping[bytes, bytes]:
    """Return fingerprint → mark. There are at most MOST_MARKS marks.

    The mark is the fingerprint, unless the page has more fragments. Fragments whose ids fall into the same
    bucket then share a mark, and a change of one of them sends them all.
    """
    elements = list(_elements(page))
    if len(elements) <= MOST_MARKS:
        return {fingerprint: fingerprint for _, fingerprint in elements}
    buckets: dict[int, list[bytes]] = {}
    for name, fingerprint in elements:
        buckets.setdefault(int.from_bytes(_digest(name)) % MOST_MARKS, []).append(fingerprint)
    return {
        fingerprint: _digest(repr(sorted(fingerprints)))
        for fingerprints in buckets.values()
        for fingerprint in fingerprints
    }


def write_version(page: Iterable[Fragment | FragmentList], read_at: int) -> str:
    """Return the version of a page, an opaque text."""
    marks = b"".join(dict.fromkeys(marks_of(page).values()))
    return base64.urlsafe_b64encode(read_at.to_bytes(SIZE, "big") + marks).decode()


def read_version(text: str) -> Version:
    """Return the decoded version. An invalid or too long text gives an empty version."""
    if len(text) > LONGEST_VERSION:
        return Version()
    try:
        raw = base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        return Version()
    if not raw or len(raw) % SIZE:
        return Version()
    marks = [raw[start : start + SIZE] for start in range(SIZE, len(raw), SIZE)]
    read_at = int.from_bytes(raw[:SIZE], "big")
    return Version(frozenset(marks), read_at, frozenset(pairwise(marks)))


def diff_page(page: Sequence[Fragment | FragmentList], version: Version) -> Diff:
    """Return the parts of the page that are not in the browser's version."""
    known = {fingerprint for fingerprint, mark in marks_of(page).items() if mark in version.marks}
    fragments: list[Fragment] = []
    lists: list[ListDiff] = []
    for element in page:
        if isinstance(element, Fragment):
            if element.fingerprint not in known:
                fragments.append(element)
            continue
        changed = tuple(
            fragment for fragment in element.fragments if fragment.fingerprint not in known
        )
        moved = element.fingerprint not in known
        if changed or moved:
            order = element.order(version.neighbours) if moved else None
            lists.append(ListDiff(element.id, order, changed))
    return Diff(tuple(fragments), tuple(lists))


def _elements(page: Iterable[Fragment | FragmentList]) -> Iterator[tuple[str, bytes]]:
    """Yield the id and the fingerprint of each element of a page, children of lists included."""
    for element in page:
        yield element.id, element.fingerprint
        if isinstance(element, FragmentList):
            for fragment in element.fragments:
                yield fragment.id, fragment.fingerprint


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()
