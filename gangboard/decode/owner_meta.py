"""Decoder of the `metadata` of owners, with labels and the creating field manager.

Annotations are not stored, because they are large and users put secrets into them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from gangboard.decode.annotations import WireActionAnnotations
from gangboard.decode.managed_fields import NO_ENTRIES, creator
from gangboard.decode.wire import WireMeta, read_text
from gangboard.domain.owner import Owner

MOST_LABELS = 64
"""Limit for the stored labels of an owner, in the order of their keys."""
LONGEST_KEY = 317
"""Length of a DNS name of 253 characters, a slash, and a name of 63."""
LONGEST_VALUE = 63
NO_LABELS = msgspec.Raw(b"{}")
Labels = TypeVar("Labels")


class WireOwnerMeta(WireMeta):
    """`metadata` of owners. Labels and managed fields stay bytes until a model is built."""

    labels: msgspec.Raw = NO_LABELS
    managed_fields: msgspec.Raw = NO_ENTRIES


class WireActionMeta(WireOwnerMeta):
    """`metadata` of owners that actions write to."""

    annotations: WireActionAnnotations | None = None


@cache
def _decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_ | None)


_ALL = msgspec.json.Decoder(dict[str, str | None] | None)


def decode_labels(metadata: WireOwnerMeta, type_: type[Labels]) -> Labels:
    """Decode the labels that a struct names. Raises ValueError for labels that are no text."""
    decoder: Any = _decoder(cast("Any", type_))
    labels: Labels | None = decoder.decode(metadata.labels)
    return type_() if labels is None else labels


def first_label(metadata: WireOwnerMeta, keys: Iterable[str]) -> str:
    """Return the first value of these label keys, or an empty text. Raises ValueError as `decode_labels` does."""
    labels = _ALL.decode(metadata.labels) or {}
    return next((value for key in keys if (value := labels.get(key))), "")


def with_labels(owner: Owner, metadata: WireMeta) -> Owner:
    """Return an owner with its labels and its submitter. Raises ValueError for labels that are no text."""
    if not isinstance(metadata, WireOwnerMeta):
        return owner
    made_by = creator(metadata.managed_fields, owner.meta.created_at)
    return replace(owner, labels=_read_labels(metadata.labels), submitter=made_by)


def _read_labels(raw: msgspec.Raw) -> tuple[tuple[str, str], ...]:
    labels = _ALL.decode(raw) or {}
    stored = sorted(labels.items())[:MOST_LABELS]
    # Keys are interned, because thousands of objects have the same.
    return tuple(
        (sys.intern(read_text(key)[:LONGEST_KEY]), read_text(value)[:LONGEST_VALUE])
        for key, value in stored
    )
