"""Encoding, decoding and reading of watched objects."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec

from gangboard.domain.hold import Hold
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry
from gangboard.store.models import WatchedObject

T = TypeVar("T")
_encoder = msgspec.msgpack.Encoder(decimal_format="string")
_decoders: dict[type[Any], msgspec.msgpack.Decoder[Any]] = {}
# A decoder can be incomplete if two threads create decoders of the same classes at once.
_making = threading.Lock()

BATCH = 500
"""uids per query. SQLite and PostgreSQL accept more, but not faster."""

_UID_LENGTH = 64
"""Length of the columns, and limit of every uid that is read."""


def pack(model: object) -> bytes:
    """Encode a domain dataclass."""
    return _encoder.encode(model)


def content_digest(data: bytes) -> bytes:
    """Return a short digest of packed data."""
    return blake2b(data, digest_size=16).digest()


UnpackError = msgspec.DecodeError


def unpack(data: bytes, model: type[T]) -> T:
    """Decode packed data. Raises UnpackError for data of another release with unknown content."""
    decoder = _decoders.get(model)
    if decoder is None:
        with _making:
            decoder = _decoders[model] = msgspec.msgpack.Decoder(model)
    return decoder.decode(data)  # type: ignore[no-any-return]  # the decoder was made for `model`


def owner_uid(model: object) -> str | None:
    """Return the uid by which `store.gang_objects` finds an object.

    For an owner it is the uid of its controller, for a Hold that of the JobSet, and for a queue entry that of
    the waiting owner. None without such an object, and for other kinds.
    """
    if isinstance(model, Owner):
        return uid_or_none(model.meta.controller.uid) if model.meta.controller else None
    if isinstance(model, QueueEntry) and model.group_pods:
        return uid_or_none(model.meta.ref.uid)  # The group of pods is the gang itself.
    if isinstance(model, Hold | QueueEntry):
        return uid_or_none(model.owner_uid)
    return None


def uid_or_none(text: str) -> str | None:
    """Return the text if it can be the uid of an object, else None."""
    return text if 0 < len(text) <= _UID_LENGTH and text.isprintable() else None


def read_objects(
    cluster_id: int, uids: Iterable[str], models: dict[str, type[Any]]
) -> dict[str, Any]:
    """Return the stored objects by uid. Resources that are not in `models` are left out."""
    return {
        uid: unpack(data, models[resource])
        for uid, resource, data in read_packed(cluster_id, uids)
        if resource in models
    }


def read_packed(cluster_id: int, uids: Iterable[str]) -> Iterator[tuple[str, str, bytes]]:
    """Yield (uid, resource, packed data) of the stored objects."""
    uid_list = list(uids)
    for start in range(0, len(uid_list), BATCH):
        rows = WatchedObject.objects.filter(
            cluster_id=cluster_id, uid__in=uid_list[start : start + BATCH]
        ).values_list("uid", "resource", "data")
        for uid, resource, data in rows:
            yield uid, resource, bytes(data)
