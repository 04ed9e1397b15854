"""Lookups by a uid that another object names, such as the uid of its owner.

The author of an object can name any uid in it. So each lookup takes the namespace of the referring object. An
owner is in the same namespace or cluster-scoped. Kubernetes enforces this late, and only for owner references
(docs/decisions.md).
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
    """Namespace of the referring object. A cluster-scoped object has none and may only refer to
    cluster-scoped ones."""
    uid: str
    """The named uid."""


def resolve_references(
    rows: QuerySet[Row], references: Iterable[Reference]
) -> dict[Reference, Row]:
    """Return the row of each reference. A uid of another namespace has no row. One query per BATCH.

    `rows` limits the objects or gangs that count.
    """
    by_uid: dict[tuple[int, str], set[Reference]] = defaultdict(set)
    for reference in references:
        by_uid[reference.cluster_id, reference.uid].add(reference)
    keys = list(by_uid)
    result: dict[Reference, Row] = {}
    for start in range(0, len(keys), BATCH):
        clusters, uids = zip(*keys[start : start + BATCH], strict=True)
        for row in rows.filter(cluster_id__in=set(clusters), uid__in=uids):
            for reference in by_uid[row.cluster_id, row.uid]:
                if row.namespace in ("", reference.namespace):
                    result[reference] = row
    return result


def read_referenced(
    references: Iterable[Reference], models: dict[str, type[Any]]
) -> dict[Reference, Any]:
    """Return the decoded object of each reference. Resources that are not in `models` do not count."""
    rows = WatchedObject.objects.filter(resource__in=list(models))
    return {
        reference: unpack(bytes(row.data), models[row.resource])
        for reference, row in resolve_references(rows, references).items()
    }


def owned_objects(
    cluster_id: int, namespace: str, uids: Collection[str]
) -> QuerySet[WatchedObject]:
    """Return the objects of a namespace that name one of these uids as their owner."""
    return WatchedObject.objects.filter(
        cluster_id=cluster_id, namespace=namespace, owner_uid__in=uids
    )
