"""Decoder of the `metadata` of owners, with labels and the submitter.

Annotations are not stored, because they are large and users put secrets into them. The exception is the value of the
annotation that names the submitter, if the installation has one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from gangboard.decode.managed_fields import NO_ENTRIES, creator
from gangboard.decode.podspec import NULL
from gangboard.decode.wire import WireMeta, read_text
from gangboard.domain.api_resource import SubmitterMarks
from gangboard.domain.owner import LONGEST_SUBMITTER, Owner, SubmitterSource

MOST_LABELS = 64
"""Limit for the stored labels of an owner, in the order of their keys."""
LONGEST_KEY = 317
"""Length of a DNS name of 253 characters, a slash, and a name of 63."""
LONGEST_VALUE = 63
NO_LABELS = msgspec.Raw(b"{}")
Texts = TypeVar("Texts")


class WireOwnerMeta(WireMeta):
    """`metadata` of owners. Labels, annotations and managed fields stay bytes until a model is built."""

    labels: msgspec.Raw = NO_LABELS
    annotations: msgspec.Raw = NULL
    managed_fields: msgspec.Raw = NO_ENTRIES


@cache
def _decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_ | None)


_ALL = msgspec.json.Decoder(dict[str, str | None] | None)


def decode_labels(metadata: WireOwnerMeta, type_: type[Texts]) -> Texts:
    """Decode the labels that a struct names. Raises ValueError for labels that are no text."""
    return _decode(metadata.labels, type_)


def decode_annotations(metadata: WireOwnerMeta, type_: type[Texts]) -> Texts:
    """Decode the annotations that a struct names. Raises ValueError for annotations that are no text."""
    return _decode(metadata.annotations, type_)


def _decode(raw: msgspec.Raw, type_: type[Texts]) -> Texts:
    decoder: Any = _decoder(cast("Any", type_))
    texts: Texts | None = decoder.decode(raw)
    return type_() if texts is None else texts


def first_label(metadata: WireOwnerMeta, keys: Iterable[str]) -> str:
    """Return the first value of these label keys, or an empty text. Raises ValueError as `decode_labels` does."""
    labels = _ALL.decode(metadata.labels) or {}
    return next((value for key in keys if (value := labels.get(key))), "")


def with_labels(owner: Owner, metadata: WireMeta, marks: SubmitterMarks) -> Owner:
    """Return an owner with its labels and its submitter. Raises ValueError for labels that are no text."""
    if not isinstance(metadata, WireOwnerMeta):
        return owner
    name, source = _read_submitter(owner, metadata, marks)
    labels = _read_labels(metadata.labels)
    return replace(owner, labels=labels, submitter=name, submitter_source=source)


def _read_submitter(
    owner: Owner, metadata: WireOwnerMeta, marks: SubmitterMarks
) -> tuple[str, SubmitterSource | None]:
    """Return the submitter and its source: the label, else the annotation, else the creating field manager."""
    marked = (
        (SubmitterSource.LABEL, marks.label, metadata.labels),
        (SubmitterSource.ANNOTATION, marks.annotation, metadata.annotations),
    )
    for source, key, raw in marked:
        # Most owners lack the key, so the texts are searched for it before they are decoded.
        if key and key.encode() in bytes(raw):
            name = read_text((_ALL.decode(raw) or {}).get(key)).strip()
            # A cut text would be another name, and a long one is no name.
            if name and name.isprintable() and len(name) <= LONGEST_SUBMITTER:
                return name, source
    manager = creator(metadata.managed_fields, owner.meta.created_at)
    return manager, SubmitterSource.MANAGER if manager else None


def _read_labels(raw: msgspec.Raw) -> tuple[tuple[str, str], ...]:
    labels = _ALL.decode(raw) or {}
    stored = sorted(labels.items())[:MOST_LABELS]
    # Keys are interned, because thousands of objects have the same.
    return tuple(
        (sys.intern(read_text(key)[:LONGEST_KEY]), read_text(value)[:LONGEST_VALUE])
        for key, value in stored
    )
