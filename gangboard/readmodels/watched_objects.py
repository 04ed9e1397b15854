"""Stored objects of some resources, as lists ask for them and by their names."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeVar

from django.db.models import QuerySet

from gangboard.readmodels.filters import all_occur_in
from gangboard.store.access import Viewer
from gangboard.store.models import WatchedObject
from gangboard.store.objects import unpack

Model = TypeVar("Model")
PlaceName = tuple[int, str, str]
"""Cluster id, namespace and name."""


def select_objects(
    *,
    viewer: Viewer,
    resources: Collection[str],
    cluster: str = "",
    namespace: str = "",
    q: str = "",
) -> QuerySet[WatchedObject]:
    """Return the objects of these resources that the viewer may see, unordered; empty means all.

    `q` has words that must all occur in name or namespace.
    """
    found = WatchedObject.objects.filter(viewer.gang_filter(), resource__in=list(resources))
    if cluster:
        found = found.filter(cluster__name=cluster)
    if namespace:
        found = found.filter(namespace=namespace)
    return found.filter(all_occur_in(q, ("name", "namespace")))


def objects_by_name(
    places: Iterable[PlaceName], resources: Collection[str], model: type[Model]
) -> dict[PlaceName, Model]:
    """Return the objects with these names, whoever may see them (1 query)."""
    wanted = set(places)
    if not wanted:
        return {}
    rows = WatchedObject.objects.filter(
        resource__in=list(resources),
        cluster_id__in={cluster_id for cluster_id, _, _ in wanted},
        namespace__in={namespace for _, namespace, _ in wanted},
        name__in={name for _, _, name in wanted},
    )
    return {
        place: unpack(bytes(row.data), model)
        for row in rows
        if (place := (row.cluster_id, row.namespace, row.name)) in wanted
    }
