"""Workloads, PodGroups and CompositePodGroups as they are stored, each with its gang."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from gangboard.domain.group import Group, GroupClaim, GroupTemplate, Policy
from gangboard.domain.objects import Condition
from gangboard.plugins import registry
from gangboard.plugins.grouping_api import GroupingAPI
from gangboard.readmodels.cursors import CLUSTER_NAME, SortKey, read_page
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.group_gangs import GangName, find_gangs
from gangboard.readmodels.group_visibility import (
    GroupVisibility,
    UnseenGroups,
    describe_unseen_groups,
    read_group_visibility,
)
from gangboard.readmodels.printable import printable
from gangboard.readmodels.state_labels import Face
from gangboard.readmodels.watched_objects import PlaceName, objects_by_name, select_objects
from gangboard.store.access import Viewer
from gangboard.store.models import WatchedObject
from gangboard.store.objects import unpack

_KEYS = (
    SortKey(CLUSTER_NAME),
    SortKey("namespace"),
    SortKey("name"),
    SortKey("resource"),
    SortKey("uid"),
)
_POLICIES = {
    Policy.GANG: "gang: all or nothing",
    Policy.BASIC: "basic: pod by pod",
    Policy.UNKNOWN: "not known to this release",
}
_DISRUPTION = {
    "Pod": "pods are preempted one by one",
    "single": "pods are preempted one by one",
    "PodGroup": "preempted as a whole",
    "all": "preempted as a whole",
}
# The condition is terminal: it says that the group was placed once, nothing about today.
_PLACED = Face("placed", "Was placed", "✓", "succeeded")
_NOT_PLACED = Face("not-placed", "Not placed", "◔", "waiting")
_SILENT = Face("no-word", "No word yet", "?", "unknown")


@dataclass(frozen=True, slots=True)
class GroupFilters:
    """Which groups are asked for. Empty means all."""

    cluster: str = ""
    namespace: str = ""
    kind: str = ""
    q: str = ""
    """Part of the name or namespace."""


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One Workload, PodGroup or CompositePodGroup."""

    id: str
    cluster: str
    api_group: str
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    generation: int
    policy: str
    policy_label: str
    policy_text: str
    """The policy as served when this release does not know it."""
    quorum: int | None
    """Its own: `minCount`, for a CompositePodGroup `minGroupCount`."""
    template_name: str
    template_quorum: int | None
    """What the template in its Workload asks for now; None when there is none or it is not known."""
    workload: str
    parent: str
    topology_keys: tuple[str, ...]
    priority: int | None
    disruption_mode: str
    placed: Condition | None
    """What the scheduler said last; it is not taken back when members are lost."""
    placed_face: Face | None
    """None for a Workload, which is never placed itself."""
    templates: tuple[GroupTemplate, ...]
    template_word: str
    """What Kubernetes calls them: `template`, on 1.35 `podGroup`."""
    controller: str
    """`Kind name` of what made it, or empty."""
    created_at: datetime | None
    deleting_since: datetime | None
    gang: GangName | None
    stale: bool
    """Its cluster has not answered lately, or groups of its kind cannot be looked at there."""
    disruption_label: str = ""
    """What its disruption mode means; empty for one that is not known here."""
    claims: tuple[GroupClaim, ...] = ()
    domains: Mapping[str, str] = field(default_factory=dict)
    """Topology key → where its pods are, as far as some have a node; only as a group of its gang."""
    depth: int = 0
    """How many groups of its gang stand above it, where these are shown as a tree."""

    @property
    def policy_short(self) -> str:
        """Its policy and quorum in a few words, of a Workload those of its templates: `gang, quorum 4`."""
        if len(self.templates) > 1:
            return f"{len(self.templates)} {self.template_word}s"
        own = (self.policy if self.policy_label else "", self.quorum)
        word, quorum = next(((one.policy, one.quorum) for one in self.templates), own)
        return f"{word}, quorum {quorum:,}" if quorum is not None else str(word)

    @property
    def differs(self) -> bool:
        """Whether its template asks for another quorum now than it has."""
        return self.template_quorum not in (None, self.quorum)

    @property
    def within(self) -> tuple[str, ...]:
        """Where all its pods must be, and are as far as some have a node: `within one rack: r3`."""
        return tuple(
            f"within one {key}{f': {self.domains[key]}' if key in self.domains else ''}"
            for key in self.topology_keys
        )


@dataclass(frozen=True, slots=True)
class GroupPage:
    """Some groups in order, and the cursor of the next page, None when there is none."""

    rows: tuple[GroupRow, ...]
    unseen: tuple[UnseenGroups, ...]
    """What could not be looked at: absence from `rows` means nothing there."""
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
    """Return one page of the groups that the viewer may see, and what could not be looked at.

    Raises CursorError.
    """
    if clusters is None:
        clusters = read_freshness(viewer=viewer, now=now)
    kinds = _resources()
    found = select_objects(
        viewer=viewer,
        resources=[key for key, kind in kinds.items() if filters.kind in ("", kind)],
        cluster=filters.cluster,
        namespace=filters.namespace,
        q=filters.q,
    )
    stored, following = read_page(found, _KEYS, cursor=cursor, limit=limit, clusters=clusters)
    visibility = read_group_visibility(kinds, clusters)
    return GroupPage(
        rows=build_rows(stored, viewer=viewer, clusters=clusters, visibility=visibility),
        unseen=describe_unseen_groups(
            visibility, kinds, clusters, cluster=filters.cluster, kind=filters.kind
        ),
        next_cursor=following,
    )


def group_detail(*, viewer: Viewer, group_id: str, now: datetime) -> GroupRow | None:
    """Return one group, or None when there is none or the viewer may not see it."""
    cluster, _, uid = group_id.partition("~")
    if "\x00" in group_id:
        return None
    found = select_objects(viewer=viewer, resources=_resources())
    stored = found.filter(cluster__name=cluster, uid=uid)[:1]
    clusters = read_freshness(viewer=viewer, now=now)
    return next(iter(build_rows(stored, viewer=viewer, clusters=clusters)), None)


def groups_by_uid(
    uids: Collection[str],
    *,
    viewer: Viewer,
    cluster: Freshness,
    owner: tuple[str, str] | None = None,
) -> GroupPage:
    """Return the stored groups with these uids that the viewer may see, by kind and name.

    Beside them what could not be looked at in their cluster; of a gang whose `owner` is of that (API group,
    kind) what could have groups of it.
    """
    id_, kinds = cluster.cluster_id, _resources()
    clusters = {id_: cluster}
    visibility = read_group_visibility(kinds, clusters)
    visible = select_objects(viewer=viewer, resources=kinds)
    needed = _resources(owner)
    stored = visible.filter(cluster_id=id_, uid__in=list(uids)) if uids else ()
    rows = build_rows(
        stored, viewer=viewer, clusters=clusters, visibility=visibility, with_gangs=False
    )
    return GroupPage(
        rows=tuple(sorted(rows, key=lambda row: (row.kind != "Workload", row.kind, row.name))),
        unseen=describe_unseen_groups(
            {place: state for place, state in visibility.items() if place[1] in needed},
            kinds,
            clusters,
        ),
        next_cursor=None,
    )


def group_kinds() -> tuple[str, ...]:
    """Return the kinds that a filter can ask for."""
    return tuple(sorted(set(_resources().values())))


def _resources(owner: tuple[str, str] | None = None) -> dict[str, str]:
    """Resource key → kind of everything that groups pods, or of what no gang of an (API group, kind) is told without.

    Of groups that pods name by a mark that is told by the pods: where one cannot be read, nothing is said of its gang.
    """
    return {
        resource.key: resource.kind
        for api in registry.grouping_apis()
        for resource in api.resources
        if resource.model is Group and (owner is None or _may_group(api, owner))
    }


def _may_group(api: GroupingAPI, owner: tuple[str, str]) -> bool:
    return owner in api.groups_of if api.groups_of else not api.marks


def build_rows(
    stored: Iterable[WatchedObject],
    *,
    viewer: Viewer,
    clusters: Mapping[int, Freshness],
    visibility: GroupVisibility | None = None,
    with_gangs: bool = True,
) -> tuple[GroupRow, ...]:
    """Return the stored groups as rows (2 to 5 queries more: templates, gangs, `visibility`)."""
    stored = [row for row in stored if row.cluster_id in clusters]
    if visibility is None:
        visibility = read_group_visibility(
            _resources(), {row.cluster_id: clusters[row.cluster_id] for row in stored}
        )
    groups = [(row.cluster_id, unpack(bytes(row.data), Group)) for row in stored]
    workloads = _templates(groups)
    gangs = find_gangs(groups, viewer=viewer) if with_gangs else {}
    return tuple(
        _row(
            group,
            clusters[cluster_id],
            workloads.get((cluster_id, group.meta.ref.namespace, group.workload_name), ()),
            gangs.get((cluster_id, group.meta.ref.uid)),
            is_seen=(cluster_id, row.resource) not in visibility,
        )
        for row, (cluster_id, group) in zip(stored, groups, strict=True)
    )


def _templates(
    groups: Iterable[tuple[int, Group]],
) -> dict[PlaceName, tuple[GroupTemplate, ...]]:
    """Return the templates of the Workloads that the groups name, by place and name (1 query)."""
    named = (
        (cluster_id, group.meta.ref.namespace, group.workload_name)
        for cluster_id, group in groups
        if group.workload_name
    )
    keys = [key for key, kind in _resources().items() if kind == "Workload"]
    workloads = objects_by_name(named, keys, Group)
    return {place: workload.templates for place, workload in workloads.items()}


def _row(
    group: Group,
    cluster: Freshness,
    templates: tuple[GroupTemplate, ...],
    gang: GangName | None,
    *,
    is_seen: bool,
) -> GroupRow:
    ref, meta = group.meta.ref, group.meta
    template = next((found for found in templates if found.name == group.template_name), None)
    controller = meta.controller
    return GroupRow(
        id=f"{cluster.cluster}~{ref.uid}",
        cluster=cluster.cluster,
        api_group=printable(ref.group),
        api_version=printable(meta.api_version),
        kind=printable(ref.kind),
        namespace=printable(ref.namespace),
        name=printable(ref.name),
        uid=ref.uid,
        generation=meta.generation,
        policy=group.policy.value,
        policy_label="" if _is_plan(group) else _POLICIES[group.policy],
        policy_text=printable(group.policy_text),
        quorum=group.quorum,
        template_name=printable(group.template_name),
        template_quorum=template.quorum if template else None,
        workload=printable(group.workload_name),
        parent=printable(group.parent_name),
        topology_keys=tuple(printable(key) for key in group.topology_keys),
        priority=group.priority,
        disruption_mode=printable(group.disruption_mode),
        disruption_label=_DISRUPTION.get(group.disruption_mode, ""),
        claims=tuple(_printable_claim(claim) for claim in group.claims),
        placed=_printable_condition(group.placed),
        placed_face=None if group.templates else _placed_face(group.placed),
        templates=tuple(_printable_template(found) for found in group.templates),
        template_word="podGroup" if meta.api_version == "v1alpha1" else "template",
        controller=printable(f"{controller.kind} {controller.name}") if controller else "",
        created_at=meta.created_at,
        deleting_since=meta.deleting_since,
        gang=gang,
        stale=cluster.is_stale or not is_seen,
    )


def _is_plan(group: Group) -> bool:
    """Whether only its templates have policies: a Workload."""
    return bool(group.templates) and group.policy is Policy.UNKNOWN


def _printable_condition(condition: Condition | None) -> Condition | None:
    if condition is None:
        return None
    return Condition(
        printable(condition.type),
        printable(condition.status),
        printable(condition.reason),
        printable(condition.message),
        condition.since,
    )


def _printable_claim(claim: GroupClaim) -> GroupClaim:
    return GroupClaim(printable(claim.name), printable(claim.claim), printable(claim.template))


def _printable_template(template: GroupTemplate) -> GroupTemplate:
    keys = tuple(printable(key) for key in template.topology_keys)
    return replace(template, name=printable(template.name), topology_keys=keys)


def _placed_face(placed: Condition | None) -> Face:
    if placed is None:
        return _SILENT
    return _PLACED if placed.is_true else _NOT_PLACED
