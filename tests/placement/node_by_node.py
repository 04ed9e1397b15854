"""The arithmetic of placement, each node asked alone: slow, plain, and without any column.

It shares with `gangboard.placement` the search for a packing, the arithmetic of domains, and what the
request alone decides. Tests compare it with the vectorised results of the product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gangboard.domain.capacity import NodeInfo, PlacementRequest, PodSet, Requested, Shape
from gangboard.domain.placement_result import (
    Eligibility,
    ExcludedNodes,
    Filter,
    Fit,
    FitAnswer,
    ResourceTotal,
    When,
)
from gangboard.domain.pod_constraints import HOSTNAME, PodTerm, Spread, Terms
from gangboard.placement.amounts import free_amount, requested_amounts
from gangboard.placement.anti_affinity import OnePerDomain, one_per_domain_of
from gangboard.placement.anti_affinity import place_one_per_domain as one_each_place
from gangboard.placement.gang_fit import SHARED_HOST_NAMES, decide_by_request, require_support
from gangboard.placement.joint_topology_spread import (
    SpreadLimit,
    SpreadState,
    capped_pods,
    max_placed,
    multiply_constrained_pods,
)
from gangboard.placement.matching import is_about_hosts, is_tainted
from gangboard.placement.node_filters import EXAMPLES
from gangboard.placement.node_snapshot import terms_by_domain
from gangboard.placement.packing_search import BUDGET, Budget, smallest_sum
from gangboard.placement.topology_domains import first_fit
from gangboard.placement.topology_spread import Domain, SpreadRequest, spread_of
from gangboard.placement.topology_spread import place_spread as spread_place
from tests.placement.node_packing import pack, problem
from tests.placement.single_node import filters, is_eligible, is_selected, pods_that_fit

Domains = dict[tuple[str, ...], list[NodeInfo]]


def fits(
    request: PlacementRequest,
    nodes: Sequence[NodeInfo],
    when: When,
    target: int,
    *,
    steps: int = BUDGET,
    group: bool = True,
) -> Fit:
    """Return the same as `fits.fits`; `group` off keeps equal nodes apart."""
    known = decide_by_request(request, target)
    if known is not None:
        return known
    nodes = lifted(nodes)
    if _share_names(request, nodes):
        return Fit(FitAnswer.CANNOT_TELL, why=SHARED_HOST_NAMES)
    fit = _fits(request, nodes, when, target, Budget(steps), group)
    if fit.answer is FitAnswer.YES:
        return require_support(request, fit)
    why = _unreadable(request, nodes) if fit.answer is FitAnswer.NO else ""
    return Fit(FitAnswer.CANNOT_TELL, why=why, steps=fit.steps) if why else fit


def _fits(
    request: PlacementRequest,
    nodes: Sequence[NodeInfo],
    when: When,
    target: int,
    budget: Budget,
    group: bool,
) -> Fit:
    spreading = spread_of(request)
    if spreading is not None:
        return fit_spread(nodes, spreading, when, target)
    several = multiply_constrained_pods(request)
    if several is not None and max_pods_by_all(nodes, several, when) < target:
        return Fit(FitAnswer.NO)
    exclusive = one_per_domain_of(request)
    if exclusive is not None:
        return fit_one_per_domain(nodes, exclusive, when, target)
    tried = (
        pack(problem(request.pod_sets, members, when, group=group), target, budget)
        for _, members in sorted(domains(request, nodes).items())
    )
    return first_fit(tried, budget)


def domains(request: PlacementRequest, nodes: Sequence[NodeInfo]) -> Domains:
    """Return the nodes by the values of the topology keys; nodes without a key are in none.

    Without keys all nodes are one domain. Where members have chosen a domain, only that one counts.
    """
    result: Domains = {}
    for node in nodes:
        values = tuple(node.labels[key] for key in request.topology_keys if key in node.labels)
        if len(values) == len(request.topology_keys):
            result.setdefault(values, []).append(node)
    if request.domain is not None:
        return {values: item for values, item in result.items() if values == request.domain}
    return result


def _share_names(request: PlacementRequest, nodes: Sequence[NodeInfo]) -> bool:
    """Whether pods that must be on different hosts could be told apart by something else than nodes."""
    by_host = [
        pod_set.shape
        for pod_set in request.pod_sets
        if pod_set.count and is_about_hosts(pod_set.shape)
    ]
    names = Counter(node.labels.get(HOSTNAME, "") for node in nodes)
    hosts = [node for node in nodes if any(is_eligible(node, shape) for shape in by_host)]
    return any(not node.labels.get(HOSTNAME) or names[node.labels[HOSTNAME]] > 1 for node in hosts)


def _unreadable(request: PlacementRequest, nodes: Sequence[NodeInfo]) -> str:
    """Name a node that might host a member if its amounts could be read."""
    for node in sorted((node for node in nodes if node.unreadable), key=lambda item: item.name):
        for pod_set in request.pod_sets:
            result = list(filters(node, pod_set.shape, request.topology_keys))
            if result and pod_set.count and all(item[0] is Filter.UNREADABLE for item in result):
                return f"{result[0][1]} of the node {node.name} could not be read"
    return ""


def eligibility(
    nodes: Iterable[NodeInfo],
    shape: Shape,
    topology_keys: Sequence[str] = (),
) -> Eligibility:
    """Return the eligible nodes, and the others by the first filter that excludes each."""
    requested = requested_amounts(shape)
    eligible: list[str] = []
    names: dict[Filter, list[str]] = {}
    details: dict[Filter, Counter[str]] = {}
    for node in sorted(nodes, key=lambda item: item.name):
        result = next(filters(node, shape, topology_keys, requested), None)
        if result is None:
            eligible.append(node.name)
            continue
        names.setdefault(result[0], []).append(node.name)
        if result[1]:
            details.setdefault(result[0], Counter())[result[1]] += 1
    excluded = {
        item: ExcludedNodes(
            len(names[item]), tuple(names[item][:EXAMPLES]), _ranked(details.get(item))
        )
        for item in Filter
        if item in names
    }
    return Eligibility(tuple(eligible), excluded)


def _ranked(counts: Counter[str] | None) -> tuple[tuple[str, int], ...]:
    """Return details with their numbers of nodes, most frequent first."""
    return tuple(sorted((counts or {}).items(), key=lambda item: (-item[1], item[0])))


def totals(
    pod_sets: Sequence[PodSet],
    target: int,
    nodes: Sequence[NodeInfo],
    topology_keys: Sequence[str] = (),
) -> tuple[ResourceTotal, ...]:
    """Return the same as `totals.totals`."""
    requested = [requested_amounts(pod_set.shape) for pod_set in pod_sets]
    counts = [pod_set.count for pod_set in pod_sets]
    resources = sorted({resource for item in requested for resource in item})
    return tuple(
        ResourceTotal(
            resource,
            smallest_sum([item.get(resource, 0) for item in requested], counts, target),
            *sums,
        )
        for resource, sums in zip(
            resources, _sums(pod_sets, nodes, topology_keys, resources), strict=True
        )
    )


def _sums(
    pod_sets: Sequence[PodSet],
    nodes: Sequence[NodeInfo],
    topology_keys: Sequence[str],
    resources: Sequence[str],
) -> Iterator[tuple[int, int]]:
    """Yield the free amounts and the existing pods, without removable pods."""
    hosts = [
        node
        for node in nodes
        if any(is_eligible(node, pod_set.shape, topology_keys) for pod_set in pod_sets)
    ]
    for resource in resources:
        yield (
            sum(max(0, free_amount(node, resource, When.CURRENT)) for node in hosts),
            sum(max(0, free_amount(node, resource, When.DRAINED)) for node in hosts),
        )


def fit_spread(nodes: Sequence[NodeInfo], requested: SpreadRequest, when: When, target: int) -> Fit:
    """Return the same as `spread.fit_spread`."""
    shape, spread = requested.shape, requested.spread
    existing: dict[str, int] = {}
    places: dict[str, dict[str, int]] = {}
    for node in nodes:
        if not is_counted(node, shape, spread):
            continue
        value = node.labels[spread.topology_key]
        load = node.now if when is When.CURRENT else node.pinned
        existing[value] = existing.get(value, 0) + load.matched_terms.get(spread.counted, 0)
        domain_nodes = places.setdefault(value, {})
        count = pods_that_fit(node, shape, when)[0] if is_eligible(node, shape) else 0
        if count:
            domain_nodes[node.name] = count
    return spread_place(
        requested, [Domain(item, existing[item], places[item]) for item in sorted(existing)], target
    )


def is_counted(node: NodeInfo, shape: Shape, spread: Spread) -> bool:
    """Whether a node is part of a domain (matchNodeInclusionPolicies)."""
    return (
        spread.topology_key in node.labels
        and (is_selected(node, shape) or not spread.honours_affinity)
        and not (spread.honours_taints and is_tainted(node, shape))
    )


def max_pods_by_all(nodes: Sequence[NodeInfo], pod_set: PodSet, when: When) -> int:
    """Return the same as `spreads.max_pods_by_all`."""
    shape = pod_set.shape
    keys = [spread.topology_key for spread in shape.spreads]
    labelled = [node for node in nodes if all(key in node.labels for key in keys)]
    max_pods = [
        pods_that_fit(node, shape, when)[0] if is_eligible(node, shape) else 0 for node in labelled
    ]
    rules, places = [], []
    for spread, key in zip(shape.spreads, keys, strict=True):
        existing: dict[str, int] = {}
        for node in labelled:
            if is_counted(node, shape, spread):
                load = node.now if when is When.CURRENT else node.pinned
                number = load.matched_terms.get(spread.counted, 0)
                existing[node.labels[key]] = existing.get(node.labels[key], 0) + number
        order = {value: index for index, value in enumerate(existing)}
        rules.append(SpreadLimit(spread, np.array(list(existing.values()), dtype=np.int64)))
        hosts = [node for node, cap in zip(labelled, max_pods, strict=True) if cap]
        places.append(np.array([order[node.labels[key]] for node in hosts], dtype=np.int64))
    room = capped_pods(np.array([cap for cap in max_pods if cap], dtype=object), pod_set.count)
    return max_placed(SpreadState(rules, places, room), pod_set.count)


def fit_one_per_domain(
    nodes: Sequence[NodeInfo], requested: OnePerDomain, when: When, target: int
) -> Fit:
    """Return the same as `anti_affinity.fit_one_per_domain`; the nodes are `lifted`."""
    shape = requested.pod_set.shape
    places = [
        (node.labels.get(requested.key), node.name, number)
        for node in nodes
        if is_eligible(node, shape) and (number := pods_that_fit(node, shape, when)[0])
    ]
    return one_each_place(requested, places, target)


def lifted(nodes: Iterable[NodeInfo]) -> tuple[NodeInfo, ...]:
    """Return nodes of which each tells, as if by host, the terms by other labels that concern it."""
    nodes = tuple(nodes)
    now = terms_by_domain((node.labels, node.now) for node in nodes)
    pinned = terms_by_domain((node.labels, node.pinned) for node in nodes)
    return tuple(
        replace(
            node,
            now=_add_domain_terms(node.now, node.labels, now),
            pinned=_add_domain_terms(node.pinned, node.labels, pinned),
        )
        for node in nodes
    )


def _add_domain_terms(
    load: Requested, labels: Mapping[str, str], domains: Mapping[tuple[str, str], Terms]
) -> Requested:
    domain_nodes = [domains[pair] for pair in labels.items() if pair in domains]
    if not domain_nodes:
        return load
    anti_affinity = _by_host(term for item in domain_nodes for term in item.anti_affinity)
    matched_terms = _by_host(term for item in domain_nodes for term in item.matched_terms)
    return replace(
        load,
        anti_affinity={**_unknown_terms(load.anti_affinity, anti_affinity), **anti_affinity},
        matched_terms={**_unknown_terms(load.matched_terms, matched_terms), **matched_terms},
    )


def _by_host(terms: Iterable[PodTerm]) -> dict[PodTerm, int]:
    return {replace(term, topology_key=HOSTNAME): 1 for term in terms}


def _unknown_terms(
    terms: Mapping[PodTerm, int], known: Mapping[PodTerm, int]
) -> dict[PodTerm, int]:
    """An existing key stays as it is. The key by host must be the key."""
    return {term: number for term, number in terms.items() if term not in known}
