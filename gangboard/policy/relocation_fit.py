"""The places of a relocated Job: the excluded label values, and whether its pods fit elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from gangboard.domain.action import Avoid
from gangboard.domain.capacity import PODS, NodeInfo, PlacementRequest, PodSet, Requested
from gangboard.domain.group import Group
from gangboard.domain.owner import Owner
from gangboard.domain.placement_result import Fit, FitAnswer, When
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import (
    ANTI_AFFINITY,
    HOSTNAME,
    PodConstraints,
    Requirement,
    Term,
)
from gangboard.domain.queue import NodeReplacement
from gangboard.domain.resources import is_accelerator
from gangboard.domain.text import count, names, plural
from gangboard.facts.gang import Gang
from gangboard.facts.jobs import expected_pods
from gangboard.facts.surroundings import Surroundings
from gangboard.placement.amounts import format_amount, free_amount, pod_amounts, requested_amounts
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.gang_fit import check_fit
from gangboard.placement.gang_nodes import without_requested
from gangboard.placement.members import shape_of
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.policy.decision import PlanRefusal
from gangboard.policy.exclusions import Exclusion, read_exclusion

HOST_PORTS = "host ports"
"""Name of host ports in `Shape.unsupported`."""


@dataclass(frozen=True, slots=True)
class Destination:
    """The expected nodes of a relocated Job, or why they are unknown."""

    nodes: tuple[str, ...] = ()
    why: str = ""
    """Clause that says why the arithmetic cannot tell whether it fits. Empty if it fits."""


def exclusion_of(
    avoid: Avoid, surroundings: Surroundings, keys: Sequence[str], pods: Sequence[Pod]
) -> Exclusion | PlanRefusal:
    """Return the node requirement for a place, or why the place cannot be excluded.

    `keys` are the topology labels that an admin allows, `pods` those of the Job. A requester who may not
    see all nodes gets the same answer for a node without own pods as for a missing one.
    """
    if avoid.topology is not None:
        key, value = avoid.topology
        if key not in keys:
            allowed = f"they are {names(keys)}" if keys else "there are none"
            return PlanRefusal(
                f"{key} is not among the node labels whose domains a Job may leave: {allowed}.",
                f"GANGBOARD_TOPOLOGY_LABELS={','.join((*keys, key))}",
            )
        return Exclusion(key, (value,))
    own = {pod.node for pod in pods}
    known = {
        node.name: node
        for node in surroundings.nodes
        if surroundings.names_nodes or node.name in own
    }
    hosts: dict[str, int] = defaultdict(int)
    for node in surroundings.nodes:
        hosts[node.labels.get(HOSTNAME, "")] += 1
    for name in avoid.nodes:
        if name not in known:
            return PlanRefusal(f"There is no node {name}, or you may not see it.")
        host = known[name].labels.get(HOSTNAME, "")
        if not host or hosts[host] > 1:
            return PlanRefusal(
                f"Node {name} cannot be excluded: it has no label {HOSTNAME} of its own."
            )
    return Exclusion(HOSTNAME, tuple(known[name].labels[HOSTNAME] for name in avoid.nodes))


def excluded_nodes(exclusion: Exclusion, nodes: Sequence[NodeInfo]) -> frozenset[str]:
    """Return the names of the excluded nodes."""
    return frozenset(
        node.name for node in nodes if node.labels.get(exclusion.key) in exclusion.values
    )


def find_destination(
    gang: Gang, job: Owner, exclusion: Exclusion, surroundings: Surroundings
) -> Destination | PlanRefusal:
    """Return where the pods of a Job fit without the excluded place, or refuse if they fit nowhere.

    The room that the Job itself uses outside the excluded place counts as free.
    """
    pods = surroundings.pods_of(job.meta.ref.uid)
    left = excluded_nodes(exclusion, surroundings.nodes)
    refused = _template_asks(pods, exclusion) or _leaves_group(
        gang, job, pods, exclusion, surroundings, left
    )
    if refused is not None:
        return refused
    group = _group_of(gang, job)
    keys = group.topology_keys if group is not None else ()
    siblings = _siblings_in_group(gang, job, group, surroundings)
    domain = _domain(keys, siblings, surroundings) if siblings else None
    nodes = [node for node in _without_own_pods(surroundings.nodes, pods) if node.name not in left]
    pod_sets = _pod_sets(job, pods, max(expected_pods(job), len(pods)))
    request = PlacementRequest(pod_sets, None, keys, domain)
    snapshot = NodeSnapshot(nodes)
    fit = check_fit(request, snapshot, When.CURRENT, request.size)
    if fit.answer is FitAnswer.NO:
        return PlanRefusal(_nothing_fits(pod_sets, snapshot, exclusion.text))
    if fit.answer is FitAnswer.CANNOT_TELL:
        return Destination(why=fit.why)
    return Destination(nodes=_nodes_of(fit))


def find_replacement(
    job: Owner,
    exclusion: Exclusion,
    node: str,
    replacement: NodeReplacement,
    surroundings: Surroundings,
) -> Destination | PlanRefusal:
    """Return where the pods of one node fit while all other pods of the Job keep their nodes, or refuse."""
    pods = [
        replace(pod, needs=without_host(pod.needs))
        for pod in surroundings.pods_of(job.meta.ref.uid)
        if pod.node == node
    ]
    topology, domain = replacement.topology, replacement.domain
    nodes = [
        info
        for info in surroundings.nodes
        if info.name not in {node, *surroundings.promised}
        and (not topology or info.labels.get(topology, "") == domain)
    ]
    pod_sets = _pod_sets(job, pods, replacement.pods)
    request = PlacementRequest(pod_sets)
    snapshot = NodeSnapshot(nodes)
    fit = check_fit(request, snapshot, When.CURRENT, request.size)
    if fit.answer is FitAnswer.NO:
        place = f"{exclusion.text} in {topology} {domain}" if topology else exclusion.text
        return PlanRefusal(f"{_nothing_fits(pod_sets, snapshot, place)} {replacement.refusal}")
    if fit.answer is FitAnswer.CANNOT_TELL:
        return Destination(why=fit.why)
    return Destination(nodes=_nodes_of(fit))


def without_host(needs: PodConstraints) -> PodConstraints:
    """Return the constraints without the host name that an admission system adds to its pods."""
    selector = tuple(item for item in needs.node_selector if item[0] != HOSTNAME)
    return replace(needs, node_selector=selector)


def rivals_warning(pods: Sequence[Pod], exclusion: Exclusion, surroundings: Surroundings) -> str:
    """Return a warning that waiting pods may take the room of the Job while it moves, or empty."""
    largest = _largest(pods)
    rivals = sum(
        waiting.count
        for waiting in surroundings.waiting
        if all(amount <= largest.get(name, Decimal()) for name, amount in waiting.requests.items())
    )
    if not rivals:
        return ""
    return (
        f"{count(rivals, 'waiting pod')} could take its room while it moves, on {exclusion.text} and "
        "elsewhere: it may have to wait, and the way back may be closed."
    )


def _largest(pods: Sequence[Pod]) -> dict[str, Decimal]:
    largest: dict[str, Decimal] = {}
    for pod in pods:
        for name, amount in pod.requests.items():
            largest[name] = max(largest.get(name, Decimal()), amount)
    return largest


def _group_of(gang: Gang, job: Owner) -> Group | None:
    return gang.pod_groups.get(job.group_name) or gang.pod_groups_by_owner.get(job.meta.ref.uid)


def _siblings_in_group(
    gang: Gang, job: Owner, group: Group | None, surroundings: Surroundings
) -> tuple[Pod, ...]:
    """Return the pods of other Jobs in the group."""
    if group is None:
        return ()
    own = job.meta.ref.uid
    sharers = {
        uid
        for uid, other in gang.child_jobs.items()
        if uid != own and _group_of(gang, other) is group
    }
    return tuple(pod for uid in sorted(sharers) for pod in surroundings.pods_of(uid))


def _domain(
    keys: Sequence[str], siblings: Sequence[Pod], surroundings: Surroundings
) -> tuple[str, ...] | None:
    """Return the topology domain of the siblings. None without topology keys."""
    labels = {node.name: node.labels for node in surroundings.nodes}
    place = labels.get(siblings[0].node, {})
    return tuple(place.get(key, "") for key in keys) if keys else None


def _template_asks(pods: Sequence[Pod], exclusion: Exclusion) -> PlanRefusal | None:
    """Refuse to leave a place that the pod template requires."""
    needs, values = pods[0].needs, set(exclusion.values)
    wanted = dict(needs.node_selector).get(exclusion.key)
    terms = needs.affinity or ()
    demands = [
        requirement
        for term in terms
        for requirement in term.expressions
        if requirement.key == exclusion.key
        and requirement.operator == "In"
        and set(requirement.values) <= values
    ]
    if wanted in values or (terms and len(demands) >= len(terms)):
        return PlanRefusal(f"Its template asks for {exclusion.text}: no other place is allowed.")
    return None


def _leaves_group(
    gang: Gang,
    job: Owner,
    pods: Sequence[Pod],
    exclusion: Exclusion,
    surroundings: Surroundings,
    left: frozenset[str],
) -> PlanRefusal | None:
    """Refuse to leave a domain in which other members of the same group stay."""
    group = _group_of(gang, job)
    siblings = _siblings_in_group(gang, job, group, surroundings)
    if group is None or not group.topology_keys or not siblings or not pods:
        return None
    domain = _domain(group.topology_keys, siblings, surroundings)
    members = {
        node.name
        for node in surroundings.nodes
        if tuple(node.labels.get(key, "") for key in group.topology_keys) == domain
    }
    if not members or members - left:
        return None
    place = " ".join(
        f"{key} {value}" for key, value in zip(group.topology_keys, domain or (), strict=True)
    )
    return PlanRefusal(
        f"Its group must stay in {place}, where {count(len(siblings), 'pod')} of other Jobs "
        f"{plural(len(siblings), 'run')}: one Job cannot leave {exclusion.text}."
    )


def _without_own_pods(nodes: Sequence[NodeInfo], pods: Sequence[Pod]) -> list[NodeInfo]:
    """Return the nodes without the usage of the Job's own pods."""
    loads: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        loads[pod.node].append(pod)
    return [
        without_requested(node, _load(loads[node.name])) if node.name in loads else node
        for node in nodes
    ]


def _load(pods: Sequence[Pod]) -> Requested:
    amounts: dict[str, int] = defaultdict(int)
    for pod in pods:
        for name, amount in pod_amounts(pod.requests).items():
            amounts[name] += amount
    return Requested(amounts, len(pods))


def _pod_sets(job: Owner, pods: Sequence[Pod], number: int) -> tuple[PodSet, ...]:
    """Return pods that the Job would create, with the requests of its present ones."""
    first = pods[0]
    needs = _without_exclusion(first.needs, read_exclusion(job.exclusion))
    # The stored nodes lack host ports and anti-affinity terms of their pods.
    unsupported = (
        *needs.unsupported,
        *((HOST_PORTS,) if needs.host_ports else ()),
        *((ANTI_AFFINITY,) if needs.anti_affinity else ()),
    )
    shape = shape_of(job.meta.ref.name, first.requests, needs, unsupported)
    return (PodSet(shape, number),)


def _without_exclusion(needs: PodConstraints, old: Exclusion | None) -> PodConstraints:
    """Return the constraints without the exclusion of an earlier relocation, which the new one replaces."""
    if old is None or needs.affinity is None:
        return needs
    added = Requirement(old.key, "NotIn", old.values)
    terms = tuple(
        Term(tuple(item for item in term.expressions if item != added), term.fields)
        for term in needs.affinity
    )
    is_empty = not any(term.expressions or term.fields for term in terms)
    return replace(needs, affinity=None if is_empty else terms)


def _nodes_of(fit: Fit) -> tuple[str, ...]:
    return tuple(sorted(fit.placement))


def _nothing_fits(pod_sets: Sequence[PodSet], snapshot: NodeSnapshot, place: str) -> str:
    """Return what the pods need and the largest free place outside the excluded one."""
    (pod_set,) = pod_sets
    amounts = requested_amounts(pod_set.shape)
    resource = _deciding(amounts)
    eligible = feasible_nodes_of(snapshot, pod_set.shape).eligible(())
    free = max(
        (
            free_amount(node, resource, When.CURRENT)
            for node, suits in zip(snapshot.nodes, eligible.tolist(), strict=True)
            if suits
        ),
        default=None,
    )
    asks = f"{count(pod_set.count, 'pod')} of {format_amount(resource, amounts[resource])}"
    if free is None:
        return f"Nothing else fits: no node outside {place} suits its {asks}."
    if free >= amounts[resource]:
        return f"Nothing else fits: outside {place} its {asks} find no room together."
    largest = format_amount(resource, max(free, 0))
    return (
        f"Nothing else fits: it has {asks}, and the largest free place outside {place} "
        f"is {largest}."
    )


def _deciding(amounts: Mapping[str, int]) -> str:
    """Return the accelerator that the pods request, else their CPU, else any resource."""
    return min(
        amounts, key=lambda name: (not is_accelerator(name), name != "cpu", name == PODS, name)
    )
