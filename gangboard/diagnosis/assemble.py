"""Puts the objects of one gang together into the facts that rules are given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from gangboard.diagnosis.bare_objects import as_owner
from gangboard.diagnosis.concerned import concerning
from gangboard.diagnosis.current_attempt import current_uids, natural
from gangboard.diagnosis.object_links import WORKLOAD, Linked
from gangboard.diagnosis.ownership_tree import tree_of
from gangboard.diagnosis.references import odd_references, with_known_controller
from gangboard.diagnosis.workload_entries import entry_groups
from gangboard.domain.autoscaling import NOT_SEEN, Autoscaling
from gangboard.domain.blueprint import Blueprint
from gangboard.domain.capacity import ClusterRoom
from gangboard.domain.event import Event, NotMade
from gangboard.domain.group import Group
from gangboard.domain.hold import Hold
from gangboard.domain.node import Node
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner, Role, SuspendChange
from gangboard.domain.pod import Pod
from gangboard.domain.pod_claims import NO_UNUSABLE_CLAIMS, UnusableClaims
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import QueueTree
from gangboard.domain.suspension import RecordedSuspend
from gangboard.domain.verdict import UnitMemory
from gangboard.facts.gang import NO_ROOM, GangFacts, Unobserved, Victim
from gangboard.facts.replicas import MOST_NAMED, numbered_replicas
from gangboard.plugins import registry

Kept = TypeVar("Kept", Owner, Pod, Group, Hold, QueueEntry)

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_NO_NODES: Mapping[str, Node] = {}
_NO_MEMORY: Mapping[str, UnitMemory] = {}
_NO_CHANGES: Mapping[str, tuple[SuspendChange, ...]] = {}
_NO_RECORDS: Mapping[str, RecordedSuspend] = {}
_NO_TAKERS: Mapping[str, ObjectRef] = {}


def assemble(
    root: Owner | Pod | Group | QueueEntry,
    objects: Iterable[Linked],
    *,
    now: datetime,
    foreign_pods: Iterable[Pod] = (),
    placeholders: Iterable[Pod] = (),
    events: Iterable[Event] = (),
    nodes: Mapping[str, Node] = _NO_NODES,
    nodes_known: bool = True,
    gang_api_version: str = "",
    groups_unobserved: bool = False,
    known_kinds: frozenset[str] = frozenset(),
    events_known: bool = True,
    holds_known: bool = True,
    queue_visibility: str = "",
    queue_systems: tuple[str, ...] = (),
    queues: QueueTree | None = None,
    unobserved: tuple[Unobserved, ...] = (),
    memory: Mapping[str, UnitMemory] = _NO_MEMORY,
    memory_since: datetime | None = None,
    room: ClusterRoom = NO_ROOM,
    kubernetes: tuple[int, int] | None = None,
    autoscaling: Autoscaling = NOT_SEEN,
    claims: UnusableClaims = NO_UNUSABLE_CLAIMS,
    suspensions: Mapping[str, tuple[SuspendChange, ...]] = _NO_CHANGES,
    recorded_suspends: Mapping[str, RecordedSuspend] = _NO_RECORDS,
    victims: Iterable[tuple[Pod, str]] = (),
    takers: Mapping[str, ObjectRef] = _NO_TAKERS,
    blueprints: Sequence[Blueprint] = (),
    owned_elsewhere: bool = False,
) -> GangFacts:
    """Return the facts of the gang of `root`.

    `objects` are the other members by the ownership graph, `nodes` all nodes by name, `events` those about
    any of the members, `queues` those that its entries name, `room` what is free on all nodes, `kubernetes` the version of the server,
    `claims` what keeps its pods from using claims that they name, `suspensions` what was watched of
    `spec.suspend` by uid, `recorded_suspends` suspends of gangboard's record by uid, `victims` pods that were preempted for a member, each with the uid of that
    member, `takers` the gangs of those that preempted, by uid, `blueprints` what its owners name and are
    made by, `owned_elsewhere` whether a reference of `root` names an owner of another namespace.
    What former attempts of the owner left behind is taken out, its events included. Jobs, groups
    and pods come in the order of their names, events newest first.
    """
    known: dict[str, Linked] = {thing.meta.ref.uid: thing for thing in (root, *objects)}
    by_uid = {uid: thing for uid, thing in known.items() if isinstance(thing, Owner)}
    for uid, thing in known.items():
        if (isinstance(thing, Owner) and thing is not root) or isinstance(thing, Pod):
            known[uid] = with_known_controller(thing, by_uid)
    owners = [thing for thing in known.values() if isinstance(thing, Owner)]
    current = current_uids(root, owners) if isinstance(root, Owner) else frozenset()
    old = frozenset(owner.meta.ref.uid for owner in owners) - current
    tree = tree_of(root, owners, current, blueprints) if isinstance(root, Owner) else ()
    kept = [thing for thing in known.values() if not _is_left_behind(thing, old)]
    pods = _ordered(thing for thing in kept if isinstance(thing, Pod))
    all_groups = _ordered(thing for thing in kept if isinstance(thing, Group))
    workloads = tuple(group for group in all_groups if group.meta.ref.kind == WORKLOAD)
    others = _ordered(foreign_pods)
    groups = (
        *(group for group in all_groups if group.meta.ref.kind != WORKLOAD),
        *entry_groups(workloads, owners, pods, others, root.meta.ref.uid),
    )
    gone = known.keys() - {thing.meta.ref.uid for thing in kept}
    told = _newest_first(event for event in events if event.regarding.uid not in gone)
    roles_of_pods = _roles_of_pods(tree, pods)
    return GangFacts(
        owner=_with_replicas(tree[0], roles_of_pods)
        if tree
        else as_owner(root, groups, pods, others),
        now=now,
        jobs=_ordered(owner for owner in tree if owner.meta.ref.is_job),
        middle=tuple(owner for owner in tree[1:] if not owner.meta.ref.is_job),
        groups=groups,
        workloads=workloads,
        pods=pods,
        foreign_pods=others,
        placeholders=_ordered(placeholders),
        events=told,
        odd_references=tuple(odd_references(root, by_uid, owned_elsewhere=owned_elsewhere)),
        not_made=tuple(_not_made(tree, told)),
        nodes={pod.node: nodes[pod.node] for pod in (*pods, *others) if pod.node in nodes},
        nodes_known=nodes_known,
        gang_api_version=gang_api_version,
        groups_unobserved=groups_unobserved,
        known_kinds=known_kinds,
        events_known=events_known,
        holds_known=holds_known,
        queue_visibility=queue_visibility,
        queue_systems=queue_systems,
        roles_of_pods=roles_of_pods,
        kinds=registry.kind_traits(),
        pod_reasons=registry.pod_reasons(),
        admission=registry.queue_traits(),
        queues=queues if queues is not None else QueueTree(),
        unobserved=concerning(unobserved, root, kept),
        memory=memory,
        memory_since=memory_since,
        holds=_ordered(thing for thing in kept if isinstance(thing, Hold)),
        entries=_entries(kept, root, pods),
        room=room,
        kubernetes=kubernetes,
        autoscaling=autoscaling,
        claims=claims,
        suspensions=suspensions,
        recorded_suspends=recorded_suspends,
        victims=_leaving(victims),
        takers=takers,
    )


def _entries(kept: Iterable[Linked], root: Linked, pods: Iterable[Pod]) -> tuple[QueueEntry, ...]:
    """Return the entries of a gang; those about pods of it are about its root, which they keep from running."""
    members = {"", *(pod.meta.ref.uid for pod in pods)}
    return _ordered(
        replace(entry, owner_uid=root.meta.ref.uid) if entry.owner_uid in members else entry
        for entry in kept
        if isinstance(entry, QueueEntry)
    )


def _not_made(tree: Iterable[Owner], events: Iterable[Event]) -> Iterator[NotMade]:
    """Yield what the controllers of these owners could not make for them, newest first."""
    reasons = {}
    for owner in tree:
        ref = owner.meta.ref
        kind = registry.owner_kind(ref.group, ref.kind)
        if kind is not None and kind.event_reasons:
            reasons[ref.uid] = kind.event_reasons
    for event in events:
        words = reasons.get(event.regarding.uid, {}).get(event.reason)
        if words is not None:
            ref = event.regarding
            said = words.replace("NAMESPACE/NAME", f"{ref.namespace}/{ref.name}")
            yield NotMade(event, event.note.removeprefix(said).strip())


def _roles_of_pods(tree: Sequence[Owner], pods: Iterable[Pod]) -> dict[str, str]:
    """Return the role of each pod whose kind tells it by labels."""
    ref = tree[0].meta.ref if tree else None
    kind = registry.owner_kind(ref.group, ref.kind) if ref is not None else None
    if kind is None or not kind.overrides("role_of"):
        return {}
    found = {pod.meta.ref.uid: kind.role_of(pod) for pod in pods}
    return {uid: role for uid, role in found.items() if role}


def _with_replicas(owner: Owner, roles_of_pods: Mapping[str, str]) -> Owner:
    """Return the owner with its numbered replicas as roles: those with pods, some without, and the rest."""
    kind = registry.owner_kind(owner.meta.ref.group, owner.meta.ref.kind)
    if kind is None or not kind.overrides("is_numbered"):
        return owner
    there, left = set(roles_of_pods.values()), MOST_NAMED
    roles: list[Role] = []
    for role in owner.roles:
        if not kind.is_numbered(role):
            roles.append(role)
            continue
        replicas = numbered_replicas(role, there, left)
        left -= min(left, sum(one.name not in there for one in replicas))
        roles += replicas
    return replace(owner, roles=tuple(roles))


def _leaving(victims: Iterable[tuple[Pod, str]]) -> tuple[Victim, ...]:
    """Return the victims that still hold their room. Who was only about to get a node is not deleted."""
    found = {
        pod.meta.ref.uid: Victim(
            pod.meta.ref, taker, pod.disruption.since if pod.disruption is not None else None
        )
        for pod, taker in victims
        if pod.is_live and pod.is_terminating
    }
    return tuple(sorted(found.values(), key=lambda one: (one.pod.namespace, natural(one.pod.name))))


def _is_left_behind(thing: Linked, old: frozenset[str]) -> bool:
    """Whether an object is an owner of a former attempt or was made by one."""
    controller = thing.meta.controller
    made_by = controller.uid if controller is not None else ""
    return thing.meta.ref.uid in old or made_by in old


def _ordered(things: Iterable[Kept]) -> tuple[Kept, ...]:
    return tuple(sorted(things, key=lambda one: (natural(one.meta.ref.name), one.meta.ref.uid)))


def _newest_first(events: Iterable[Event]) -> tuple[Event, ...]:
    return tuple(sorted(events, key=lambda event: event.last_seen or _LONG_AGO, reverse=True))
