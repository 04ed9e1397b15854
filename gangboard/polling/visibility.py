"""Visibility of a cluster: which resources are readable now, and the conclusions that this permits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from gangboard.decode.claim_objects import RESOURCE_CLAIM, STORAGE_CLASS, VOLUME_CLAIM
from gangboard.decode.node_claims import NODE_CLAIM
from gangboard.decode.nodes import NODE
from gangboard.decode.provisioning_requests import PROVISIONING_REQUEST
from gangboard.domain.api_resource import WatchState
from gangboard.domain.group import Group
from gangboard.domain.owner import Blueprint
from gangboard.domain.queue import QueueEntry
from gangboard.domain.queue_status import QueueVisibility
from gangboard.domain.quota import Queue
from gangboard.facts.cluster_view import Unobserved
from gangboard.plugins import registry
from gangboard.polling.resource_watch import WatchedResource

PODS_KEY = "pods"
UNOBSERVED_AFTER = timedelta(seconds=120)
"""A resource that fails for this long is unobserved."""
FOLLOWED_WITHIN = timedelta(seconds=60)
"""A resource whose changes were known this recently has no gap, because windows follow each other at once."""
NOT_SEEN = (WatchState.FORBIDDEN, WatchState.UNKNOWN_VERSION)
"""States in which a resource counts as unobserved at once."""

Visibility = Mapping[str, WatchedResource]
"""Resource key → its state."""

_OPTIONAL = (NODE_CLAIM, PROVISIONING_REQUEST, VOLUME_CLAIM, STORAGE_CLASS, RESOURCE_CLAIM)
_GROUP_KEYS = ("podgroups.scheduling.k8s.io", "workloads.scheduling.k8s.io")
_STATE_TEXTS = {
    WatchState.NOT_SERVED: "not served",
    WatchState.FORBIDDEN: "forbidden",
    WatchState.UNKNOWN_VERSION: "served in versions that this release cannot read",
}


def is_ready_to_assess(visibility: Visibility) -> bool:
    """Return whether each resource that verdicts use was listed once, or cannot be listed.

    Besides the needed resources, these are nodes, pods, objects of autoscalers, claims, queue entries and blueprints.
    Without waiting for them, a gang would first be shown with unknown nodes, and a moment later with the reason why
    it waits.
    """
    optional = (
        *_capacity_resources(visibility),
        *(visibility[resource.key] for resource in _OPTIONAL),
        *_queue_entry_resources(visibility),
        *(watched for watched in visibility.values() if watched.resource.model is Blueprint),
    )
    return all(
        _was_listed(watched) for watched in visibility.values() if watched.resource.needed
    ) and all(watched.is_current or _is_unavailable(watched) for watched in optional)


def are_groups_listed(visibility: Visibility) -> bool:
    """Return whether pods and groups were listed once, or cannot be listed.

    Until then the owners that must also be read are unknown.
    """
    return _was_listed(visibility[PODS_KEY]) and all(
        _was_listed(watched) for watched in visibility.values() if watched.resource.model is Group
    )


def is_resource_awaited(watched: WatchedResource) -> bool:
    """Return whether a resource that is read on demand is being listed, or may still turn out to be needed."""
    return not (
        watched.is_current or watched.state == WatchState.NOT_NEEDED or _is_unavailable(watched)
    )


def is_listed(visibility: Visibility) -> bool:
    """Return whether each needed resource was listed completely, if it is served and readable."""
    return all(
        watched.listed_at is not None or watched.state in (WatchState.NOT_SERVED, *NOT_SEEN)
        for watched in visibility.values()
        if watched.resource.needed
    )


def _was_listed(watched: WatchedResource) -> bool:
    return watched.listed_at is not None or _is_unavailable(watched)


def _is_unavailable(watched: WatchedResource) -> bool:
    return not watched.version or watched.state in (WatchState.FORBIDDEN, WatchState.FAILING)


def unobserved_resources(visibility: Visibility, now: datetime) -> tuple[Unobserved, ...]:
    """Return the needed resources that are unobserved. During a short failure the last data is used."""
    return tuple(
        Unobserved(watched.resource.key, watched.state, watched.sentence)
        for watched in visibility.values()
        if watched.resource.needed and is_unobserved(watched, now)
    )


def unreadable_by_namespace(visibility: Visibility) -> dict[str, tuple[Unobserved, ...]]:
    """Return namespace → its needed resources with unreadable objects.

    The key "" has the objects that may be in any namespace. Their names are not shown, because a user who may see one
    namespace must not learn names of another one.
    """
    unobserved: dict[str, list[Unobserved]] = defaultdict(list)
    for watched in visibility.values():
        if not watched.resource.needed or watched.state == WatchState.NOT_SERVED:
            continue
        names: dict[str, list[str]] = defaultdict(list)
        for namespace, name in watched.unreadable_names:
            names[namespace].append(name)
        for namespace, unreadable in names.items():
            sentence = _unreadable_sentence(watched, namespace, unreadable)
            unobserved[namespace].append(
                Unobserved(watched.resource.key, WatchState.UNDECODABLE, sentence)
            )
    return {namespace: tuple(items) for namespace, items in unobserved.items()}


def _unreadable_sentence(watched: WatchedResource, namespace: str, names: list[str]) -> str:
    """Return the sentence about unreadable objects of one namespace."""
    if not namespace:
        objects = "its namespace: it" if len(names) == 1 else "their namespaces: they"
        return (
            f"{len(names)} of the {watched.resource.key} cannot be read, not even {objects} "
            "may be of any gang."
        )
    kind, first = (
        watched.resource.kind,
        min(names, key=lambda name: (not watched.problems[namespace, name], name)),
    )
    sentence = watched.problems[namespace, first] or f"{kind} {namespace}/{first} cannot be read."
    further = len(names) - 1
    return (
        f"{sentence} The same is true of {further} more in namespace {namespace}."
        if further
        else sentence
    )


def is_followed(visibility: Visibility, created_at: datetime, now: datetime) -> bool:
    """Return whether all needed resources are watched without a gap, by the caches created at that time."""
    return all(
        watched.contact_at is not None
        and watched.contact_at >= created_at
        and now - watched.contact_at <= FOLLOWED_WITHIN
        for watched in visibility.values()
        if watched.resource.needed and watched.version and watched.state not in NOT_SEEN
    )


def is_unobserved(watched: WatchedResource, now: datetime) -> bool:
    """Return whether the stored objects of a resource may be incomplete or outdated.

    After a list that ended early, the objects on its missing pages are unknown. Outages of the whole cluster do not
    count against a single resource.
    """
    if watched.state in NOT_SEEN:
        return True
    if watched.state != WatchState.FAILING:
        return False
    if watched.listed_at is None or watched.contact_at is None:
        return True
    return now - watched.contact_at - watched.outage_time > UNOBSERVED_AFTER


def proves_absence(watched: WatchedResource, now: datetime) -> bool:
    """Return whether an unknown object of a served resource certainly does not exist."""
    if watched.state == WatchState.NOT_SERVED or is_unobserved(watched, now):
        return False
    return watched.is_current and not watched.unreadable_names


def group_resource(visibility: Visibility) -> WatchedResource | None:
    """Return the resource that holds the pod groups, or None if it is not watched.

    PodGroups hold them. Where PodGroups are not served, as on 1.35, Workloads do, with groups as entries.
    """
    candidates = [visibility[key] for key in _GROUP_KEYS if key in visibility]
    return next(
        (watched for watched in candidates if watched.state != WatchState.NOT_SERVED),
        candidates[0] if candidates else None,
    )


def known_kinds(visibility: Visibility, now: datetime) -> frozenset[str]:
    """Return `Gang.known_kinds`: kinds of groups and queues whose unknown objects certainly do not exist."""
    marked = registry.marked_kinds()
    by_kind = {
        f"{watched.resource.kind}.{watched.resource.group}": watched
        for watched in visibility.values()
    }
    return frozenset(
        kind
        for kind, watched in by_kind.items()
        if (kind in marked or watched.resource.model is Queue) and proves_absence(watched, now)
    )


def queue_visibility(visibility: Visibility, now: datetime) -> QueueVisibility:
    """Return `Gang.queue_visibility`: whether queue entries are served, and all of them known."""
    watched_entries = _queue_entry_resources(visibility)
    served = [watched for watched in watched_entries if watched.state != WatchState.NOT_SERVED]
    if not watched_entries:
        return QueueVisibility.UNKNOWN
    if not served:
        return QueueVisibility.NOT_SERVED
    return (
        QueueVisibility.SERVED
        if all(proves_absence(watched, now) for watched in served)
        else QueueVisibility.UNKNOWN
    )


def _queue_entry_resources(visibility: Visibility) -> list[WatchedResource]:
    return [watched for watched in visibility.values() if watched.resource.model is QueueEntry]


def why_capacity_unknown(visibility: Visibility, now: datetime) -> str:
    """Return why the capacity is unknown, as a clause such as `nodes: forbidden`. Empty if it is known.

    It is unknown until nodes and pods were listed completely. A single unreadable object makes it unknown as well: it
    may be a node with free capacity, or a pod that uses it.
    """
    for watched in _capacity_resources(visibility):
        reason = _unknown_reason(watched, now)
        if reason:
            return f"{watched.resource.key}: {reason}"
    return ""


def _capacity_resources(visibility: Visibility) -> Iterable[WatchedResource]:
    return (visibility[NODE.key], visibility[PODS_KEY])


def _unknown_reason(watched: WatchedResource, now: datetime) -> str:
    if watched.state in _STATE_TEXTS:
        return _STATE_TEXTS[watched.state]
    if is_unobserved(watched, now) or (
        watched.state == WatchState.FAILING and not watched.is_current
    ):
        return "failing"
    if not watched.is_current:
        return "not read yet"
    return f"{len(watched.unreadable_names)} cannot be read" if watched.unreadable_names else ""
