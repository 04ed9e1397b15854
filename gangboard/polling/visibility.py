"""How well a cluster can be seen at a moment: what that allows to say, and what it does not."""

from __future__ import annotations

import re
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
from gangboard.polling.resource_watch import Watched

PODS_KEY = "pods"
UNOBSERVED_AFTER = timedelta(seconds=120)
"""A resource that fails for this long can no longer be vouched for."""
FOLLOWED_WITHIN = timedelta(seconds=60)
"""What was vouched for so lately was followed all the time: windows follow each other at once."""
NOT_SEEN = (WatchState.FORBIDDEN, WatchState.UNKNOWN_VERSION)
"""States in which a resource cannot be looked at from the first moment on."""

Visibility = Mapping[str, Watched]
"""Resource key → how it can be seen."""

_WISHED_FOR = (NODE_CLAIM, PROVISIONING_REQUEST, VOLUME_CLAIM, STORAGE_CLASS, RESOURCE_CLAIM)
_GROUP_KEYS = ("podgroups.scheduling.k8s.io", "workloads.scheduling.k8s.io")
_WORDS = {
    WatchState.NOT_SERVED: "not served",
    WatchState.FORBIDDEN: "forbidden",
    WatchState.UNKNOWN_VERSION: "served in versions that this release cannot read",
}


def is_ready_to_judge(visibility: Visibility) -> bool:
    """Whether what must be known of every gang was listed once, or will not come.

    Nodes, all pods, what autoscalers bring, claims, entries in queues and what owners are made by are
    waited for besides what is needed: a gang that waits would be told first that nothing is known of nodes, and a moment
    later why it waits.
    """
    wished_for = (
        *_of_room(visibility),
        *(visibility[one.key] for one in _WISHED_FOR),
        *_of_queues(visibility),
        *(one for one in visibility.values() if one.resource.model is Blueprint),
    )
    return all(
        _has_come(watched) for watched in visibility.values() if watched.resource.needed
    ) and all(watched.is_current or _will_not_come(watched) for watched in wished_for)


def are_pods_grouped(visibility: Visibility) -> bool:
    """Whether pods and groups were listed once, or will not come: only then they tell what else is needed."""
    return _has_come(visibility[PODS_KEY]) and all(
        _has_come(one) for one in visibility.values() if one.resource.model is Group
    )


def is_on_its_way(watched: Watched) -> bool:
    """Whether a resource that is read on demand is asked for, or may turn out to be needed, and did not come yet."""
    return not (
        watched.is_current or watched.state == WatchState.NOT_NEEDED or _will_not_come(watched)
    )


def is_listed(visibility: Visibility) -> bool:
    """Whether what is needed was listed to its end once, where it is served and may be read."""
    return all(
        watched.listed_at is not None or watched.state in (WatchState.NOT_SERVED, *NOT_SEEN)
        for watched in visibility.values()
        if watched.resource.needed
    )


def _has_come(watched: Watched) -> bool:
    return watched.listed_at is not None or _will_not_come(watched)


def _will_not_come(watched: Watched) -> bool:
    return not watched.version or watched.state in (WatchState.FORBIDDEN, WatchState.FAILING)


def unobserved(visibility: Visibility, now: datetime) -> tuple[Unobserved, ...]:
    """Return what is needed and cannot be looked at; a short failure is covered by the last data."""
    return tuple(
        Unobserved(watched.resource.key, watched.state, watched.sentence)
        for watched in visibility.values()
        if watched.resource.needed and is_unobserved(watched, now)
    )


def unreadable(visibility: Visibility) -> dict[str, tuple[Unobserved, ...]]:
    """Return namespace → what is needed there and has objects of which nothing can be read.

    Under "" is what may be of any namespace: its name is not told, for those who see one namespace
    must not learn names of another.
    """
    found: dict[str, list[Unobserved]] = defaultdict(list)
    for watched in visibility.values():
        if not watched.resource.needed or watched.state == WatchState.NOT_SERVED:
            continue
        names: dict[str, list[str]] = defaultdict(list)
        for namespace, name in watched.lost:
            names[namespace].append(name)
        for namespace, lost in names.items():
            sentence = _unread(watched, namespace, lost)
            found[namespace].append(
                Unobserved(watched.resource.key, WatchState.UNDECODABLE, sentence)
            )
    return {namespace: tuple(those) for namespace, those in found.items()}


def _unread(watched: Watched, namespace: str, names: list[str]) -> str:
    """Return the sentence about objects of one namespace that cannot be read."""
    if not namespace:
        whose = "its namespace: it" if len(names) == 1 else "their namespaces: they"
        return (
            f"{len(names)} of the {watched.resource.key} cannot be read, not even {whose} "
            "may be of any gang."
        )
    kind, first = (
        watched.resource.kind,
        min(names, key=lambda name: (not watched.problems[namespace, name], name)),
    )
    sentence = watched.problems[namespace, first] or f"{kind} {namespace}/{first} cannot be read."
    more = len(names) - 1
    return (
        f"{sentence} The same is true of {more} more in namespace {namespace}."
        if more
        else sentence
    )


def is_followed(visibility: Visibility, made_at: datetime, now: datetime) -> bool:
    """Whether all that is needed was seen lately, by the caches that were made at that time."""
    return all(
        watched.contact_at is not None
        and watched.contact_at >= made_at
        and now - watched.contact_at <= FOLLOWED_WITHIN
        for watched in visibility.values()
        if watched.resource.needed and watched.version and watched.state not in NOT_SEEN
    )


def is_unobserved(watched: Watched, now: datetime) -> bool:
    """Whether what is known of a resource cannot be vouched for.

    Pages of a list that never came to its end tell nothing of what is on the others. The time in
    which the whole cluster was silent is not held against one resource of it.
    """
    if watched.state in NOT_SEEN:
        return True
    if watched.state != WatchState.FAILING:
        return False
    if watched.listed_at is None or watched.contact_at is None:
        return True
    return now - watched.contact_at - watched.excused > UNOBSERVED_AFTER


def tells_absence(watched: Watched, now: datetime) -> bool:
    """Whether an object of a resource that is served and not known does not exist."""
    if watched.state == WatchState.NOT_SERVED or is_unobserved(watched, now):
        return False
    return watched.is_current and not watched.lost


def groups_seen(visibility: Visibility) -> Watched | None:
    """Return how that can be seen which says what groups there are; None where nothing is watched.

    PodGroups; where none are served, as on 1.35, the Workloads whose entries are the groups.
    """
    found = [visibility[key] for key in _GROUP_KEYS if key in visibility]
    return next(
        (one for one in found if one.state != WatchState.NOT_SERVED), found[0] if found else None
    )


def known_kinds(visibility: Visibility, now: datetime) -> frozenset[str]:
    """Return `Gang.known_kinds`: kinds of groups and queues of which what is not known does not exist."""
    marked = registry.marked_kinds()
    found = {
        f"{watched.resource.kind}.{watched.resource.group}": watched
        for watched in visibility.values()
    }
    return frozenset(
        kind
        for kind, watched in found.items()
        if (kind in marked or watched.resource.model is Queue) and tells_absence(watched, now)
    )


def queue_visibility(visibility: Visibility, now: datetime) -> QueueVisibility:
    """Return `Gang.queue_visibility`: whether entries in queues can be there, and are all known."""
    known = _of_queues(visibility)
    served = [one for one in known if one.state != WatchState.NOT_SERVED]
    if not known:
        return QueueVisibility.UNKNOWN
    if not served:
        return QueueVisibility.NOT_SERVED
    return (
        QueueVisibility.SERVED
        if all(tells_absence(one, now) for one in served)
        else QueueVisibility.UNKNOWN
    )


def _of_queues(visibility: Visibility) -> list[Watched]:
    return [one for one in visibility.values() if one.resource.model is QueueEntry]


def why_no_room(visibility: Visibility, now: datetime) -> str:
    """Return why nothing can be said of room, as a clause such as `nodes: forbidden`; else nothing.

    Nodes and pods that were never listed to the end are no cluster's capacity, and one object that
    cannot be read may be the node that has room, or the pod that takes it.
    """
    for watched in _of_room(visibility):
        clause = _why_not(watched, now)
        if clause:
            return f"{watched.resource.key}: {clause}"
    return ""


def _of_room(visibility: Visibility) -> Iterable[Watched]:
    return (visibility[NODE.key], visibility[PODS_KEY])


def _why_not(watched: Watched, now: datetime) -> str:
    if watched.state in _WORDS:
        return _WORDS[watched.state]
    if is_unobserved(watched, now) or (
        watched.state == WatchState.FAILING and not watched.is_current
    ):
        return "failing"
    if not watched.is_current:
        return "not read yet"
    return f"{len(watched.lost)} cannot be read" if watched.lost else ""


_MINOR = re.compile(r"v?(\d{1,4})\.(\d{1,4})")


def kubernetes_minor(server_version: str) -> tuple[int, int] | None:
    """Return (1, 37) for `v1.37.0`, also with what vendors add to it; None when it says no such thing."""
    found = _MINOR.match(server_version)
    return (int(found[1]), int(found[2])) if found else None
