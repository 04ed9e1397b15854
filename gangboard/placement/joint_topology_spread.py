"""Several topology spread constraints together: an upper bound of the pods of one shape that they allow.

Each constraint works as in `topology_spread`. A node counts only if it has the labels of all constraints
(calPreFilterState in podtopologyspread/filtering.go, 1.35 to 1.37). The number depends on the order in which the
scheduler places pods. This module returns an upper bound over all orders, so it can prove that the pods do not
fit, but never that they do.

The bound rises step by step from the pods on the nodes. `low` is the fewest pods in a domain of a constraint. No
domain gets more than `low + maxSkew` pods. A `low` rises only if all domains of its constraint can get more pods
within the limits of the other constraints. If no `low` can rise, no order places more pods. The first pod to raise a
`low` would have found all domains below those limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gangboard.domain.capacity import PlacementRequest, PodSet
from gangboard.domain.placement_result import When
from gangboard.domain.pod_constraints import Spread
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.node_columns import BoolColumn, IntColumn
from gangboard.placement.node_filters import NodeFilters
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.topology_domains import domains_of
from gangboard.placement.topology_spread import matching_pods


def multiply_constrained_pods(request: PlacementRequest) -> PodSet | None:
    """Return the equal pods of a request that have several constraints. None: other requests."""
    pod_sets = [pod_set for pod_set in request.pod_sets if pod_set.count > 0]
    if len(pod_sets) != 1 or request.topology_keys:
        return None
    (pod_set,) = pod_sets
    return pod_set if len(pod_set.shape.spreads) > 1 else None


# Pods on nodes


def max_pods_by_all(snapshot: NodeSnapshot, pod_set: PodSet, when: When) -> int:
    """Return an upper bound of the pods that fit."""
    shape, filters = pod_set.shape, NodeFilters(snapshot, pod_set.shape)
    codes = [domains_of(snapshot, (spread.topology_key,)).codes for spread in shape.spreads]
    labelled: BoolColumn = np.logical_and.reduce([domain_codes >= 0 for domain_codes in codes])
    max_pods = feasible_nodes_of(snapshot, shape).max_pods(when)
    hosts = np.flatnonzero((max_pods > 0) & labelled)
    rules, places = [], []
    for spread, all_codes in zip(shape.spreads, codes, strict=True):
        counted = labelled & filters.counted(spread)
        present = np.unique(all_codes[counted])
        counts = np.zeros(len(present), dtype=np.int64)
        for row, number in matching_pods(snapshot, spread.counted, when):
            if counted[row]:
                counts[np.searchsorted(present, all_codes[row])] += number
        rules.append(SpreadLimit(spread, counts))
        # The node policies of the constraints also filter the nodes of the pod, so each candidate counts.
        places.append(np.searchsorted(present, all_codes[hosts]))
    return max_placed(
        SpreadState(rules, places, capped_pods(max_pods[hosts], pod_set.count)), pod_set.count
    )


def capped_pods(max_pods: IntColumn, count: int) -> IntColumn:
    """Return how many of `count` pods each node takes."""
    capped: IntColumn = np.minimum(max_pods, count).astype(np.int64)
    return capped


# Upper bound


@dataclass(slots=True)
class SpreadLimit:
    """One constraint with the pods in its domains."""

    spread: Spread
    counted: IntColumn
    """Number of counted pods in each domain."""
    low: int = 0
    can_rise: bool = False
    """Whether new pods can change `low`."""

    def __post_init__(self) -> None:
        """Set `low` to the fewest pods in a domain, or to 0 for fewer domains than `minDomains`."""
        if len(self.counted) >= self.spread.min_domains:
            self.low = int(self.counted.min())
            self.can_rise = self.spread.counts_itself

    def most(self, domains: IntColumn, max_pods: IntColumn) -> IntColumn:
        """Return how many of `max_pods` pods the constraint allows in these domains."""
        remaining = self.low + self.spread.max_skew - self.counted[domains]
        allowed: IntColumn
        if self.spread.counts_itself:
            allowed = np.minimum(max_pods, np.maximum(0, remaining))
        else:
            allowed = np.where(remaining >= 0, max_pods, 0)
        return allowed


@dataclass(slots=True)
class _DomainPairs:
    """Pods that nodes take, summed by the domains of two constraints."""

    own: IntColumn
    neighbour: IntColumn
    max_pods: IntColumn
    inside: BoolColumn
    """Whether the domain of the first constraint is inside one domain of the second."""


@dataclass(slots=True)
class SpreadState:
    """The constraints, and the nodes that take pods."""

    rules: Sequence[SpreadLimit]
    domains: Sequence[IntColumn]
    """Domains of the nodes that take a pod, by constraint."""
    max_pods: IntColumn
    """Number of pods that each of these nodes takes."""
    pairs: dict[tuple[int, int], _DomainPairs] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the domains that share nodes."""
        numbers = range(len(self.rules))
        self.pairs = {
            (first, second): self._pairs(first, second)
            for first in numbers
            for second in numbers
            if first != second
        }

    def _pairs(self, first: int, second: int) -> _DomainPairs:
        width = max(1, len(self.rules[second].counted))
        pairs, pair_of_node = np.unique(
            self.domains[first] * width + self.domains[second], return_inverse=True
        )
        own = pairs // width
        max_pods = _sum_by_domain(pair_of_node, self.max_pods, len(pairs))
        return _DomainPairs(own, pairs % width, max_pods, np.bincount(own)[own] == 1)

    def most(self) -> int:
        """Return the upper bound for the current values of `low`."""
        return min(
            int(rule.most(np.arange(len(rule.counted)), self._reach(index)).sum())
            for index, rule in enumerate(self.rules)
        )

    def rises(self, index: int) -> bool:
        """Raise `low` of a constraint as far as the others allow. Return whether it rose."""
        rule = self.rules[index]
        low, high = rule.low, int((rule.counted + self._reach(index)).min())
        while rule.low < high:
            middle = (rule.low + high + 1) // 2
            if self._lets(index, middle):
                rule.low = middle
            else:
                high = middle - 1
        return rule.low > low

    def _reach(self, index: int) -> IntColumn:
        """Return how many pods the other constraints allow in each domain of one constraint."""
        size = len(self.rules[index].counted)
        best = _sum_by_domain(self.domains[index], self.max_pods, size)
        for second, rule in enumerate(self.rules):
            if second != index:
                pairs = self.pairs[index, second]
                allowed = _sum_by_domain(
                    pairs.own, rule.most(pairs.neighbour, pairs.max_pods), size
                )
                best = np.minimum(best, allowed)
        return best

    def _lets(self, index: int, low: int) -> bool:
        """Return whether the others allow `low` pods in all domains of one constraint.

        It checks the domains that are inside one domain of the other constraint.
        """
        counts = self.rules[index].counted
        for second, rule in enumerate(self.rules):
            if second == index:
                continue
            pairs = self.pairs[index, second]
            own_domains, other_domains = pairs.own[pairs.inside], pairs.neighbour[pairs.inside]
            lacking = _sum_by_domain(
                other_domains, np.maximum(0, low - counts[own_domains]), len(rule.counted)
            )
            if bool((rule.most(np.arange(len(rule.counted)), lacking) < lacking).any()):
                return False
        return True


def _sum_by_domain(places: IntColumn, amounts: IntColumn, size: int) -> IntColumn:
    """Return the sum of the amounts of each domain."""
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, places, amounts)
    return sums


def max_placed(state: SpreadState, count: int) -> int:
    """Return an upper bound of the pods that the constraints allow, at most `count`."""
    rising = [index for index, rule in enumerate(state.rules) if rule.can_rise]
    # Each round adds at least one pod to each domain of a constraint, so there are few rounds.
    while state.most() < count and any(state.rises(index) for index in rising):
        pass
    return min(count, state.most())
