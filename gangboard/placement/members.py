"""The placement request of a unit: its waiting members by shape, with quorum and topology."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from gangboard.domain.capacity import PlacementRequest, PodSet, Shape
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import (
    AFFINITY,
    ANTI_AFFINITY,
    SPREAD,
    PodConstraints,
    PodTerm,
    Spread,
)
from gangboard.domain.text import count, listed
from gangboard.facts.unit import Unit
from gangboard.placement.devices import driver_served_requests
from gangboard.placement.matching import matches_pod
from gangboard.placement.node_snapshot import snapshot_of
from gangboard.placement.term_matching import NO_TERMS, term_matcher

OTHER_ANTI_AFFINITY = "anti-affinity of other pods"
"""Name of the unsupported case that an inexact term of another pod may exclude a pod."""
_PodSetKey = tuple[
    tuple[tuple[str, Decimal], ...],
    PodConstraints,
    tuple[str, ...],
    frozenset[PodTerm],
    tuple[Spread, ...],
]


def waiting_members(unit: Unit) -> tuple[Pod, ...]:
    """Return the members that need a node now: live, not terminating, not gated, not bound.

    They include pods of other gangs in the same group, because the scheduler places a group together. A pod with a
    nominated node still waits.
    """
    foreign_pods = (
        pod
        for pod in unit.foreign_pods
        if pod.is_live and not pod.is_terminating and not pod.is_placed
    )
    return tuple([pod for pod in (*unit.unplaced, *foreign_pods) if not pod.gates])


def placement_request_of(unit: Unit) -> PlacementRequest:
    """Return the request of the waiting members.

    The quorum counts only members that still need a node. The request is for all waiting members if there is no quorum
    (pod by pod, a basic group), or if placed members already reach it. The scheduler then places each separately.
    """
    pods = waiting_members(unit)
    keys = unit.group.topology_keys if unit.group is not None else ()
    domain, unclear_domain = _domain(unit, keys)
    unsupported = (*unclear_domain, *_sibling_groups(unit))
    pod_sets = _pod_sets(unit, pods, unsupported, is_free=not keys)
    return PlacementRequest(pod_sets, _quorum(unit), keys, domain, _jobs_text(unit, pods))


def _jobs_text(unit: Unit, pods: Sequence[Pod]) -> str:
    """Return `2 Jobs` if pods of several Jobs without a group wait. Empty: other cases."""
    if unit.group is not None or len(unit.jobs) < 2:
        return ""
    jobs = {job.meta.ref.uid for job in unit.jobs}
    makers = {pod.meta.controller.uid if pod.meta.controller else "" for pod in pods}
    return count(len(makers), "Job") if len(makers) > 1 and makers <= jobs else ""


def members_with_node(unit: Unit) -> list[Pod]:
    """Return the members that have a node, including those being deleted.

    Until they are gone, the scheduler counts them for the quorum and for the domain of the group. Source: assignedPods
    in pkg/scheduler/backend/cache/podgroupstate.go (1.36 and 1.37), AssignedPods of the WorkloadManager (1.35).
    """
    return [pod for pod in (*unit.pods, *unit.foreign_pods) if pod.is_live and pod.is_placed]


def _quorum(unit: Unit) -> int | None:
    if unit.quorum is None:
        return None
    remaining = unit.quorum - len(members_with_node(unit))
    return remaining if remaining > 0 else None


def _sibling_groups(unit: Unit) -> tuple[str, ...]:
    """Return the name of the unsupported groups that the scheduler places together with this one."""
    if unit.group is None or not unit.group.parent_name:
        return ()
    return (f"the other groups of the CompositePodGroup {unit.group.parent_name}",)


def _domain(unit: Unit, keys: Sequence[str]) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the topology domain of the placed members, and what is unsupported if it is unclear.

    The scheduler places the other members only in this domain. It gives up if placed members are in several domains
    (plugins/topologyaware, "more than 1 domain found").
    """
    taken = {pod.node for pod in members_with_node(unit)}
    if not keys or not taken:
        return None, ()
    labels = {node.name: node.labels for node in unit.gang.cluster.room.nodes if node.name in taken}
    chosen_values = {
        tuple(labels[name][key] for key in keys)
        if name in labels and all(key in labels[name] for key in keys)
        else None
        for name in taken
    }
    chosen = chosen_values.pop()
    if chosen is None or chosen_values:
        return None, ("the topology domain that members with a node have chosen",)
    return chosen, ()


# Shapes


_MAX_ROLES = 3
"""Most role names in the name of a pod set. Beyond that, it has the name of the owner."""


def _pod_sets(
    unit: Unit, pods: Sequence[Pod], group_unsupported: tuple[str, ...], *, is_free: bool
) -> tuple[PodSet, ...]:
    """Return the pods grouped by their requests and constraints, in the order of unique names.

    `is_free`: the group has no topology keys, so the topology spread of equal pods is supported.
    """
    kinds: dict[_PodSetKey, list[Pod]] = {}
    matched = term_matcher(unit.gang.cluster.room, pods)
    for pod in pods:
        kind = (
            tuple(sorted(pod.requests.items())),
            pod.needs,
            pod.unread_requests,
            matched(pod),
            _spreads(pod),
        )
        kinds.setdefault(kind, []).append(pod)
    pod_sets: dict[str, PodSet] = {}
    makers = Counter(_name(unit, members) for members in kinds.values())
    for (requests, needs, unread, terms, spreads), members in kinds.items():
        name = _name(unit, members)
        # Different pods of one owner have the names of their roles, if known.
        name = plain = (makers[name] > 1 and _role_names(unit, members)) or name
        number = 2
        while name in pod_sets:
            name, number = f"{plain} ({number})", number + 1
        unsupported = (
            *needs.unsupported,
            *map(unreadable_request_text, unread),
            *group_unsupported,
        )
        is_open = any(_counts_nominated_pods(unit, spread, pods) for spread in spreads)
        if len(kinds) > 1 or not is_free or is_open:
            spreads = ()
        pod_affinity = needs.pod_affinity
        if pod_affinity is not None and _may_place_affinity_pods(unit, pod_affinity):
            pod_affinity = None
        shape = shape_of(name, dict(requests), needs, unsupported, terms, spreads, pod_affinity)
        served = driver_served_requests(unit, shape, members)
        shape = replace(shape, undecidable=(*shape.undecidable, *served)) if served else shape
        pod_sets[name] = PodSet(shape, len(members))
    return tuple(pod_sets[name] for name in sorted(pod_sets))


def _may_place_affinity_pods(unit: Unit, pod_affinity: PodTerm) -> bool:
    """Return whether unplaced pods of the gang may still decide the nodes of a pod affinity.

    If matching pods already have nodes, members with the same affinity follow them.
    """
    unplaced = [
        pod
        for pod in (*unit.gang.pods, *unit.foreign_pods)
        if pod.is_live
        and not pod.is_placed
        and matches_pod(pod_affinity, pod.meta.ref.namespace, pod.labels)
    ]
    if not unplaced or any(pod.needs.pod_affinity != pod_affinity for pod in unplaced):
        return bool(unplaced)
    snapshot = snapshot_of(unit.gang.cluster.room)
    return not any(
        pod_affinity in load.matched_terms and pod_affinity.topology_key in snapshot[row].labels
        for row, load in snapshot.sparse().terms_now.items()
    )


def _spreads(pod: Pod) -> tuple[Spread, ...]:
    return tuple(
        replace(
            spread, counts_itself=matches_pod(spread.counted, pod.meta.ref.namespace, pod.labels)
        )
        for spread in pod.needs.spreads
    )


def _counts_nominated_pods(unit: Unit, spread: Spread, pods: Sequence[Pod]) -> bool:
    """Return whether other pods that the constraint counts are nominated to nodes.

    The scheduler counts a nominated pod only while it filters the nominated node (RunFilterPluginsWithNominatedPods).
    On 1.35 it counts pods at the gate for every node.
    """
    snapshot = snapshot_of(unit.gang.cluster.room)
    term = spread.counted.of_nominated
    number = sum(load.matched_terms.get(term, 0) for load in snapshot.sparse().terms_now.values())
    own_pods = [
        pod for pod in pods if pod.nominated_node and snapshot.row(pod.nominated_node) is not None
    ]
    return number > (len(own_pods) if spread.counts_itself else 0)


def unreadable_request_text(resource: str) -> str:
    """Return the entry of an unreadable request in `Shape.unsupported`."""
    return f"a request of {resource} that could not be read"


def shape_of(
    name: str,
    requests: Mapping[str, Decimal],
    needs: PodConstraints,
    unsupported: tuple[str, ...],
    matched_terms: frozenset[PodTerm] = NO_TERMS,
    spreads: tuple[Spread, ...] = (),
    pod_affinity: PodTerm | None = None,
) -> Shape:
    """Return one pod's requests and constraints as a shape.

    `matched_terms` are the anti-affinity terms that match the pod, of its gang and of pods with a node. The nodes that
    an inexact term excludes are unknown. `spreads` and `pod_affinity` are the supported ones of its constraints.
    """
    if needs.pod_affinity is not None and pod_affinity is None:
        unsupported = (*unsupported, AFFINITY)
    if needs.spreads and not spreads:
        unsupported = (*unsupported, SPREAD)
    if len(spreads) > 1:
        # Several constraints only have an upper bound of the pods that fit.
        unsupported = (*unsupported, SPREAD)
    if any(term.is_open for term in needs.anti_affinity):
        # The pods that an open term excludes are unknown.
        unsupported = (*unsupported, ANTI_AFFINITY)
    if not all(term.is_exact for term in matched_terms.difference(needs.anti_affinity)):
        unsupported = (*unsupported, OTHER_ANTI_AFFINITY)
    return Shape(
        name,
        requests,
        dict(needs.node_selector),
        needs.affinity,
        needs.tolerations,
        needs.host_ports,
        frozenset(term for term in needs.anti_affinity if term.is_exact),
        frozenset(term for term in matched_terms if term.is_exact),
        pod_affinity,
        spreads,
        tuple(dict.fromkeys(unsupported)),
        needs.undecidable,
    )


def _name(unit: Unit, pods: Sequence[Pod]) -> str:
    """Return the name of a pod set: its Job, the role of several Jobs, or the unit."""
    role_of = {job.meta.ref.uid: job.role_name for job in unit.jobs}
    makers = {pod.meta.controller.uid: pod.meta.controller for pod in pods if pod.meta.controller}
    if not all(pod.meta.controller for pod in pods):
        return pods[0].meta.ref.name if len(pods) == 1 else unit.name
    names = sorted({maker.name for maker in makers.values()})
    if len(names) > 1:
        names = sorted({role_of.get(uid, "") or maker.name for uid, maker in makers.items()})
    if len(names) > 3:
        return unit.name
    return listed(names)


def _role_names(unit: Unit, pods: Sequence[Pod]) -> str:
    """Return the roles of pods without a Job. Empty: too many, or unknown."""
    known = unit.gang.roles_of_pods
    names = sorted({known.get(pod.meta.ref.uid, "") for pod in pods})
    return listed(names) if all(names) and len(names) <= _MAX_ROLES else ""
