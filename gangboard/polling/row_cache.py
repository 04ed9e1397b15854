"""LRU caches of the rows that the lease holder of a cluster wrote, to avoid reading them back.

No other worker writes these rows, so they are correct while the number of the lease is the same. They are dropped
with the `ClusterCache`. A row enters the cache only after the transaction that stored it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

from gangboard.domain.event import Event
from gangboard.facts.gang import Linked
from gangboard.store.models import Gang
from gangboard.store.objects import read_packed, unpack

Row = TypeVar("Row")

OBJECT_BYTES = 4 * 1024 * 1024
"""Packed bytes of the cached objects of a cluster, some 2,500 pods. Decoded they take three to five times as much. The
densest objects that fit into a page, labels of three letters, take 25 times as much."""
GANG_BYTES = 4 * 1024 * 1024
"""Bytes of the cached gangs of a cluster, some 500 gangs."""
_GANG_COLUMNS = 4096
"""Bytes for the columns of a gang whose length is not counted."""


class _RecentRows(Generic[Row]):
    """The most recently used rows by uid, up to a number of bytes."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._rows: OrderedDict[str, tuple[Row, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, uid: str) -> Row | None:
        """Return a cached row, and mark it as the most recently used one."""
        cached = self._rows.get(uid)
        if cached is None:
            return None
        self._rows.move_to_end(uid)
        return cached[0]

    def put(self, uid: str, row: Row, size: int) -> None:
        """Replace a row. Drop the least recently used rows if there are too many bytes."""
        self.drop(uid)
        self._rows[uid] = row, size
        self._bytes += size
        while self._bytes > self._max_bytes:
            _, (_, dropped_size) = self._rows.popitem(last=False)
            self._bytes -= dropped_size

    def drop(self, uid: str) -> None:
        """Drop a row, if it is cached."""
        _, size = self._rows.pop(uid, (None, 0))
        self._bytes -= size

    def clear(self) -> None:
        """Drop all rows."""
        self._rows.clear()
        self._bytes = 0


class ObjectCache(_RecentRows[Any]):
    """Decoded objects as stored, from which gangs are built."""

    def __init__(self, cluster_id: int, models: dict[str, type[Any]]) -> None:
        super().__init__(OBJECT_BYTES)
        self._cluster_id = cluster_id
        self._models = models

    def read(self, uids: Iterable[str]) -> dict[str, Any]:
        """Return the stored objects by uid, without those of resources that have no model."""
        models = {uid: self.get(uid) for uid in uids}
        missing = [uid for uid, model in models.items() if model is None]
        for uid, resource, data in read_packed(self._cluster_id, missing):
            if resource in self._models:
                models[uid] = model = unpack(data, self._models[resource])
                self.put_stored(uid, model, data)
        return {uid: model for uid, model in models.items() if model is not None}

    def put_stored(self, uid: str, model: object, data: bytes) -> None:
        """Cache a stored object, if verdicts read objects of its class."""
        if isinstance(model, Linked | Event):
            self.put(uid, model, len(data))
        else:
            self.drop(uid)


class GangRowCache(_RecentRows[dict[str, Any]]):
    """Stored gangs: column → value."""

    def __init__(self, cluster_id: int) -> None:
        super().__init__(GANG_BYTES)
        self._cluster_id = cluster_id

    def read(self, uids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the stored gangs by uid."""
        rows = {uid: cached for uid in uids if (cached := self.get(uid)) is not None}
        missing = [uid for uid in uids if uid not in rows]
        if missing:
            stored = Gang.objects.filter(cluster_id=self._cluster_id, uid__in=missing)
            for columns in stored.values():
                row: dict[str, Any] = dict(columns)
                rows[row["uid"]] = row
                self.put_stored(row)
        return rows

    def put_stored(self, row: dict[str, Any]) -> None:
        """Cache a stored gang. A deleted gang is not cached, because housekeeping deletes its row."""
        if row["gone_at"] is not None:
            return
        texts = len(row["detail"]) + len(row["memory"]) + len(row["message"])
        self.put(row["uid"], row, texts + _GANG_COLUMNS)
