"""Rows of Workloads, PodGroups and CompositePodGroups, and the groups of one gang."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gangboard.domain.group import Group, GroupClaim, GroupTemplate, Policy
from gangboard.domain.objects import Condition
from gangboard.plugins import registry
from gangboard.plugins.grouping_api import GroupingAPI
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.group_visibility import (
    GroupVisibility,
    UnseenGroups,
    describe_unobserved_groups,
    read_group_visibility,
)
from gangboard.readmodels.state_labels import Face
from gangboard.readmodels.watched_objects import PlaceName, objects_by_name, select_objects
from gangboard.store.access import Viewer
from gangboard.store.models import WatchedObject
from gangboard.store.objects import unpack

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
# The condition is terminal: it says that the group was placed once, not that it is placed now.
_PLACED = Face("placed", "Was placed", "✓", "succeeded")
_NOT_PLACED = Face("not-placed", "Not placed", "◔", "waiting")
_SILENT = Face("no-word", "No status yet", "?", "unknown")


@dataclass(frozen=True, slots=True)
class ConditionRow:
    """A condition, texts as they were on the wire."""

    type: str = shown("Type")
    status: str = shown("Status")
    reason: str = shown("Reason")
    message: str = shown("Message")
    since: datetime | None = shown("Since")


@dataclass(frozen=True, slots=True)
class GroupTemplateRow:
    """One template of a Workload."""

    name: str = shown("Name")
    policy: str = shown("Policy")
    quorum: int | None = shown("Quorum")
    topology_keys: tuple[str, ...] = shown("Topology keys")
    composite: bool = shown("Composite")


@dataclass(frozen=True, slots=True)
class GroupClaimRow:
    """A device claim that all pods of a group share."""

    name: str = shown("Name")
    claim: str = shown(
        "Claim",
        "The ResourceClaim. Null until one is created from the template.",
        empty_is_null=True,
    )
    template: str = shown(
        "Template", "The ResourceClaimTemplate that it is created from.", empty_is_null=True
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """A Workload, PodGroup or CompositePodGroup (or an equivalent) as it is stored."""

    id: str = shown("Id")
    cluster: str = shown("Cluster")
    api_group: str = shown("API group")
    api_version: str = shown("Version")
    kind: str = shown("Kind")
    namespace: str = shown("Namespace")
    name: str = shown("Name")
    uid: str = shown("UID")
    generation: int = shown("Generation")
    policy: str = shown("Policy", "`gang`, `basic` or `unknown`.")
    policy_label: str
    policy_text: str = shown(
        "Policy as served",
        "The policy as served, if this release does not know it.",
        empty_is_null=True,
    )
    quorum: int | None = shown(
        "Quorum", "Its own `minCount`, of a CompositePodGroup `minGroupCount`."
    )
    workload: str = shown("Workload", empty_is_null=True)
    template_name: str = shown("Template", api_name="template", empty_is_null=True)
    template_quorum: int | None = shown("Quorum of the template")
    """The quorum in the template of its Workload. None if there is none, or it is unknown."""
    parent: str = shown("Parent", "The CompositePodGroup that it is part of.", empty_is_null=True)
    topology_keys: tuple[str, ...] = shown("Topology keys")
    priority: int | None = shown("Priority")
    disruption_mode: str = shown("Disruption mode", empty_is_null=True)
    disruption_label: str = ""
    """The meaning of its disruption mode. Empty for an unknown mode."""
    claims: tuple[GroupClaimRow, ...] = shown(
        "Claims", "Device claims that all its pods share.", default=()
    )
    placed: ConditionRow | None = shown("Placed", "Last condition that the scheduler set on it.")
    placed_face: Face | None
    """Face of `placed`. None for a Workload, because a Workload is never placed itself."""
    templates: tuple[GroupTemplateRow, ...] = shown("Templates")
    template_word: str
    """The name of templates in Kubernetes: `template`, or `podGroup` in 1.35."""
    controller: str = shown(
        "Controller", "Kind and name of the object that created it.", empty_is_null=True
    )
    created_at: datetime | None = shown("Created")
    deleting_since: datetime | None = shown("Deleted")
    stale: bool = shown(
        "Stale",
        "Its cluster has not answered for 30 seconds, or groups of its kind cannot be read there.",
    )

    @property
    def policy_short(self) -> str:
        """Its policy and quorum, or those of a Workload's templates: `gang, quorum 4`."""
        if len(self.templates) > 1:
            return f"{len(self.templates)} {self.template_word}s"
        own = (self.policy if self.policy_label else "", self.quorum)
        policy, quorum = next(
            ((template.policy, template.quorum) for template in self.templates), own
        )
        return f"{policy}, quorum {quorum:,}" if quorum is not None else policy

    @property
    def differs(self) -> bool:
        """Whether the quorum of its template differs from its own."""
        return self.template_quorum not in (None, self.quorum)

    @property
    def within(self) -> tuple[str, ...]:
        """The domains that all its pods must share: `within one rack`."""
        return tuple(f"within one {key}" for key in self.topology_keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOfGangRow(GroupRow):
    """A group as one of its gang."""

    domains: Mapping[str, str] = shown(
        "Domains",
        "Topology key → the domain of its pods, if any of them has a node.",
    )
    depth: int = 0
    """The number of groups above it in the tree of its gang."""

    @property
    def within(self) -> tuple[str, ...]:
        """The domains that all its pods must share, with their names if they are known: `within one rack: r3`."""
        return tuple(
            f"within one {key}{f': {self.domains[key]}' if key in self.domains else ''}"
            for key in self.topology_keys
        )


@dataclass(frozen=True, slots=True)
class GroupsOfGang:
    """The groups of one gang."""

    rows: tuple[GroupOfGangRow, ...]
    unseen: tuple[UnseenGroups, ...]
    """Kinds that cannot be read in its cluster. The gang may have more groups than `rows`."""


def groups_by_uid(
    uids: Collection[str],
    *,
    viewer: Viewer,
    cluster: Freshness,
    owner: tuple[str, str] | None = None,
) -> GroupsOfGang:
    """Return the stored groups with these uids that the viewer may see, by kind and name.

    `owner` is the (API group, kind) of the gang. `unseen` then has only kinds that can group its pods.
    """
    id_, kinds = cluster.cluster_id, group_resources()
    clusters = {id_: cluster}
    visibility = read_group_visibility(kinds, clusters)
    visible = select_objects(viewer=viewer, resources=kinds)
    needed = group_resources(owner)
    stored = visible.filter(cluster_id=id_, uid__in=list(uids)) if uids else ()
    rows = [
        GroupOfGangRow(**values, domains={})
        for _, _, values in read_groups(stored, clusters=clusters, visibility=visibility)
    ]
    return GroupsOfGang(
        rows=tuple(sorted(rows, key=lambda row: (row.kind != "Workload", row.kind, row.name))),
        unseen=describe_unobserved_groups(
            {place: state for place, state in visibility.items() if place[1] in needed},
            kinds,
            clusters,
        ),
    )


def group_resources(owner: tuple[str, str] | None = None) -> dict[str, str]:
    """Return resource key → kind of all resources that group pods.

    With `owner`, the (API group, kind) of a gang, the result has only the resources needed to know its groups.
    Groups that pods name by a label or annotation are known from the pods, so their resources are left out.
    """
    return {
        resource.key: resource.kind
        for api in registry.grouping_apis()
        for resource in api.resources
        if resource.model is Group and (owner is None or _may_group(api, owner))
    }


def _may_group(api: GroupingAPI, owner: tuple[str, str]) -> bool:
    return owner in api.groups_of if api.groups_of else not api.marks


def read_groups(
    stored: Iterable[WatchedObject],
    *,
    clusters: Mapping[int, Freshness],
    visibility: GroupVisibility | None = None,
) -> Iterator[tuple[int, Group, dict[str, Any]]]:
    """Yield the cluster id, the group and the values of its GroupRow for each stored object (at most 2 more queries)."""
    stored = [row for row in stored if row.cluster_id in clusters]
    if visibility is None:
        visibility = read_group_visibility(
            group_resources(), {row.cluster_id: clusters[row.cluster_id] for row in stored}
        )
    groups = [(row.cluster_id, unpack(bytes(row.data), Group)) for row in stored]
    workloads = _templates(groups)
    for row, (cluster_id, group) in zip(stored, groups, strict=True):
        templates = workloads.get((cluster_id, group.meta.ref.namespace, group.workload_name), ())
        template = next(
            (candidate for candidate in templates if candidate.name == group.template_name), None
        )
        cluster, is_seen = clusters[cluster_id], (cluster_id, row.resource) not in visibility
        stale = cluster.is_stale or not is_seen
        yield cluster_id, group, _values(group, cluster, template, stale=stale)


def _templates(
    groups: Iterable[tuple[int, Group]],
) -> dict[PlaceName, tuple[GroupTemplate, ...]]:
    """Return the templates of the Workloads that the groups name, by place and name (1 query)."""
    named = (
        (cluster_id, group.meta.ref.namespace, group.workload_name)
        for cluster_id, group in groups
        if group.workload_name
    )
    keys = [key for key, kind in group_resources().items() if kind == "Workload"]
    workloads = objects_by_name(named, keys, Group)
    return {place: workload.templates for place, workload in workloads.items()}


def _values(
    group: Group, cluster: Freshness, template: GroupTemplate | None, *, stale: bool
) -> dict[str, Any]:
    """Return the values of a GroupRow."""
    ref, meta = group.meta.ref, group.meta
    controller = meta.controller
    return {
        "id": f"{cluster.cluster}~{ref.uid}",
        "cluster": cluster.cluster,
        "api_group": printable(ref.group),
        "api_version": printable(meta.api_version),
        "kind": printable(ref.kind),
        "namespace": printable(ref.namespace),
        "name": printable(ref.name),
        "uid": ref.uid,
        "generation": meta.generation,
        "policy": group.policy.value,
        "policy_label": "" if _is_plan(group) else _POLICIES[group.policy],
        "policy_text": printable(group.policy_text),
        "quorum": group.quorum,
        "template_name": printable(group.template_name),
        "template_quorum": template.quorum if template else None,
        "workload": printable(group.workload_name),
        "parent": printable(group.parent_name),
        "topology_keys": tuple(map(printable, group.topology_keys)),
        "priority": group.priority,
        "disruption_mode": printable(group.disruption_mode),
        "disruption_label": _DISRUPTION.get(group.disruption_mode, ""),
        "claims": tuple(map(_claim_row, group.claims)),
        "placed": _condition_row(group.placed),
        "placed_face": None if group.templates else _placed_face(group.placed),
        "templates": tuple(map(_template_row, group.templates)),
        "template_word": "podGroup" if meta.api_version == "v1alpha1" else "template",
        "controller": printable(f"{controller.kind} {controller.name}") if controller else "",
        "created_at": meta.created_at,
        "deleting_since": meta.deleting_since,
        "stale": stale,
    }


def _is_plan(group: Group) -> bool:
    """Return whether the group is a Workload, of which only the templates have policies."""
    return bool(group.templates) and group.policy is Policy.UNKNOWN


def _condition_row(condition: Condition | None) -> ConditionRow | None:
    if condition is None:
        return None
    return ConditionRow(
        printable(condition.type),
        printable(condition.status),
        printable(condition.reason),
        printable(condition.message),
        condition.since,
    )


def _claim_row(claim: GroupClaim) -> GroupClaimRow:
    return GroupClaimRow(printable(claim.name), printable(claim.claim), printable(claim.template))


def _template_row(template: GroupTemplate) -> GroupTemplateRow:
    keys = tuple(map(printable, template.topology_keys))
    name, policy = printable(template.name), template.policy.value
    return GroupTemplateRow(name, policy, template.quorum, keys, template.composite)


def _placed_face(placed: Condition | None) -> Face:
    if placed is None:
        return _SILENT
    return _PLACED if placed.is_true else _NOT_PLACED
