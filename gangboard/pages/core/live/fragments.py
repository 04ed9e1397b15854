"""A page is made of fragments. Each knows what it shows, so a live page is sent only what is new.

A page's version is the marks of its fragments, in their order: the browser sends it back, and what is
not in it is what the browser does not have. A forged or broken version gets a complete answer.
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
"""Marks of one version: a page with more fragments gets one for several of them."""
LONGEST_VERSION = 4_000
"""Characters: it travels in a header, and proxies take 8 KB for all of them."""
AS_BEFORE = "…"
"""Stands in an order for all that the browser has between the two around it."""
Neighbours = frozenset[tuple[bytes, bytes]]
"""Fingerprints: one, and the one that comes right after it."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """One element that is replaced as a whole; its template's root element has the fragment's id."""

    id: str
    template: str
    context: Mapping[str, object]
    shown: object
    """What is printed, without what a clock changes: ages tick in the browser."""
    fingerprint: bytes = field(init=False, repr=False)
    """Equal for what looks equal."""
    length: int = field(init=False, repr=False)
    """Characters of what is printed."""

    def __post_init__(self) -> None:
        # repr of frozen dataclasses names every field: nothing that is shown can be forgotten.
        text = repr((self.id, self.shown))
        object.__setattr__(self, "fingerprint", _digest(text))
        object.__setattr__(self, "length", len(text))

    def render(self, base: Mapping[str, object]) -> str:
        """Return its HTML. `base` is what every template may use, such as `now`."""
        return render_to_string(self.template, {**base, **self.context, "fragment_id": self.id})


@dataclass(frozen=True, slots=True)
class FragmentList:
    """An element whose children are fragments that come, go and move."""

    id: str
    fragments: tuple[Fragment, ...]
    fingerprint: bytes = field(init=False, repr=False)
    """Changes with the order and the number of children, not with what is in them."""

    def __post_init__(self) -> None:
        ids = [fragment.id for fragment in self.fragments]
        object.__setattr__(self, "fingerprint", _digest(repr((self.id, ids))))

    @property
    def neighbours(self) -> Neighbours:
        """Return which of its children follow each other."""
        return frozenset(pairwise(fragment.fingerprint for fragment in self.fragments))

    def order(self, known: Neighbours) -> tuple[str, ...]:
        """Return the ids in order, with AS_BEFORE for those that stand between neighbours of before."""
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
    """What a page has to be told: fragments to replace, and lists that changed."""

    fragments: tuple[Fragment, ...] = ()
    lists: tuple[ListDiff, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.fragments or self.lists)


@dataclass(frozen=True, slots=True)
class ListDiff:
    """New or changed children of one element; the order when children came, went or moved."""

    id: str
    order: tuple[str, ...] | None
    """Ids, and AS_BEFORE."""
    fragments: tuple[Fragment, ...] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Version:
    """What a browser shows: which fragments, and when they were read."""

    marks: frozenset[bytes] = frozenset()
    read_at: int = 0
    """Milliseconds since 1970."""
    neighbours: Neighbours = frozenset()


def marks_of(page: Iterable[Fragment | FragmentList]) -> Mapping[bytes, bytes]:
    """Return fingerprint → the mark by which a version knows it; at most MOST_MARKS marks.

    It is the fingerprint itself, unless there are too many fragments. Then those whose ids fall into
    the same bucket share a mark, and are sent together when one of them has changed.
    """
    pieces = list(_pieces(page))
    if len(pieces) <= MOST_MARKS:
        return {fingerprint: fingerprint for _, fingerprint in pieces}
    buckets: dict[int, list[bytes]] = {}
    for name, fingerprint in pieces:
        buckets.setdefault(int.from_bytes(_digest(name)) % MOST_MARKS, []).append(fingerprint)
    return {
        fingerprint: _digest(repr(sorted(fingerprints)))
        for fingerprints in buckets.values()
        for fingerprint in fingerprints
    }


def write_version(page: Iterable[Fragment | FragmentList], read_at: int) -> str:
    """Return the version of a page: opaque, and of no use for anything but a comparison."""
    marks = b"".join(dict.fromkeys(marks_of(page).values()))
    return base64.urlsafe_b64encode(read_at.to_bytes(SIZE, "big") + marks).decode()


def read_version(text: str) -> Version:
    """Return what a version says; an empty one if the text is none, or longer than any that we write."""
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
    """Return what of the page is not in the version that the browser has."""
    known = {fingerprint for fingerprint, mark in marks_of(page).items() if mark in version.marks}
    fragments: list[Fragment] = []
    lists: list[ListDiff] = []
    for piece in page:
        if isinstance(piece, Fragment):
            if piece.fingerprint not in known:
                fragments.append(piece)
            continue
        changed = tuple(
            fragment for fragment in piece.fragments if fragment.fingerprint not in known
        )
        moved = piece.fingerprint not in known
        if changed or moved:
            order = piece.order(version.neighbours) if moved else None
            lists.append(ListDiff(piece.id, order, changed))
    return Diff(tuple(fragments), tuple(lists))


def _pieces(page: Iterable[Fragment | FragmentList]) -> Iterator[tuple[str, bytes]]:
    """Return id and fingerprint of everything on a page."""
    for piece in page:
        yield piece.id, piece.fingerprint
        if isinstance(piece, FragmentList):
            for fragment in piece.fragments:
                yield fragment.id, fragment.fingerprint


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()
