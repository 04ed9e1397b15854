"""Builder of the gang model, from objects of the poll cache, the database or the live cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeVar

from gangboard.domain.event import CreationFailure, Event
from gangboard.domain.group import Group
from gangboard.domain.hold import Hold
from gangboard.domain.measured_use import UseAlert
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Blueprint, Owner, Role, SuspendChange
from gangboard.domain.pod import Pod
from gangboard.domain.pod_claims import UnusableClaims
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import QueueTree
from gangboard.domain.suspension import RecordedSuspend
from gangboard.domain.text import natural_key
from gangboard.domain.verdict import UnitMemory
from gangboard.facts.bare_objects import as_owner
from gangboard.facts.cluster_view import ClusterView, Unobserved
from gangboard.facts.gang import NO_ALERT, Gang, Linked, Root, Victim
from gangboard.facts.groups import WORKLOAD, entry_groups
from gangboard.facts.owner_references import odd_references, with_known_controller
from gangboard.facts.roles import MOST_NAMED, numbered_replicas
from gangboard.facts.unobserved import concerning
from gangboard.plugins import registry

_Object = TypeVar("_Object", Owner, Pod, Group, Hold, QueueEntry)
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class GangObjects:
    """Objects of a gang besides its root. The poll alone supplies pods, and the fields that depend on pods."""

    members: Iterable[Linked] = ()
    """Other members in the ownership graph, including those of former attempts."""
    foreign_pods: Iterable[Pod] = ()
    placeholders: Iterable[Pod] = ()
    maker: Owner | None = None
    """Owner that creates such gangs."""
    blueprints: Sequence[Blueprint] = ()
    """Blueprints that its owners name."""
    owned_elsewhere: bool = False
    """An owner reference of the root names an object of another namespace."""
    events: Iterable[Event] = ()
    """Events about any member."""
    unobserved: tuple[Unobserved, ...] = ()
    """Resources that cannot be read in its namespace."""
    memory: Mapping[str, UnitMemory] = field(default_factory=dict)
    memory_since: datetime | None = None
    queues: QueueTree = field(default_factory=QueueTree)
    """Queues that its entries name."""
    claims: UnusableClaims = field(default_factory=dict)
    """Claims that its pods name and cannot use."""
    suspensions: Mapping[str, tuple[SuspendChange, ...]] = field(default_factory=dict)
    """Observed changes of `spec.suspend` by uid."""
    recorded_suspends: Mapping[str, RecordedSuspend] = field(default_factory=dict)
    """Suspends of gangboard's record by uid."""
    victims: Iterable[tuple[Pod, str]] = ()
    """Pods that were preempted for a member, each with the uid of that member."""
    use_alert: UseAlert = NO_ALERT
    preemptors: Mapping[str, ObjectRef] = field(default_factory=dict)
    """The gangs of the pods and groups that preempted a member, by uid."""


NO_OBJECTS = GangObjects()


def build_gang(root: Root, objects: GangObjects, cluster: ClusterView, now: datetime) -> Gang:
    """Return the gang of `root`, without the objects of former attempts.

    Jobs, groups and pods are ordered by name, events newest first.
    """
    known = _by_uid(root, objects.members)
    owners = {uid: item for uid, item in known.items() if isinstance(item, Owner)}
    current = current_uids(root, owners.values()) if isinstance(root, Owner) else frozenset()
    old = owners.keys() - current
    tree: tuple[Owner, ...] = ()
    if isinstance(root, Owner):
        tree = completed_tree(root, owners.values(), current, objects.blueprints)
    current_objects = [item for item in known.values() if not _is_left_behind(item, old)]
    former = known.keys() - {item.meta.ref.uid for item in current_objects}
    pods = _ordered(item for item in current_objects if isinstance(item, Pod))
    foreign_pods = _ordered(objects.foreign_pods)
    all_groups = _ordered(item for item in current_objects if isinstance(item, Group))
    workloads = tuple(group for group in all_groups if group.meta.ref.kind == WORKLOAD)
    groups = (
        *(group for group in all_groups if group.meta.ref.kind != WORKLOAD),
        *entry_groups(workloads, owners.values(), pods, foreign_pods, root.meta.ref.uid),
    )
    events = _newest_first(event for event in objects.events if event.regarding.uid not in former)
    roles_of_pods = _roles_of_pods(tree, pods)
    elsewhere = objects.owned_elsewhere
    return Gang(
        owner=_with_replicas(tree[0], roles_of_pods)
        if tree
        else as_owner(root, groups, pods, foreign_pods),
        now=now,
        cluster=cluster,
        jobs=_ordered(owner for owner in tree if owner.meta.ref.is_job),
        old_jobs=_ordered(owners[uid] for uid in old if owners[uid].meta.ref.is_job),
        middle=tuple(owner for owner in tree[1:] if not owner.meta.ref.is_job),
        maker=objects.maker,
        groups=groups,
        workloads=workloads,
        pods=pods,
        old_pods=_ordered(_terminating_pods(known[uid] for uid in former)),
        foreign_pods=foreign_pods,
        placeholders=_ordered(objects.placeholders),
        holds=_ordered(item for item in current_objects if isinstance(item, Hold)),
        entries=_entries(current_objects, root, pods),
        events=events,
        creation_failures=tuple(_not_made(tree, events)),
        odd_references=tuple(odd_references(root, owners, owned_elsewhere=elsewhere)),
        unobserved=concerning(objects.unobserved, root, current_objects),
        memory=objects.memory,
        memory_since=objects.memory_since,
        queues=objects.queues,
        claims=objects.claims,
        suspensions=objects.suspensions,
        recorded_suspends=objects.recorded_suspends,
        victims=_leaving(objects.victims),
        preemptors=objects.preemptors,
        use_alert=objects.use_alert,
        roles_of_pods=roles_of_pods,
        kinds=registry.kind_traits(),
        pod_reasons=registry.pod_reasons(),
        admission=registry.queue_traits(),
    )


# Current attempt


def current_uids(root: Owner, owners: Iterable[Owner]) -> frozenset[str]:
    """Return the uids of the root and of the owners below it that belong to its current attempt.

    The kind of each parent decides which of its children count. A child of an old child does not count.
    """
    by_uid = {owner.meta.ref.uid: owner for owner in (root, *owners)}
    under: dict[str, list[Owner]] = defaultdict(list)
    for owner in by_uid.values():
        if owner.meta.controller is not None and owner is not root:
            under[owner.meta.controller.uid].append(owner)
    current = {root.meta.ref.uid: None}
    for uid in (waiting := [root.meta.ref.uid]):
        new = [
            child.meta.ref.uid
            for child in under[uid]
            if child.meta.ref.uid not in current and _is_current(by_uid[uid], child)
        ]
        current.update(dict.fromkeys(new))
        waiting.extend(new)
    return frozenset(current)


def _is_current(parent: Owner, child: Owner) -> bool:
    kind = registry.owner_kind(parent.meta.ref.group, parent.meta.ref.kind)
    return kind is None or kind.is_current(parent, child)


def completed_tree(
    root: Owner,
    owners: Iterable[Owner],
    current: Collection[str],
    blueprints: Sequence[Blueprint] = (),
) -> tuple[Owner, ...]:
    """Return the root and the owners below it, parents first, each completed.

    `current` are the uids that count (`current_uids`). A kind without a size and roles of its own takes them from its
    children (`OwnerKind.complete`), so the lowest owners are completed first. `blueprints` are the known ones.
    """
    by_uid = {
        owner.meta.ref.uid: owner for owner in (root, *owners) if owner.meta.ref.uid in current
    }
    under: dict[str, list[str]] = defaultdict(list)
    for uid, owner in by_uid.items():
        if owner.meta.controller is not None and uid != root.meta.ref.uid:
            under[owner.meta.controller.uid].append(uid)
    order = [root.meta.ref.uid]
    for uid in order:
        order += under[uid]
    completed: dict[str, Owner] = {}
    for uid in reversed(order):
        children = [completed[child] for child in under[uid]]
        completed[uid] = _completed(by_uid[uid], children, blueprints)
    return tuple(completed[uid] for uid in order)


def _completed(owner: Owner, children: Sequence[Owner], blueprints: Sequence[Blueprint]) -> Owner:
    ref = owner.meta.ref
    kind = registry.owner_kind(ref.group, ref.kind)
    if kind is None or kind.complete is None:
        return owner
    known = [
        blueprint
        for blueprint in blueprints
        if replace(blueprint.meta.ref, uid="") in owner.blueprints
    ]
    return kind.complete(owner, children, known)


# Objects


def _by_uid(root: Linked, members: Iterable[Linked]) -> dict[str, Linked]:
    """Return root and members by uid, each with a known owner as its controller, if it has one."""
    known: dict[str, Linked] = {item.meta.ref.uid: item for item in (root, *members)}
    owners = {uid: item for uid, item in known.items() if isinstance(item, Owner)}
    for uid, item in known.items():
        if (isinstance(item, Owner) and item is not root) or isinstance(item, Pod):
            known[uid] = with_known_controller(item, owners)
    return known


def _entries(
    objects: Iterable[Linked], root: Linked, pods: Iterable[Pod]
) -> tuple[QueueEntry, ...]:
    """Return the entries of a gang. Entries of its pods become entries of the root, which they keep from running."""
    members = {"", *(pod.meta.ref.uid for pod in pods)}
    return _ordered(
        replace(entry, owner_uid=root.meta.ref.uid) if entry.owner_uid in members else entry
        for entry in objects
        if isinstance(entry, QueueEntry)
    )


def _not_made(tree: Iterable[Owner], events: Iterable[Event]) -> Iterator[CreationFailure]:
    """Yield the failed creations that the controllers of these owners report, newest first."""
    reasons = {}
    for owner in tree:
        ref = owner.meta.ref
        kind = registry.owner_kind(ref.group, ref.kind)
        if kind is not None and kind.event_reasons:
            reasons[ref.uid] = kind.event_reasons
    for event in events:
        template = reasons.get(event.regarding.uid, {}).get(event.reason)
        if template is not None:
            ref = event.regarding
            prefix = template.replace("NAMESPACE/NAME", f"{ref.namespace}/{ref.name}")
            yield CreationFailure(event, event.note.removeprefix(prefix).strip())


def _roles_of_pods(tree: Sequence[Owner], pods: Iterable[Pod]) -> dict[str, str]:
    """Return the role of each pod whose kind knows it by labels."""
    ref = tree[0].meta.ref if tree else None
    kind = registry.owner_kind(ref.group, ref.kind) if ref is not None else None
    if kind is None or not kind.overrides("role_of"):
        return {}
    roles = {pod.meta.ref.uid: kind.role_of(pod) for pod in pods}
    return {uid: role for uid, role in roles.items() if role}


def _with_replicas(owner: Owner, roles_of_pods: Mapping[str, str]) -> Owner:
    """Return the owner with its numbered replicas as roles: those with pods, some without, and the rest."""
    kind = registry.owner_kind(owner.meta.ref.group, owner.meta.ref.kind)
    if kind is None or not kind.overrides("is_numbered"):
        return owner
    existing, room = set(roles_of_pods.values()), MOST_NAMED
    roles: list[Role] = []
    for role in owner.roles:
        if not kind.is_numbered(role):
            roles.append(role)
            continue
        replicas = numbered_replicas(role, existing, room)
        room -= min(room, sum(replica.name not in existing for replica in replicas))
        roles += replicas
    return replace(owner, roles=tuple(roles))


def _leaving(victims: Iterable[tuple[Pod, str]]) -> tuple[Victim, ...]:
    """Return the victims that still hold a node. A pod that was only nominated to a node is not deleted."""
    leaving = {
        pod.meta.ref.uid: Victim(
            pod.meta.ref, taker, pod.disruption.since if pod.disruption is not None else None
        )
        for pod, taker in victims
        if pod.is_live and pod.is_terminating
    }
    return tuple(
        sorted(
            leaving.values(),
            key=lambda victim: (victim.pod.namespace, natural_key(victim.pod.name)),
        )
    )


def _is_left_behind(item: Linked, old: Set[str]) -> bool:
    """Return whether an object is an owner of a former attempt or was made by such an owner."""
    controller = item.meta.controller
    made_by = controller.uid if controller is not None else ""
    return item.meta.ref.uid in old or made_by in old


def _terminating_pods(objects: Iterable[Linked]) -> Iterator[Pod]:
    """Yield the pods that are being deleted and are not finished."""
    for item in objects:
        if isinstance(item, Pod) and item.is_live and item.is_terminating:
            yield item


def _ordered(objects: Iterable[_Object]) -> tuple[_Object, ...]:
    return tuple(
        sorted(objects, key=lambda item: (natural_key(item.meta.ref.name), item.meta.ref.uid))
    )


def _newest_first(events: Iterable[Event]) -> tuple[Event, ...]:
    return tuple(sorted(events, key=lambda event: event.last_seen or _LONG_AGO, reverse=True))
