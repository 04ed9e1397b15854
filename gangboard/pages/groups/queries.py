"""The groups that a viewer may see, each with its gang."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from gangboard.readmodels.cursors import CLUSTER_NAME, SortKey, read_page
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.group_gangs import GangName, find_gangs
from gangboard.readmodels.group_visibility import (
    GroupVisibility,
    UnseenGroups,
    describe_unobserved_groups,
    read_group_visibility,
)
from gangboard.readmodels.groups import GroupRow, group_resources, read_groups
from gangboard.readmodels.watched_objects import select_objects
from gangboard.store.access import Viewer
from gangboard.store.models import WatchedObject

_KEYS = (
    SortKey(CLUSTER_NAME),
    SortKey("namespace"),
    SortKey("name"),
    SortKey("resource"),
    SortKey("uid"),
)


@dataclass(frozen=True, slots=True)
class GroupFilters:
    """Filters of a list of groups. Empty means all."""

    cluster: str = ""
    namespace: str = ""
    kind: str = ""
    q: str = ""
    """Part of the name or namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupWithGangRow(GroupRow):
    """A group and the gang to which it belongs."""

    gang: GangName | None = shown("Gang", "Null when the caller may see none.")


@dataclass(frozen=True, slots=True)
class GroupPage:
    """Some groups in order, and the cursor of the next page, None if there is none."""

    rows: tuple[GroupWithGangRow, ...]
    unseen: tuple[UnseenGroups, ...]
    """Kinds that cannot be read. Their clusters may have more groups than `rows`."""
    next_cursor: str | None


def list_groups(
    *,
    viewer: Viewer,
    filters: GroupFilters,
    limit: int = 50,
    cursor: str | None = None,
    now: datetime,
    clusters: Mapping[int, Freshness] | None = None,
) -> GroupPage:
    """Return one page of the groups that the viewer may see. Raises CursorError."""
    if clusters is None:
        clusters = read_freshness(viewer=viewer, now=now)
    kinds = group_resources()
    groups = select_objects(
        viewer=viewer,
        resources=[key for key, kind in kinds.items() if filters.kind in ("", kind)],
        cluster=filters.cluster,
        namespace=filters.namespace,
        q=filters.q,
    )
    stored, following = read_page(groups, _KEYS, cursor=cursor, limit=limit, clusters=clusters)
    visibility = read_group_visibility(kinds, clusters)
    return GroupPage(
        rows=_rows(stored, viewer=viewer, clusters=clusters, visibility=visibility),
        unseen=describe_unobserved_groups(
            visibility, kinds, clusters, cluster=filters.cluster, kind=filters.kind
        ),
        next_cursor=following,
    )


def group_detail(*, viewer: Viewer, group_id: str, now: datetime) -> GroupWithGangRow | None:
    """Return one group; None if it does not exist or the viewer may not see it."""
    cluster, _, uid = group_id.partition("~")
    if "\x00" in group_id:
        return None
    groups = select_objects(viewer=viewer, resources=group_resources())
    stored = groups.filter(cluster__name=cluster, uid=uid)[:1]
    clusters = read_freshness(viewer=viewer, now=now)
    return next(iter(_rows(stored, viewer=viewer, clusters=clusters)), None)


def group_kinds() -> tuple[str, ...]:
    """Return the kinds that a filter can ask for."""
    return tuple(sorted(set(group_resources().values())))


def _rows(
    stored: Iterable[WatchedObject],
    *,
    viewer: Viewer,
    clusters: Mapping[int, Freshness],
    visibility: GroupVisibility | None = None,
) -> tuple[GroupWithGangRow, ...]:
    """Return the stored groups as rows (2 to 5 queries more: templates, gangs, `visibility`)."""
    groups = list(read_groups(stored, clusters=clusters, visibility=visibility))
    gangs = find_gangs([(id_, group) for id_, group, _ in groups], viewer=viewer)
    return tuple(
        GroupWithGangRow(**values, gang=gangs.get((id_, group.meta.ref.uid)))
        for id_, group, values in groups
    )
