"""The node filters of kube-scheduler for one shape, over all nodes at once.

A filter is evaluated once for each value of a label, each set of taints and each resource, not for
each node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from gangboard.domain.capacity import Requested, Shape
from gangboard.domain.placement_result import Constraint, Filter, When
from gangboard.domain.pod_constraints import CORDON, HostPort, Requirement, Spread, Taint
from gangboard.placement.amounts import requested_amounts
from gangboard.placement.matching import (
    NAME_FIELD,
    NOT_READY,
    clashing,
    has_host_anti_affinity,
    is_tainted,
    matches_label,
    ports_clash,
    untolerated,
)
from gangboard.placement.node_columns import BoolColumn, IntColumn
from gangboard.placement.node_snapshot import NAME, NodeSnapshot

EXAMPLES = 3
"""Most node names in a list of examples."""
Obstacle = tuple[str, str, BoolColumn]
"""The value of a `Filter` or `Constraint`, or an exhausted resource; its detail; and all nodes that it closes."""


class NodeFilters:
    """The filters of one shape, evaluated for all nodes."""

    def __init__(
        self, snapshot: NodeSnapshot, shape: Shape, eligible: BoolColumn | None = None
    ) -> None:
        """Pass `eligible` if the nodes that no filter excludes are known."""
        self._snapshot = snapshot
        self._shape = shape
        self._requests = requested_amounts(shape)
        self._masks: dict[str, BoolColumn] = {} if eligible is None else {"eligible": eligible}

    def eligible(self, keys: Sequence[str] = ()) -> BoolColumn:
        """Return the nodes that no filter excludes."""
        if "eligible" not in self._masks:
            readable = self._readable()
            is_all_read = not self._snapshot.sparse().unreadable
            self._masks["eligible"] = readable if is_all_read else readable & ~self._unreadable()
        mask = self._masks["eligible"]
        for key in keys:
            mask = mask & has_label(self._snapshot, key)
        return mask

    def only_unreadable(self, keys: Sequence[str]) -> BoolColumn:
        """Return the nodes that might be eligible if their amounts could be read."""
        mask = self._readable() & self._unreadable()
        for key in keys:
            mask = mask & has_label(self._snapshot, key)
        return mask

    def first_unreadable(self, row: int) -> str:
        """Return the first requested resource of a node that could not be read."""
        return min(self._snapshot[row].unreadable & self._requests.keys())

    def _readable(self) -> BoolColumn:
        """Return the nodes that no filter but the one about unreadable amounts excludes."""
        if "readable" not in self._masks:
            shape, sparse = self._shape, self._snapshot.sparse()
            mask = self.selected() & self.tolerated()
            # Skip absent constraints, because a column of thousands of nodes costs time.
            if shape.pod_affinity is not None:
                mask &= self._pod_affinity()
            if self.depends_on_pods:
                mask &= ~self.taken_by_pods(When.DRAINED)
            if sparse.silent:
                mask &= ~self._silent()
            for resource, amount in self._requests.items():
                enough = self._enough(resource, amount)
                mask &= enough | self._unread(resource) if sparse.unreadable else enough
            self._masks["readable"] = mask
        return self._masks["readable"]

    def _all(self) -> BoolColumn:
        return np.ones(len(self._snapshot), dtype=np.bool_)

    def _none(self) -> BoolColumn:
        return np.zeros(len(self._snapshot), dtype=np.bool_)

    def selected(self) -> BoolColumn:
        """Return the nodes that match the node selector and the required node affinity.

        Source: GetRequiredNodeAffinity in k8s.io/component-helpers/scheduling/corev1/nodeaffinity.
        """
        if "selected" in self._masks:
            return self._masks["selected"]
        mask = self._all()
        for key, value in self._shape.node_selector.items():
            mask &= self._matching(Requirement(key, "In", (value,)))
        if self._shape.affinity is not None:
            any_term = self._none()
            for term in self._shape.affinity:
                if not term.expressions and not term.fields:
                    continue
                each = self._all()
                for entry in term.expressions:
                    each &= self._matching(entry)
                for entry in term.fields:
                    each &= self._matching(entry, field=True)
                any_term |= each
            mask &= any_term
        self._masks["selected"] = mask
        return mask

    def _pod_affinity(self) -> BoolColumn:
        """Return the nodes of the domains that have a pod of the required pod affinity. Pods that can leave count."""
        term = self._shape.pod_affinity
        if term is None:
            return self._all()
        if term.is_by_host:
            loads = self._snapshot.sparse().terms_now
            return self._mask_of(row for row, load in loads.items() if term in load.matched_terms)
        domains = self._snapshot.terms(When.CURRENT).items()
        values = [
            value
            for (key, value), terms in domains
            if key == term.topology_key and term in terms.matched_terms
        ]
        return self._snapshot.labels(term.topology_key).among(values)

    def _matching(self, entry: Requirement, *, field: bool = False) -> BoolColumn:
        if field and entry.key != NAME_FIELD:
            return self._all() if matches_label(entry, None) else self._none()
        cache_key = ("matching", entry, field)
        cache = self._snapshot.of_labels.cache
        if cache_key not in cache:
            texts = self._snapshot.labels(NAME if field else entry.key)
            if entry.operator == "In":  # faster than a check of every value, such as names of nodes
                cache[cache_key] = texts.among(entry.values)
            elif entry.operator == "NotIn":
                cache[cache_key] = ~texts.among(entry.values)
            else:
                cache[cache_key] = texts.among(
                    text for text in texts.codes_by_value if matches_label(entry, text)
                )
        mask: BoolColumn = cache[cache_key]
        return mask

    def _taints(self) -> tuple[IntColumn, list[list[Taint]]]:
        """Return the taint group of each node, and the untolerated taints of each group."""
        cache_key = ("taints", self._shape.tolerations)
        cache = self._snapshot.cache
        if cache_key not in cache:
            kinds = self._snapshot.taint_groups()
            cache[cache_key] = kinds.codes, [untolerated(node, self._shape) for node in kinds.nodes]
        groups: tuple[IntColumn, list[list[Taint]]] = cache[cache_key]
        return groups

    def tolerated(self) -> BoolColumn:
        """Return the nodes whose taints and cordon the shape tolerates."""
        codes, taints = self._taints()
        if not taints:
            return self._all()
        mask: BoolColumn = np.array([not group for group in taints], dtype=np.bool_)[codes]
        return mask

    def counted(self, spread: Spread) -> BoolColumn:
        """Return the nodes that a spread constraint counts (matchNodeInclusionPolicies)."""
        mask = has_label(self._snapshot, spread.topology_key)
        if spread.honours_affinity:
            mask = mask & self.selected()
        if spread.honours_taints:
            kinds = self._snapshot.taint_groups()
            tainted = [is_tainted(node, self._shape) for node in kinds.nodes]
            mask = mask & ~np.array(tainted, dtype=np.bool_)[kinds.codes]
        return mask

    def _enough(self, resource: str, amount: int) -> BoolColumn:
        column = self._snapshot.resource(resource)
        mask: BoolColumn = (column.empty >= amount) & (column.allocatable != 0)
        return mask

    def _unread(self, resource: str) -> BoolColumn:
        return self._mask_of(
            row for row, names in self._snapshot.sparse().unreadable.items() if resource in names
        )

    def _unreadable(self) -> BoolColumn:
        requested = self._requests.keys()
        return self._mask_of(
            row for row, names in self._snapshot.sparse().unreadable.items() if names & requested
        )

    def _silent(self) -> BoolColumn:
        return self._mask_of(self._snapshot.sparse().silent)

    def _mask_of(self, rows: Iterable[int]) -> BoolColumn:
        mask = self._none()
        mask[list(rows)] = True
        return mask

    def _port_clashes(self, taken: Mapping[int, frozenset[HostPort]]) -> BoolColumn:
        ports = self._shape.host_ports
        if not ports:
            return self._none()
        return self._mask_of(
            row for row, taken_ports in taken.items() if ports_clash(ports, taken_ports)
        )

    def _anti_affinity_clashes(self, taken: Mapping[int, Requested]) -> BoolColumn:
        return self._mask_of(
            row for row, load in taken.items() if has_host_anti_affinity(self._shape, load)
        )

    def filters(self, keys: Sequence[str]) -> Iterator[tuple[Filter, str, BoolColumn]]:
        """Yield each filter with its detail, a taint or resource, and the nodes that it excludes.

        The order is that of `Filter`.
        """
        yield Filter.SELECTOR, "", ~self.selected()
        yield Filter.POD_AFFINITY, "", ~self._pod_affinity()
        for key in keys:
            yield Filter.TOPOLOGY_LABEL, key, ~has_label(self._snapshot, key)
        silent = self._silent()
        for resource in self._requests:
            has_resource = self._snapshot.resource(resource).allocatable != 0
            yield (
                Filter.MISSING_RESOURCE,
                resource,
                ~(has_resource | silent | self._unread(resource)),
            )
        for resource, amount in self._requests.items():
            enough = self._enough(resource, amount)
            yield Filter.TOO_SMALL, resource, ~(enough | silent | self._unread(resource))
        yield Filter.UNSAID, "", silent
        codes, taints = self._taints()
        for node_filter in (Filter.CORDON, Filter.NOT_READY, Filter.TAINT):
            yield from self._tainted(node_filter, codes, taints)
        yield Filter.HOST_PORT, "", self.ports_taken(When.DRAINED)
        yield Filter.ANTI_AFFINITY, "", self.anti_affinity_taken(When.DRAINED)
        for resource in sorted(self._requests):
            yield Filter.UNREADABLE, resource, self._unread(resource)

    def _tainted(
        self, node_filter: Filter, codes: IntColumn, taints: Sequence[Sequence[Taint]]
    ) -> Iterator[tuple[Filter, str, BoolColumn]]:
        """Yield the nodes by their first taint that belongs to the filter."""
        first_details = [
            next(
                (
                    _detail(node_filter, taint)
                    for taint in group
                    if _filter_of(taint) is node_filter
                ),
                None,
            )
            for group in taints
        ]
        for detail in sorted({detail for detail in first_details if detail is not None}):
            has_detail = np.array([first == detail for first in first_details], dtype=np.bool_)
            yield node_filter, detail, has_detail[codes]

    # Everything that closes a node now

    def obstacles(self, keys: Sequence[str]) -> Iterator[Obstacle]:
        """Yield everything but taints that closes nodes now, with all nodes that it closes.

        `filters` excludes a node by pods that stay. Here pods that can leave count, too. A request closes a node in one
        way only: the node lacks the resource, is too small, or has too little of it free now.
        """
        yield Filter.SELECTOR, "", ~self.selected()
        if self._shape.pod_affinity is not None:
            yield Filter.POD_AFFINITY, "", ~self._pod_affinity()
        for key in keys:
            yield Filter.TOPOLOGY_LABEL, key, ~has_label(self._snapshot, key)
        yield from self._short_resources()
        if self.depends_on_pods:
            ports, ports_now = (self.ports_taken(when) for when in (When.DRAINED, When.CURRENT))
            yield Filter.HOST_PORT, "", ports
            yield Constraint.HOST_PORTS, "", ports_now & ~ports
            pods, pods_now = (
                self.anti_affinity_taken(when) for when in (When.DRAINED, When.CURRENT)
            )
            yield Filter.ANTI_AFFINITY, "", pods
            yield Constraint.ANTI_AFFINITY, "", pods_now & ~pods

    def _short_resources(self) -> Iterator[Obstacle]:
        sparse = self._snapshot.sparse()
        silent = self._silent()
        for resource, amount in self._requests.items():
            column = self._snapshot.resource(resource)
            unread = self._unread(resource) if sparse.unreadable else self._none()
            lacks, is_small = column.allocatable == 0, column.empty < amount
            known = ~(silent | unread)
            yield Filter.MISSING_RESOURCE, resource, known & lacks
            yield Filter.TOO_SMALL, resource, known & ~lacks & is_small
            yield resource, "", known & ~(lacks | is_small) & (column.now < amount)
            if sparse.unreadable:
                yield Filter.UNREADABLE, resource, unread
        if sparse.silent:
            yield Filter.UNSAID, "", silent

    def untolerated_keys(self) -> tuple[IntColumn, list[dict[str, Filter]]]:
        """Return the taint group of each node, and the keys of the untolerated taints of each group."""
        codes, taints = self._taints()
        return codes, [{taint.key: _filter_of(taint) for taint in group} for group in taints]

    # Conflicts with pods on nodes

    @property
    def depends_on_pods(self) -> bool:
        """Whether host ports or anti-affinity of pods on a node can exclude the shape."""
        shape = self._shape
        return bool(shape.host_ports or shape.anti_affinity or shape.matched_terms)

    def taken_by_pods(self, when: When) -> BoolColumn:
        """Return the nodes where host ports or anti-affinity of pods exclude the shape."""
        return self.ports_taken(when) | self.anti_affinity_taken(when)

    def ports_taken(self, when: When) -> BoolColumn:
        """Return the nodes on which a host port of the shape is taken."""
        sparse = self._snapshot.sparse()
        return self._port_clashes(sparse.ports_now if when is When.CURRENT else sparse.ports_pinned)

    def anti_affinity_taken(self, when: When) -> BoolColumn:
        """Return the nodes where anti-affinity of a pod excludes the shape, by hostname or by another label."""
        if not (self._shape.anti_affinity or self._shape.matched_terms):
            return self._none()
        sparse = self._snapshot.sparse()
        mask = self._anti_affinity_clashes(
            sparse.terms_now if when is When.CURRENT else sparse.terms_pinned
        )
        for (key, value), terms in self._snapshot.terms(when).items():
            if any(clashing(self._shape, terms)):
                mask |= self._snapshot.labels(key).among((value,))
        return mask


def has_label(snapshot: NodeSnapshot, key: str) -> BoolColumn:
    """Return the nodes that have a label."""
    snapshot = snapshot.of_labels
    cache_key = ("label", key)
    if cache_key not in snapshot.cache:
        texts = snapshot.labels(key)
        snapshot.cache[cache_key] = ~texts.among((None,))
    mask: BoolColumn = snapshot.cache[cache_key]
    return mask


def _filter_of(taint: Taint) -> Filter:
    if taint.key == CORDON:
        return Filter.CORDON
    return Filter.NOT_READY if taint.key in NOT_READY else Filter.TAINT


def _detail(node_filter: Filter, taint: Taint) -> str:
    return "" if node_filter is Filter.CORDON else str(taint)
