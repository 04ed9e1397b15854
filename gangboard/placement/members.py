"""The request of a unit: the members that wait for a node, by shape, and what they need together."""

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
from gangboard.placement.devices import may_be_served
from gangboard.placement.matching import matches_pod
from gangboard.placement.neighbours import NO_TERMS, matcher
from gangboard.placement.node_snapshot import snapshot_of

OF_OTHERS = "anti-affinity of other pods"
"""Name of the unsupported case that another pod's inexact term may keep a pod away."""
_Kind = tuple[
    tuple[tuple[str, Decimal], ...],
    PodConstraints,
    tuple[str, ...],
    frozenset[PodTerm],
    tuple[Spread, ...],
]


def waiting(unit: Unit) -> tuple[Pod, ...]:
    """Return the members that want a node now: live, not on their way out, not gated, not bound.

    Pods of other gangs in the same group are among them: the scheduler places all of a group
    together. A nominated node is not a place yet.
    """
    others = (
        pod
        for pod in unit.foreign_pods
        if pod.is_live and not pod.is_terminating and not pod.is_placed
    )
    return tuple([pod for pod in (*unit.unplaced, *others) if not pod.gates])


def request_of(unit: Unit) -> PlacementRequest:
    """Return the request of the waiting members.

    The quorum counts only members that still need a node. Without a quorum (pod by pod, a basic group), or if
    members with a node already are the quorum, the request is for all waiting members. The scheduler then
    places each by itself.
    """
    pods = waiting(unit)
    keys = unit.group.topology_keys if unit.group is not None else ()
    domain, unclear = _domain(unit, keys)
    also = (*unclear, *_siblings(unit))
    pod_sets = _pod_sets(unit, pods, also, is_free=not keys)
    return PlacementRequest(pod_sets, _quorum(unit), keys, domain, _jobs_text(unit, pods))


def _jobs_text(unit: Unit, pods: Sequence[Pod]) -> str:
    """Return `2 Jobs` where pods of several Jobs wait that no group keeps together."""
    if unit.group is not None or len(unit.jobs) < 2:
        return ""
    jobs = {job.meta.ref.uid for job in unit.jobs}
    makers = {pod.meta.controller.uid if pod.meta.controller else "" for pod in pods}
    return count(len(makers), "Job") if len(makers) > 1 and makers <= jobs else ""


def on_nodes(unit: Unit) -> list[Pod]:
    """Return the members that have a node, those that are being deleted among them.

    The scheduler counts these for the quorum, and for the domain of the group, until they are gone
    (assignedPods in pkg/scheduler/backend/cache/podgroupstate.go, 1.36 and 1.37; on 1.35
    AssignedPods of the WorkloadManager).
    """
    return [pod for pod in (*unit.pods, *unit.foreign_pods) if pod.is_live and pod.is_placed]


def _quorum(unit: Unit) -> int | None:
    if unit.quorum is None:
        return None
    remaining = unit.quorum - len(on_nodes(unit))
    return remaining if remaining > 0 else None


def _siblings(unit: Unit) -> tuple[str, ...]:
    """Name the groups that are placed together with this one and are not counted here."""
    if unit.group is None or not unit.group.parent_name:
        return ()
    return (f"the other groups of the CompositePodGroup {unit.group.parent_name}",)


def _domain(unit: Unit, keys: Sequence[str]) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the values that members with a node have chosen, or what keeps them from being told.

    The scheduler takes such a group into the domain of its placed members and no other, and gives
    up where these are in several (plugins/topologyaware, "more than 1 domain found").
    """
    taken = {pod.node for pod in on_nodes(unit)}
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


_MOST_ROLES = 3
"""So many are named; of more it is the object that makes them."""


def _pod_sets(
    unit: Unit, pods: Sequence[Pod], also: tuple[str, ...], *, is_free: bool
) -> tuple[PodSet, ...]:
    """Return the pods grouped by their requests and constraints, in the order of unique names.

    `is_free`: the group has no topology keys, so a topology spread of equal pods is worked out.
    """
    kinds: dict[_Kind, list[Pod]] = {}
    matched = matcher(unit.gang.cluster.room, pods)
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
        # What one object makes of several kinds is told by their roles, where these are known.
        name = plain = (makers[name] > 1 and _role_names(unit, members)) or name
        number = 2
        while name in pod_sets:
            name, number = f"{plain} ({number})", number + 1
        unsupported = (*needs.unsupported, *map(unread_text, unread), *also)
        is_open = any(_may_count_more(unit, spread, pods) for spread in spreads)
        if len(kinds) > 1 or not is_free or is_open:
            spreads = ()
        pod_affinity = needs.pod_affinity
        if pod_affinity is not None and _may_come(unit, pod_affinity):
            pod_affinity = None
        shape = shape_of(name, dict(requests), needs, unsupported, terms, spreads, pod_affinity)
        served = may_be_served(unit, shape, members)
        shape = replace(shape, undecidable=(*shape.undecidable, *served)) if served else shape
        pod_sets[name] = PodSet(shape, len(members))
    return tuple(pod_sets[name] for name in sorted(pod_sets))


def _may_come(unit: Unit, pod_affinity: PodTerm) -> bool:
    """Whether pods of the gang without a node may still decide where others must be near them.

    If such pods have nodes already, members with the same affinity follow them.
    """
    coming = [
        pod
        for pod in (*unit.gang.pods, *unit.foreign_pods)
        if pod.is_live
        and not pod.is_placed
        and matches_pod(pod_affinity, pod.meta.ref.namespace, pod.labels)
    ]
    if not coming or any(pod.needs.pod_affinity != pod_affinity for pod in coming):
        return bool(coming)
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


def _may_count_more(unit: Unit, spread: Spread, pods: Sequence[Pod]) -> bool:
    """Whether pods of others that count are nominated to nodes.

    Until they are bound the scheduler counts them on the node that it looks at and on no other
    (RunFilterPluginsWithNominatedPods); on 1.35 those that wait at the gate everywhere.
    """
    snapshot = snapshot_of(unit.gang.cluster.room)
    term = spread.counted.of_nominated
    number = sum(load.matched_terms.get(term, 0) for load in snapshot.sparse().terms_now.values())
    own_pods = [
        pod for pod in pods if pod.nominated_node and snapshot.row(pod.nominated_node) is not None
    ]
    return number > (len(own_pods) if spread.counts_itself else 0)


def unread_text(resource: str) -> str:
    """Return how a request is called in `Shape.unsupported` that could not be read."""
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
    """Return one pod's requests and needs as a shape.

    `matched_terms` are the terms of anti-affinity that it matches: its gang's, and those of pods with a
    node. The nodes that an inexact term excludes are unknown. `spreads` and
    `pod_affinity` are its constraints and its affinity where those can be worked out.
    """
    if needs.pod_affinity is not None and pod_affinity is None:
        unsupported = (*unsupported, AFFINITY)
    if needs.spreads and not spreads:
        unsupported = (*unsupported, SPREAD)
    if len(spreads) > 1:
        # How many of them fit at most is worked out, not whether as many do.
        unsupported = (*unsupported, SPREAD)
    if any(term.is_open for term in needs.anti_affinity):
        # Whom it keeps away by its own rule is not known; who keeps it away is.
        unsupported = (*unsupported, ANTI_AFFINITY)
    if not all(term.is_exact for term in matched_terms.difference(needs.anti_affinity)):
        unsupported = (*unsupported, OF_OTHERS)
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
    """Call pods after their Job, after its role when several Jobs of it made them, or as the unit."""
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
    """Return the roles of pods that no Job makes; empty where they are many or not known."""
    known = unit.gang.roles_of_pods
    names = sorted({known.get(pod.meta.ref.uid, "") for pod in pods})
    return listed(names) if all(names) and len(names) <= _MOST_ROLES else ""
