"""Reads and writes of nodes and of the cluster's capacity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection

from gangboard.store.bulk_statements import upsert_rows
from gangboard.store.models import ClusterCapacity, NodeCapacity

CHUNK = 250
"""Nodes of one transaction. Their rows are long; this keeps a transaction well under 100 ms."""


@dataclass(frozen=True, slots=True)
class NodeCapacityRow:
    """One node to store. Amounts are decimal strings in base units."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[str, ...] = ()
    ready: bool = True
    cordoned: bool = False
    allocatable: Mapping[str, str] = field(default_factory=dict)
    used: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, str] = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()
    pods: Mapping[str, str] = field(default_factory=dict)
    """Pod uid → uid of the owner of its gang, empty without a gang."""


@dataclass(frozen=True, slots=True)
class ShapeCapacity:
    """How many pods of one request size fit on a cluster, each size considered alone."""

    requests: Mapping[str, str]
    waiting: int
    fits_now: int
    fits_empty: int
    why: str = ""
    """Why the numbers are meaningless; empty if they are valid."""
    where: str = ""
    """The nodes that the pods ask for, as text for people; empty for any node."""
    unsupported: list[str] = field(default_factory=list)
    """Requirements that the calculation ignores. With any of these the numbers are upper bounds."""


_COLUMNS = tuple(NodeCapacityRow.__dataclass_fields__)
_JSON = frozenset(_COLUMNS) - {"name", "ready", "cordoned"}


def save_capacity(
    cluster_id: int,
    *,
    changed: Sequence[NodeCapacityRow],
    gone: Sequence[str],
    shapes: Sequence[ShapeCapacity],
    why: str,
    at: datetime,
) -> None:
    """Store changed nodes, delete removed ones, and store what fits. Call it inside `writing`.

    More than `CHUNK` nodes are stored with `save_nodes`, each chunk in a transaction of its own.
    """
    save_nodes(cluster_id, changed)
    delete_stored_nodes(cluster_id, gone)
    row = ClusterCapacity(
        cluster_id=cluster_id,
        observed_at=at,
        why=why,
        shapes=[asdict(shape) for shape in shapes],
    )
    ClusterCapacity.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=("cluster",),
        update_fields=("observed_at", "why", "shapes"),
    )


def save_nodes(cluster_id: int, rows: Sequence[NodeCapacityRow]) -> None:
    """Insert or update nodes. Call it inside `writing`."""
    values = [(cluster_id, *(_adapt(row, column) for column in _COLUMNS)) for row in rows]
    table = NodeCapacity._meta.db_table
    upsert_rows(table, ("cluster_id", *_COLUMNS), ("cluster_id", "name"), values)


def delete_stored_nodes(cluster_id: int, names: Sequence[str]) -> None:
    """Delete the rows of removed nodes. Call it inside `writing`."""
    for start in range(0, len(names), CHUNK):
        NodeCapacity.objects.filter(
            cluster_id=cluster_id, name__in=names[start : start + CHUNK]
        ).delete()


def read_stored_nodes(cluster_id: int) -> Iterator[NodeCapacityRow]:
    """Yield the stored nodes in no particular order."""
    rows = NodeCapacity.objects.filter(cluster_id=cluster_id).values(*_COLUMNS)
    for row in rows.iterator(chunk_size=1000):
        row["taints"], row["unreadable"] = tuple(row["taints"]), tuple(row["unreadable"])
        yield NodeCapacityRow(**row)


def read_stored_shapes(cluster_id: int) -> tuple[str, list[dict[str, Any]]] | None:
    """Return why the numbers are meaningless, and the stored shapes; None before the first save."""
    row = ClusterCapacity.objects.filter(cluster_id=cluster_id).values("why", "shapes").first()
    return None if row is None else (row["why"], row["shapes"])


def _adapt(row: NodeCapacityRow, column: str) -> Any:  # a value of any column
    value = getattr(row, column)
    if column not in _JSON:
        return value
    plain = list(value) if isinstance(value, tuple) else dict(value)
    return connection.ops.adapt_json_value(plain, None)
