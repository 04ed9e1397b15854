"""Topology domains of a snapshot, and whether a whole gang fits into one of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gangboard.domain.capacity import PlacementRequest, PodSet
from gangboard.domain.placement_result import Fit, FitAnswer, When
from gangboard.domain.pod_constraints import HOSTNAME
from gangboard.placement.column_packing import pack
from gangboard.placement.feasible_nodes import FeasibleNodes, OrderedNodes, feasible_nodes_of
from gangboard.placement.matching import is_about_hosts
from gangboard.placement.node_columns import BoolColumn, IntColumn
from gangboard.placement.node_filters import has_label
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.packing_search import Budget


@dataclass(frozen=True, slots=True)
class TopologyDomains:
    """The topology domains of a snapshot, in the order of their values."""

    values: tuple[tuple[str, ...], ...]
    codes: IntColumn
    """Index of the domain of each node, or -1."""
    nodes: IntColumn
    """Rows of the nodes that are in a domain."""


def domains_of(snapshot: NodeSnapshot, keys: tuple[str, ...]) -> TopologyDomains:
    """Return the domains by these label keys. Nodes without one of the labels are in no domain."""
    snapshot = snapshot.of_labels
    cache_key = ("domains", keys)
    if cache_key not in snapshot.cache:
        rows_by_values: dict[tuple[str, ...], list[int]] = {}
        for row, node in enumerate(snapshot.nodes):
            values = tuple(node.labels[key] for key in keys if key in node.labels)
            if len(values) == len(keys):
                rows_by_values.setdefault(values, []).append(row)
        codes = np.full(len(snapshot), -1, dtype=np.int64)
        for code, values in enumerate(sorted(rows_by_values)):
            codes[rows_by_values[values]] = code
        snapshot.cache[cache_key] = TopologyDomains(
            tuple(sorted(rows_by_values)), codes, np.flatnonzero(codes >= 0)
        )
    domains: TopologyDomains = snapshot.cache[cache_key]
    return domains


def fit_in_any_domain(
    snapshot: NodeSnapshot, request: PlacementRequest, when: When, target: int, budget: Budget
) -> Fit:
    """Return whether at least `target` of the members fit into one domain. Without keys, all nodes are one domain."""
    pod_sets = [pod_set for pod_set in request.pod_sets if pod_set.count > 0]
    separately = (
        min(pod_set.count, feasible_nodes_of(snapshot, pod_set.shape).total_pods(when))
        for pod_set in pod_sets
    )
    if sum(separately) < target:
        return Fit(FitAnswer.NO)
    if not request.topology_keys:
        return _fit(snapshot, pod_sets, when, None, target, budget)
    domains = domains_of(snapshot, request.topology_keys)
    tried = (
        _fit(snapshot, pod_sets, when, domains.codes == code, target, budget)
        for code in _possible(snapshot, pod_sets, when, domains, target)
        if request.domain in (None, domains.values[code])
    )
    return first_fit(tried, budget)


def first_fit(tried: Iterable[Fit], budget: Budget) -> Fit:
    """Return the first YES of all domains. NO: every domain answers NO."""
    gave_up: Fit | None = None
    for fit in tried:
        if fit.answer is FitAnswer.YES:
            return Fit(FitAnswer.YES, fit.placement, steps=budget.spent)
        if fit.answer is FitAnswer.CANNOT_TELL:
            gave_up = gave_up or fit
    if gave_up is not None:
        return Fit(FitAnswer.CANNOT_TELL, why=gave_up.why, steps=budget.spent)
    return Fit(FitAnswer.NO, steps=budget.spent)


def _fit(
    snapshot: NodeSnapshot,
    pod_sets: Sequence[PodSet],
    when: When,
    mask: BoolColumn | None,
    target: int,
    budget: Budget,
) -> Fit:
    if len(pod_sets) == 1 and mask is None:
        return _fit_single_pod_set(snapshot, pod_sets[0], when, target)
    return pack(snapshot, pod_sets, when, mask, target, budget)


def _possible(
    snapshot: NodeSnapshot,
    pod_sets: Sequence[PodSet],
    when: When,
    domains: TopologyDomains,
    target: int,
) -> list[int]:
    """Return the domains that have room for enough of each shape alone, in order."""
    pods = np.zeros(len(domains.values), dtype=np.int64)
    for pod_set in pod_sets:
        max_pods = np.minimum(
            feasible_nodes_of(snapshot, pod_set.shape).max_pods(when), pod_set.count
        ).astype(np.int64)
        sums = np.zeros(len(domains.values), dtype=np.int64)
        np.add.at(sums, domains.codes[domains.nodes], max_pods[domains.nodes])
        pods += np.minimum(sums, pod_set.count)
    codes: list[int] = np.flatnonzero(pods >= target).tolist()
    return codes


def _fit_single_pod_set(snapshot: NodeSnapshot, pod_set: PodSet, when: When, target: int) -> Fit:
    """Place pods of one shape. The numbers of all nodes add up, without a search.

    Nodes that take the fewest pods are filled first, so that large holes stay.
    """
    ordered = feasible_nodes_of(snapshot, pod_set.shape).ordered_nodes(when)
    if not len(ordered.sums) or int(ordered.sums[-1]) < target:
        return Fit(FitAnswer.NO)
    chosen = fullest_nodes(ordered, pod_set.count)
    name = pod_set.shape.name
    return Fit(FitAnswer.YES, {snapshot.names[row]: {name: chosen[row]} for row in sorted(chosen)})


def fullest_nodes(ordered: OrderedNodes, count: int) -> dict[int, int]:
    """Return nodes for so many equal pods, or for as many as fit: row → number of pods.

    If several nodes take all remaining pods, the first by name is as good as any.
    """
    rows, max_pods, sums = ordered.rows, ordered.max_pods, ordered.sums
    small = int(np.searchsorted(max_pods, count))
    last = int(np.searchsorted(sums[:small], count))
    chosen = dict(zip(rows[:last].tolist(), max_pods[:last].tolist(), strict=True))
    remaining = count - (int(sums[last - 1]) if last else 0)
    if remaining and last < small:
        chosen[int(rows[last])] = remaining
    elif remaining and small < len(rows):
        chosen[int(rows[small:].min())] = remaining
    return chosen


def hostname_label_is_shared(snapshot: NodeSnapshot, request: PlacementRequest) -> bool:
    """Return whether nodes share a hostname label, or lack it, so that it does not separate nodes.

    The label separates pods that must be on different hosts. Each node that could host one needs its own value.
    """
    masks = [
        feasible_nodes_of(snapshot, pod_set.shape).eligible()
        for pod_set in request.pod_sets
        if pod_set.count and is_about_hosts(pod_set.shape)
    ]
    if not masks:
        return False
    hosts = np.flatnonzero(np.logical_or.reduce(masks))
    if not bool(has_label(snapshot, HOSTNAME)[hosts].all()):
        return True
    texts = snapshot.labels(HOSTNAME)
    empty = texts.among(("",))
    times = np.bincount(texts.codes, minlength=len(texts.codes_by_value))
    return bool(empty[hosts].any()) or bool((times[texts.codes[hosts]] > 1).any())


def first_unreadable(snapshot: NodeSnapshot, request: PlacementRequest) -> str:
    """Return the first node that might host a member if its amounts could be read. Empty: there is none."""
    if not snapshot.sparse().unreadable:
        return ""
    unreadable: list[tuple[int, int, FeasibleNodes]] = []
    for index, pod_set in enumerate(request.pod_sets):
        if pod_set.count:
            feasible = feasible_nodes_of(snapshot, pod_set.shape)
            rows = np.flatnonzero(feasible.only_unreadable(request.topology_keys))
            if len(rows):
                unreadable.append((int(rows[0]), index, feasible))
    if not unreadable:
        return ""
    row, _, feasible = min(unreadable, key=lambda entry: entry[:2])
    return f"{feasible.first_unreadable(row)} of the node {snapshot.names[row]} could not be read"
