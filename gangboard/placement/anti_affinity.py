"""Required anti-affinity by another node label than the hostname, such as one pod per zone.

Source: InterPodAffinity of kube-scheduler (interpodaffinity/filtering.go, 1.35 to 1.37). A term separates its
pod from the pods that match it: nodes with the same label value cannot host both, whichever came first. The term does
not apply to nodes without the label. Terms of pods on nodes are node filters (`node_filters`). This module handles
equal members that exclude each other, so that each value takes one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from gangboard.domain.capacity import PlacementRequest, PodSet, Shape
from gangboard.domain.placement_result import Fit, FitAnswer, When
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.matching import clashing, one_per_domain_keys
from gangboard.placement.node_snapshot import NodeSnapshot


@dataclass(frozen=True, slots=True)
class OnePerDomain:
    """Equal pods that need a different value of a node label each."""

    pod_set: PodSet
    key: str


def one_per_domain_of(request: PlacementRequest) -> OnePerDomain | None:
    """Return the members that exclude each other by one label. None: the request has other constraints, or none."""
    pod_sets = [pod_set for pod_set in request.pod_sets if pod_set.count > 0]
    if len(pod_sets) != 1 or request.topology_keys:
        return None
    (pod_set,) = pod_sets
    keys = one_per_domain_keys(pod_set.shape)
    return (
        OnePerDomain(pod_set, keys[0]) if len(keys) == 1 and pod_set.shape.spread is None else None
    )


def is_anti_affinity_unsupported(request: PlacementRequest) -> bool:
    """Return whether members exclude each other in a way that this module does not support."""
    pod_sets = [pod_set for pod_set in request.pod_sets if pod_set.count > 0]
    excludes_itself = any(
        pod_set.count > 1 and one_per_domain_keys(pod_set.shape) for pod_set in pod_sets
    )
    pairs = combinations([pod_set.shape for pod_set in pod_sets], 2)
    if not excludes_itself and not any(
        _has_domain_anti_affinity(shape, other_shape) for shape, other_shape in pairs
    ):
        return False
    return one_per_domain_of(request) is None


def _has_domain_anti_affinity(shape: Shape, other_shape: Shape) -> bool:
    return any(not term.is_by_host for term in clashing(shape, other_shape))


# All nodes at once


def fit_one_per_domain(
    snapshot: NodeSnapshot, members: OnePerDomain, when: When, target: int
) -> Fit:
    """Return whether at least `target` of the pods fit."""
    return place_one_per_domain(
        members, _candidates(snapshot, members.pod_set.shape, members.key, when), target
    )


def max_one_per_domain(snapshot: NodeSnapshot, shape: Shape, when: When) -> int | None:
    """Return how many pods of a shape fit if they exclude each other by one label. None: other shapes."""
    keys = one_per_domain_keys(shape)
    if len(keys) != 1:
        return None
    return sum(pods for _, pods in _one_node_per_value(_candidates(snapshot, shape, keys[0], when)))


def values_with_free_capacity(snapshot: NodeSnapshot, shape: Shape, key: str, when: When) -> int:
    """Return how many values of a label have a node with free capacity for a pod of the shape."""
    candidates = _candidates(snapshot, shape, key, when)
    return len({value for value, _, _ in candidates if value is not None})


Candidate = tuple[str | None, str, int]
"""Label value (None: no such label), name of the node, and how many pods the node takes alone."""


def _candidates(snapshot: NodeSnapshot, shape: Shape, key: str, when: When) -> Iterator[Candidate]:
    max_pods = feasible_nodes_of(snapshot, shape).max_pods(when)
    for row in np.flatnonzero(max_pods > 0).tolist():
        node = snapshot[row]
        yield node.labels.get(key), node.name, int(max_pods[row])


# The placement


def _one_node_per_value(candidates: Iterable[Candidate]) -> list[tuple[str, int]]:
    """Return for each value the node that takes the fewest pods, and all nodes without the label."""
    best: dict[str, tuple[int, str]] = {}
    unlabelled: list[tuple[str, int]] = []
    for value, name, pods in candidates:
        if value is None:
            unlabelled.append((name, pods))
        else:
            best[value] = min(best.get(value, (pods, name)), (pods, name))
    return [*((name, 1) for _, name in best.values()), *unlabelled]


def place_one_per_domain(
    members: OnePerDomain, candidates: Iterable[Candidate], target: int
) -> Fit:
    """Return whether at least `target` of the pods fit on these candidates, with a placement."""
    chosen = _one_node_per_value(candidates)
    if sum(pods for _, pods in chosen) < target:
        return Fit(FitAnswer.NO)
    remaining = members.pod_set.count
    placement: dict[str, Mapping[str, int]] = {}
    for name, pods in sorted(chosen, key=lambda pair: (pair[1], pair[0])):
        placed = min(pods, remaining)
        remaining -= placed
        if placed:
            placement[name] = {members.pod_set.shape.name: placed}
    return Fit(FitAnswer.YES, dict(sorted(placement.items())))
