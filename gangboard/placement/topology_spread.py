"""A single topology spread constraint: how many pods of one shape it allows, and in which domains.

Source: PodTopologySpread of kube-scheduler (podtopologyspread/filtering.go, 1.35 to 1.37). Counted pods of a domain
include the new pod if the constraint counts it. The constraint allows a pod in a domain if the domain then has at most
`maxSkew` more counted pods than the domain with the fewest.

For equal pods the limits add up. `low` is the smallest number of pods that any full domain has. A domain that gets a pod
ends with at most `low + maxSkew` pods. Every order of the scheduler reaches these limits. While the domain with the
fewest pods has less than `low`, it has capacity and takes a pod.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace

import numpy as np

from gangboard.domain.capacity import PlacementRequest, PodSet, Shape
from gangboard.domain.placement_result import Fit, FitAnswer, When
from gangboard.domain.pod_constraints import PodTerm, Spread
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.node_columns import BoolColumn
from gangboard.placement.node_filters import NodeFilters
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.topology_domains import domains_of


@dataclass(frozen=True, slots=True)
class Domain:
    """The nodes with one value of the topology key."""

    value: str
    counted: int
    """Number of counted pods in the domain."""
    max_pods: Mapping[str, int]
    """Node → number of pods of the shape that it takes, without nodes that take none."""

    @property
    def capacity(self) -> int:
        """Number of pods of the shape that its nodes take."""
        return sum(self.max_pods.values())


@dataclass(frozen=True, slots=True)
class SpreadRequest:
    """Equal pods with a single constraint."""

    pod_set: PodSet
    spread: Spread

    @property
    def shape(self) -> Shape:
        """The shape of these pods."""
        return self.pod_set.shape


def spread_of(request: PlacementRequest) -> SpreadRequest | None:
    """Return the equal pods of a request with a single constraint. None: other requests."""
    pod_sets = [pod_set for pod_set in request.pod_sets if pod_set.count > 0]
    if len(pod_sets) != 1 or request.topology_keys:
        return None
    (pod_set,) = pod_sets
    return (
        SpreadRequest(pod_set, pod_set.shape.spread) if pod_set.shape.spread is not None else None
    )


def domain_limits(spread: Spread, domains: Sequence[Domain]) -> list[int]:
    """Return how many pods each domain gets if as many as possible are placed."""
    if spread.counts_itself:
        top = (
            _fewest_counted(spread, [domain.counted + domain.capacity for domain in domains])
            + spread.max_skew
        )
        return [min(domain.capacity, max(0, top - domain.counted)) for domain in domains]
    return [domain.capacity if is_open(spread, domains, domain) else 0 for domain in domains]


def is_open(spread: Spread, domains: Sequence[Domain], domain: Domain) -> bool:
    """Return whether the constraint allows the next pod in a domain."""
    low = _fewest_counted(spread, [domain.counted for domain in domains])
    return domain.counted + spread.counts_itself - low <= spread.max_skew


def max_pods_in_domain(spread: Spread, domains: Sequence[Domain]) -> int:
    """Return the largest number of counted pods in a domain that gets a counted pod."""
    return (
        _fewest_counted(spread, [domain.counted + domain.capacity for domain in domains])
        + spread.max_skew
    )


def _fewest_counted(spread: Spread, numbers: Sequence[int]) -> int:
    """Return the smallest number. With fewer domains than `minDomains` it is 0."""
    return min(numbers) if len(numbers) >= spread.min_domains else 0


# All nodes at once


def fit_spread(snapshot: NodeSnapshot, members: SpreadRequest, when: When, target: int) -> Fit:
    """Return whether at least `target` of the pods fit."""
    return place_spread(
        members, counted_domains(snapshot, members.shape, members.spread, when), target
    )


def max_spread_pods(snapshot: NodeSnapshot, shape: Shape, spread: Spread, when: When) -> int:
    """Return how many pods of a shape fit within the constraint."""
    return sum(domain_limits(spread, counted_domains(snapshot, shape, spread, when)))


def counted_domains(
    snapshot: NodeSnapshot, shape: Shape, spread: Spread, when: When
) -> list[Domain]:
    """Return the domains that a constraint counts, by value, with their capacity for pods of the shape."""
    known = domains_of(snapshot, (spread.topology_key,))
    codes = known.codes
    counted = NodeFilters(snapshot, shape).counted(spread)
    counts = dict.fromkeys(np.unique(codes[counted]).tolist(), 0)
    for row, number in matching_pods(snapshot, spread.counted, when):
        if counted[row]:
            counts[int(codes[row])] += number
    max_pods = feasible_nodes_of(snapshot, shape).max_pods(when)
    places: dict[int, dict[str, int]] = {code: {} for code in counts}
    # The node policies of the constraint also filter the nodes of the pod, so each candidate counts.
    for row in np.flatnonzero((max_pods > 0) & (codes >= 0)).tolist():
        places[int(codes[row])][snapshot.names[row]] = int(max_pods[row])
    return [Domain(known.values[code][0], counts[code], places[code]) for code in sorted(counts)]


def matching_pods(snapshot: NodeSnapshot, term: PodTerm, when: When) -> Iterator[tuple[int, int]]:
    """Yield the nodes with pods that a constraint counts, and how many."""
    sparse = snapshot.sparse()
    for row, load in (sparse.terms_now if when is When.CURRENT else sparse.terms_pinned).items():
        if term in load.matched_terms:
            yield row, load.matched_terms[term]


def closed_nodes(snapshot: NodeSnapshot, shape: Shape, spread: Spread) -> BoolColumn:
    """Return the nodes where the constraint allows no pod now."""
    domains = counted_domains(snapshot, shape, spread, When.CURRENT)
    values = {domain.value for domain in domains if is_open(spread, domains, domain)}
    return ~snapshot.labels(spread.topology_key).among(values)


# The placement


def place_spread(members: SpreadRequest, domains: Sequence[Domain], target: int) -> Fit:
    """Return whether at least `target` of the pods fit into these domains, with a placement."""
    most = domain_limits(members.spread, domains)
    total = sum(most)
    if total < target:
        return Fit(FitAnswer.NO)
    taken = _pods_per_domain(domains, most, min(members.pod_set.count, total))
    placement: dict[str, Mapping[str, int]] = {}
    for domain, count in zip(domains, taken, strict=True):
        for name, places in sorted(domain.max_pods.items(), key=lambda pair: (pair[1], pair[0])):
            placed = min(places, count)
            count -= placed
            if placed:
                placement[name] = {members.shape.name: placed}
    return Fit(FitAnswer.YES, dict(sorted(placement.items())))


def _pods_per_domain(domains: Sequence[Domain], most: Sequence[int], count: int) -> list[int]:
    """Return the pods of each domain if each pod goes to the domain with the fewest."""
    taken = [0] * len(domains)
    heap = [(domain.counted, index) for index, domain in enumerate(domains) if most[index]]
    heapify(heap)
    for _ in range(count):
        fewest, index = heap[0]
        taken[index] += 1
        if taken[index] < most[index]:
            heapreplace(heap, (fewest + 1, index))
        else:
            heappop(heap)
    return taken
