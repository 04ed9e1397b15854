"""Stored objects of some resources, filtered for a list or looked up by name."""

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
    """Return the objects of these resources that the viewer may see, unordered. Empty filters mean all.

    All words of `q` must occur in the name or namespace.
    """
    objects = WatchedObject.objects.filter(viewer.gang_filter(), resource__in=list(resources))
    if cluster:
        objects = objects.filter(cluster__name=cluster)
    if namespace:
        objects = objects.filter(namespace=namespace)
    return objects.filter(all_occur_in(q, ("name", "namespace")))


def objects_by_name(
    places: Iterable[PlaceName], resources: Collection[str], model: type[Model]
) -> dict[PlaceName, Model]:
    """Return the objects with these names, for any viewer (1 query)."""
    requested = set(places)
    if not requested:
        return {}
    rows = WatchedObject.objects.filter(
        resource__in=list(resources),
        cluster_id__in={cluster_id for cluster_id, _, _ in requested},
        namespace__in={namespace for _, namespace, _ in requested},
        name__in={name for _, _, name in requested},
    )
    return {
        place: unpack(bytes(row.data), model)
        for row in rows
        if (place := (row.cluster_id, row.namespace, row.name)) in requested
    }
