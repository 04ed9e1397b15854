"""Rows of one cluster as its holder has stored them: what it wrote itself, it does not read back.

Nobody else writes these rows, so what is kept is right while the number of the lease is the same; it goes
with the `ClusterCache`. A row is kept after the transaction that stored it, never before.
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
"""Objects that are kept of a cluster, as packed: some 2,500 pods. Decoded they take three to five times
as much; the densest that a page can hold, labels of three letters, 25 times."""
GANG_BYTES = 4 * 1024 * 1024
"""Gangs that are kept of a cluster: some 500."""
_GANG_COLUMNS = 4096
"""What the columns of a gang take whose length is not counted."""


class _RecentRows(Generic[Row]):
    """Rows by uid, those asked for last, up to a number of bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._rows: OrderedDict[str, tuple[Row, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, uid: str) -> Row | None:
        """Return a row that is kept, as the one asked for last."""
        found = self._rows.get(uid)
        if found is None:
            return None
        self._rows.move_to_end(uid)
        return found[0]

    def put(self, uid: str, row: Row, size: int) -> None:
        """Keep a row in place of the one before; those that nobody asked for go."""
        self.drop(uid)
        self._rows[uid] = row, size
        self._bytes += size
        while self._bytes > self._most:
            _, (_, gone) = self._rows.popitem(last=False)
            self._bytes -= gone

    def drop(self, uid: str) -> None:
        """Forget a row, if it is there."""
        _, size = self._rows.pop(uid, (None, 0))
        self._bytes -= size

    def clear(self) -> None:
        """Forget all rows."""
        self._rows.clear()
        self._bytes = 0


class ObjectCache(_RecentRows[Any]):
    """Objects as the store has them, decoded: what the verdicts on gangs are made from."""

    def __init__(self, cluster_id: int, models: dict[str, type[Any]]) -> None:
        super().__init__(OBJECT_BYTES)
        self._cluster_id = cluster_id
        self._models = models

    def read(self, uids: Iterable[str]) -> dict[str, Any]:
        """Return the stored objects by uid; those of resources without a model are left out."""
        found = {uid: self.get(uid) for uid in uids}
        missing = [uid for uid, model in found.items() if model is None]
        for uid, resource, data in read_packed(self._cluster_id, missing):
            if resource in self._models:
                found[uid] = model = unpack(data, self._models[resource])
                self.put_stored(uid, model, data)
        return {uid: model for uid, model in found.items() if model is not None}

    def put_stored(self, uid: str, model: object, data: bytes) -> None:
        """Keep what was stored of an object: of a kind that a gang has, or an event."""
        if isinstance(model, Linked | Event):
            self.put(uid, model, len(data))
        else:
            self.drop(uid)


class GangRowCache(_RecentRows[dict[str, Any]]):
    """Gangs as the store has them: column → value."""

    def __init__(self, cluster_id: int) -> None:
        super().__init__(GANG_BYTES)
        self._cluster_id = cluster_id

    def read(self, uids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the stored gangs by uid."""
        found = {uid: kept for uid in uids if (kept := self.get(uid)) is not None}
        missing = [uid for uid in uids if uid not in found]
        if missing:
            stored = Gang.objects.filter(cluster_id=self._cluster_id, uid__in=missing)
            for columns in stored.values():
                row: dict[str, Any] = dict(columns)
                found[row["uid"]] = row
                self.put_stored(row)
        return found

    def put_stored(self, row: dict[str, Any]) -> None:
        """Keep a gang as it was stored. One that is gone is not: others drop its row some day."""
        if row["gone_at"] is not None:
            return
        texts = len(row["detail"]) + len(row["memory"]) + len(row["message"])
        self.put(row["uid"], row, texts + _GANG_COLUMNS)
