"""Watched objects in and out of their table."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from gangboard.store.models import WatchedObject

T = TypeVar("T")
_encoder = msgspec.msgpack.Encoder(decimal_format="string")
_decoders: dict[type[Any], msgspec.msgpack.Decoder[Any]] = {}
# One that is made while another thread makes one of the same classes can be half made.
_making = threading.Lock()

BATCH = 500
"""uids per query: SQLite and PostgreSQL both take more, but not more quickly."""


def pack(model: object) -> bytes:
    """Encode a dataclass of the domain."""
    return _encoder.encode(model)


def unpack(data: bytes, model: type[T]) -> T:
    """Decode what `pack` made."""
    decoder = _decoders.get(model)
    if decoder is None:
        with _making:
            decoder = _decoders[model] = msgspec.msgpack.Decoder(model)
    return decoder.decode(data)  # type: ignore[no-any-return]  # the decoder was made for `model`


def read_objects(
    cluster_id: int, uids: Iterable[str], models: dict[str, type[Any]]
) -> dict[str, Any]:
    """Return the stored objects by uid; resources without a model in `models` are left out."""
    wanted = list(uids)
    found: dict[str, Any] = {}
    for start in range(0, len(wanted), BATCH):
        rows = WatchedObject.objects.filter(
            cluster_id=cluster_id, uid__in=wanted[start : start + BATCH]
        ).values_list("uid", "resource", "data")
        for uid, resource, data in rows:
            model = models.get(resource)
            if model is not None:
                found[uid] = unpack(bytes(data), model)
    return found
