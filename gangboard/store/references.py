"""Lookups by a uid that another object names: of its owner, its maker, what it holds or waits for.

Whoever may write an object can put the uid of any other object into it. So each lookup takes the namespace of the
object that refers. An object can belong to one of its own namespace or to a cluster-scoped one. Kubernetes deletes
what belongs to another namespace (see docs/decisions.md), but not at once, and not what a field like `spec.ownerUID` names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple, TypeVar

from django.db.models import QuerySet

from gangboard.store.models import Gang, WatchedObject
from gangboard.store.objects import BATCH, unpack

Row = TypeVar("Row", WatchedObject, Gang)


class Reference(NamedTuple):
    """A uid that an object names."""

    cluster_id: int
    namespace: str
    """Of the object that refers; empty for a cluster-scoped one, which can refer to cluster-scoped ones only."""
    uid: str
    """Of the object that it refers to."""


def follow(rows: QuerySet[Row], references: Iterable[Reference]) -> dict[Reference, Row]:
    """Return the row that each reference leads to; none for a uid of another namespace. One query per BATCH.

    `rows` are the objects or gangs that may be found.
    """
    by_uid: dict[tuple[int, str], set[Reference]] = defaultdict(set)
    for reference in references:
        by_uid[reference.cluster_id, reference.uid].add(reference)
    wanted = list(by_uid)
    found: dict[Reference, Row] = {}
    for start in range(0, len(wanted), BATCH):
        clusters, uids = zip(*wanted[start : start + BATCH], strict=True)
        for row in rows.filter(cluster_id__in=set(clusters), uid__in=uids):
            for reference in by_uid[row.cluster_id, row.uid]:
                if row.namespace in ("", reference.namespace):
                    found[reference] = row
    return found


def read_referred(
    references: Iterable[Reference], models: dict[str, type[Any]]
) -> dict[Reference, Any]:
    """Return the stored object that each reference leads to, of the resources in `models`."""
    rows = WatchedObject.objects.filter(resource__in=list(models))
    return {
        reference: unpack(bytes(row.data), models[row.resource])
        for reference, row in follow(rows, references).items()
    }


def owned_objects(
    cluster_id: int, namespace: str, uids: Collection[str]
) -> QuerySet[WatchedObject]:
    """Return the objects of a namespace that say that they belong to one of these owners of it."""
    return WatchedObject.objects.filter(
        cluster_id=cluster_id, namespace=namespace, owner_uid__in=uids
    )
