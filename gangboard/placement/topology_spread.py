"""One topology spread constraint: how many pods of one shape it lets in, and where.

Source: PodTopologySpread of kube-scheduler (podtopologyspread/filtering.go, 1.35 to 1.37). A pod may
go into a domain when the pods that count there, and itself if it counts, are at most `maxSkew` more
than in the domain that has the fewest.

For equal pods this adds up. `low` is the least that any domain comes to when it is filled up: no
domain that gets a pod ends with more than `low + maxSkew`. That many pods always get in, in any order of
the scheduler: while the domain with the fewest pods has less than `low`, it has room and takes one.
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
    """Pods on them that count."""
    max_pods: Mapping[str, int]
    """Node → how many pods of the shape it takes, without those that take none."""

    @property
    def capacity(self) -> int:
        """How many pods of the shape its nodes take."""
        return sum(self.max_pods.values())


@dataclass(frozen=True, slots=True)
class SpreadRequest:
    """Equal pods and the one constraint that they have."""

    pod_set: PodSet
    spread: Spread

    @property
    def shape(self) -> Shape:
        """The shape of these pods."""
        return self.pod_set.shape


def spread_of(request: PlacementRequest) -> SpreadRequest | None:
    """Return what of a request is worked out here; None where it has no constraint, or more."""
    pod_sets = [pod_set for pod_set in request.pod_sets if pod_set.count > 0]
    if len(pod_sets) != 1 or request.topology_keys:
        return None
    (pod_set,) = pod_sets
    return (
        SpreadRequest(pod_set, pod_set.shape.spread) if pod_set.shape.spread is not None else None
    )


def domain_limits(spread: Spread, domains: Sequence[Domain]) -> list[int]:
    """Return for each domain how many pods may come to it, if as many come as can."""
    if spread.counts_itself:
        top = (
            _fewest_counted(spread, [domain.counted + domain.capacity for domain in domains])
            + spread.max_skew
        )
        return [min(domain.capacity, max(0, top - domain.counted)) for domain in domains]
    return [domain.capacity if is_open(spread, domains, domain) else 0 for domain in domains]


def is_open(spread: Spread, domains: Sequence[Domain], domain: Domain) -> bool:
    """Whether the constraint lets the next pod into a domain."""
    low = _fewest_counted(spread, [domain.counted for domain in domains])
    return domain.counted + spread.counts_itself - low <= spread.max_skew


def max_pods_in_domain(spread: Spread, domains: Sequence[Domain]) -> int:
    """Return the most that a domain may come to if it gets a pod that counts."""
    return (
        _fewest_counted(spread, [domain.counted + domain.capacity for domain in domains])
        + spread.max_skew
    )


def _fewest_counted(spread: Spread, numbers: Sequence[int]) -> int:
    """Return the fewest; with fewer domains than `minDomains` it counts as none."""
    return min(numbers) if len(numbers) >= spread.min_domains else 0


# All nodes at once


def fit_spread(snapshot: NodeSnapshot, members: SpreadRequest, when: When, target: int) -> Fit:
    """Return whether at least `target` of the pods fit."""
    return place_spread(
        members, counted_domains(snapshot, members.shape, members.spread, when), target
    )


def max_spread_pods(snapshot: NodeSnapshot, shape: Shape, spread: Spread, when: When) -> int:
    """Return how many pods of a shape fit that the constraint lets in."""
    return sum(domain_limits(spread, counted_domains(snapshot, shape, spread, when)))


def counted_domains(
    snapshot: NodeSnapshot, shape: Shape, spread: Spread, when: When
) -> list[Domain]:
    """Return the domains that a constraint counts, by value, with the places for pods of the shape."""
    known = domains_of(snapshot, (spread.topology_key,))
    codes = known.codes
    counted = NodeFilters(snapshot, shape).counted(spread)
    counts = dict.fromkeys(np.unique(codes[counted]).tolist(), 0)
    for row, number in matching_pods(snapshot, spread.counted, when):
        if counted[row]:
            counts[int(codes[row])] += number
    max_pods = feasible_nodes_of(snapshot, shape).max_pods(when)
    places: dict[int, dict[str, int]] = {code: {} for code in counts}
    # A node that could host one is counted: both policies are filters of every pod, too.
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
    """Return the nodes to which the constraint lets no pod come now."""
    domains = counted_domains(snapshot, shape, spread, When.CURRENT)
    values = {domain.value for domain in domains if is_open(spread, domains, domain)}
    return ~snapshot.labels(spread.topology_key).among(values)


# The placement


def place_spread(members: SpreadRequest, domains: Sequence[Domain], target: int) -> Fit:
    """Return whether at least `target` of the pods fit into these domains, and where."""
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
    """Return how many go to each domain when each goes where the fewest are."""
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
