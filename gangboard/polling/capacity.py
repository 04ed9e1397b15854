"""The capacity of a cluster as rows for the Capacity page and its charts, stored when it changes."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from hashlib import blake2b

import msgspec

from gangboard.domain.capacity import PODS, Amounts, ClusterCapacity, NodeInfo, Requested, Shape
from gangboard.domain.placement_result import When
from gangboard.domain.pod_constraints import ANTI_AFFINITY
from gangboard.domain.resources import base_units, decimal_text, is_accelerator
from gangboard.placement.amounts import free_amount as amount_left
from gangboard.placement.amounts import used_amount
from gangboard.placement.anti_affinity import max_one_per_domain
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.matching import one_per_domain_keys, undecidable
from gangboard.placement.members import shape_of, unreadable_request_text
from gangboard.placement.node_columns import total
from gangboard.placement.node_snapshot import NodeSnapshot, snapshot_of
from gangboard.polling.assessment_index import AssessmentIndex, PodKind
from gangboard.polling.node_usage import NodeUsageTracker
from gangboard.store.capacity import (
    CHUNK,
    NodeCapacityRow,
    ShapeCapacity,
    read_stored_nodes,
    read_stored_shapes,
    save_capacity,
    save_nodes,
)
from gangboard.store.cluster_leases import ClusterLease
from gangboard.store.observations import next_data_version, writing
from gangboard.store.trends import AcceleratorSums, minute_text, record_point

WRITE_INTERVAL = 5.0
"""Minimum seconds between two writes."""
MAX_SHAPES = 20
"""Maximum number of kinds of pods that are shown."""

_encode = msgspec.json.Encoder(order="deterministic").encode
_Held = dict[str, dict[str, int]]
"""Node → resource → amount in scheduler units."""


class CapacityWriter:
    """Keeps the stored capacity of one cluster up to date, with few writes."""

    def __init__(
        self, lease: ClusterLease, node_usage: NodeUsageTracker, assessments: AssessmentIndex
    ) -> None:
        self._lease = lease
        self._node_usage = node_usage
        self._assessments = assessments
        self._written_at = -math.inf
        self._written_versions: tuple[int, int] | None = None
        """Versions of the capacity and of the assessments at the last write."""
        self._digests: dict[str, bytes] = {}
        """Node → digest of its row as stored."""
        self._nodes: dict[str, tuple[NodeInfo, Amounts, Mapping[str, str]]] = {}
        """Node → the input of its row: the node, the amounts that incomplete gangs hold, and the owners of its pods."""
        self._shapes: tuple[str, list[dict[str, object]]] | None = None

    def write(self, why: str, now: datetime, *, at_once: bool) -> bool:
        """Store the differences, at most every few seconds. Return whether there were any. Raises LeaseLostError.

        `why`: the reason why the capacity is unknown, or empty.
        """
        capacity = self._node_usage.capacity(why)
        versions = (self._node_usage.version, self._assessments.version)
        if versions == self._written_versions:
            return False
        if not at_once and time.monotonic() - self._written_at < WRITE_INTERVAL:
            return False
        if self._written_versions is None:
            self._load_stored()
        # After a failed write everything is compared again.
        self._written_versions = None
        changed = self._write(capacity, now)
        self._written_versions, self._written_at = versions, time.monotonic()
        return changed

    def _load_stored(self) -> None:
        """Load the stored state."""
        cluster_id = self._lease.cluster_id
        self._nodes.clear()
        self._digests = {row.name: _digest(row) for row in read_stored_nodes(cluster_id)}
        self._shapes = read_stored_shapes(cluster_id)

    def _write(self, capacity: ClusterCapacity, now: datetime) -> bool:
        why = capacity.why
        changed = [] if why else self._changed_nodes(capacity)
        names = {node.name for node in capacity.nodes}
        deleted = [] if why else sorted(self._digests.keys() - names)
        shapes = [] if why else self._shape_rows(capacity)
        summary = (why, [asdict(shape) for shape in shapes])
        if not changed and not deleted and summary == self._shapes:
            return False
        cluster_id = self._lease.cluster_id
        rows = [row for row, _ in changed]
        while len(rows) > CHUNK:
            with writing(self._lease):
                save_nodes(cluster_id, rows[:CHUNK])
            rows = rows[CHUNK:]
        with writing(self._lease):
            save_capacity(cluster_id, changed=rows, gone=deleted, shapes=shapes, why=why, at=now)
            next_data_version(cluster_id)
        self._digests.update((row.name, digest) for row, digest in changed)
        for name in deleted:
            self._digests.pop(name)
            self._nodes.pop(name, None)
        self._shapes = summary
        return True

    def accelerators(self) -> AcceleratorSums | None:
        """Return the last stored accelerators of all nodes. None if they are unknown.

        Unreadable amounts are in no sum.
        """
        if self._shapes is None or self._shapes[0]:
            return None
        used = held = free = unavailable = 0
        for node, held_amounts, _ in self._nodes.values():
            for resource in {*node.allocatable, *node.now.amounts}:
                if not is_accelerator(resource) or resource in node.unreadable:
                    continue
                unused = max(0, amount_left(node, resource, When.CURRENT))
                used += used_amount(node.now, resource)
                held += held_amounts.get(resource, 0)
                takes_pods = node.ready and not node.unschedulable
                free, unavailable = (
                    (free + unused, unavailable) if takes_pods else (free, unavailable + unused)
                )
        return AcceleratorSums(used, held, free, unavailable)

    def _changed_nodes(self, capacity: ClusterCapacity) -> list[tuple[NodeCapacityRow, bytes]]:
        """Return the rows that differ from the stored ones. Nodes with the same input objects are skipped.

        The owner of a pod can change although the pod does not: it can be seen after the pod.
        """
        held = self._held_amounts()
        changed = []
        for node in capacity.nodes:
            amounts, pods = held.get(node.name, {}), self._node_usage.pods_on(node.name)
            before = self._nodes.get(node.name)
            if before is not None and before[0] is node and before[1:] == (amounts, pods):
                continue
            row = _node_row(node, amounts, pods)
            digest = _digest(row)
            if digest != self._digests.get(node.name):
                changed.append((row, digest))
            self._nodes[node.name] = (node, amounts, pods)
        return changed

    def _held_amounts(self) -> _Held:
        """Return the amounts that incomplete gangs hold."""
        held: _Held = defaultdict(lambda: defaultdict(int))
        for gang in self._node_usage.incomplete_gangs():
            for name, load in gang.loads.items():
                for resource, amount in _requested_amounts(load):
                    held[name][resource] += amount
        return held

    def _shape_rows(self, capacity: ClusterCapacity) -> list[ShapeCapacity]:
        kinds = self._assessments.common_pod_kinds(MAX_SHAPES)
        rows = [_shape_row(capacity, kind, waiting) for kind, waiting in kinds]
        return sorted(rows, key=_largest_first)


def _shape_row(capacity: ClusterCapacity, kind: PodKind, waiting: int) -> ShapeCapacity:
    unsupported = (*kind.needs.unsupported, *map(unreadable_request_text, kind.unread))
    shape = shape_of("", dict(kind.requests), kind.needs, unsupported, kind.matched)
    unclear = undecidable(shape)
    unsupported = shape.unsupported
    if len(one_per_domain_keys(shape)) > 1:
        unsupported = (*unsupported, ANTI_AFFINITY)
    snapshot = snapshot_of(capacity)
    return ShapeCapacity(
        requests={name: decimal_text(amount) for name, amount in kind.requests if amount},
        waiting=waiting,
        fits_now=_max_pods(snapshot, shape, When.CURRENT),
        fits_empty=_max_pods(snapshot, shape, When.DRAINED),
        why=f"not understood: {', '.join(unclear)}" if unclear else "",
        where=_required_nodes(kind),
        unsupported=list(dict.fromkeys(unsupported)),
    )


def _max_pods(snapshot: NodeSnapshot, shape: Shape, when: When) -> int:
    pods = max_one_per_domain(snapshot, shape, when)
    return total(feasible_nodes_of(snapshot, shape).max_pods(when)) if pods is None else pods


def _required_nodes(kind: PodKind) -> str:
    """Return the required nodes, such as `pool=a100, required node affinity`."""
    requirements = [f"{label}={value}" for label, value in kind.needs.node_selector]
    if kind.needs.affinity is not None:
        requirements.append("required node affinity")
    return ", ".join(requirements)


def _largest_first(shape: ShapeCapacity) -> tuple[Decimal, Decimal, Decimal, str, str]:
    requests = {name: Decimal(amount) for name, amount in shape.requests.items()}
    devices = sum((amount for name, amount in requests.items() if is_accelerator(name)), Decimal())
    cores, memory = requests.get("cpu", Decimal()), requests.get("memory", Decimal())
    return -devices, -cores, -memory, str(sorted(shape.requests.items())), shape.where


def _node_row(node: NodeInfo, held: Mapping[str, int], pods: Mapping[str, str]) -> NodeCapacityRow:
    return NodeCapacityRow(
        name=node.name,
        labels=dict(node.labels),
        taints=tuple(map(str, node.taints)),
        ready=node.ready,
        cordoned=node.unschedulable,
        allocatable=_texts(node.allocatable.items()),
        used=_texts(_requested_amounts(node.now)),
        held=_texts(held.items()),
        unreadable=tuple(sorted(node.unreadable)),
        pods=pods,
    )


def _requested_amounts(load: Requested) -> Iterator[tuple[str, int]]:
    yield from load.amounts.items()
    if load.pods:
        yield PODS, load.pods


def _texts(amounts: Iterable[tuple[str, int]]) -> dict[str, str]:
    return {name: decimal_text(base_units(name, amount)) for name, amount in sorted(amounts)}


def _digest(row: NodeCapacityRow) -> bytes:
    return blake2b(_encode(row), digest_size=16).digest()


class TrendWriter:
    """Writes one trend point for each minute in which gangs of a cluster are assessed. Other minutes have no row."""

    def __init__(self, lease: ClusterLease, capacity: CapacityWriter) -> None:
        self._lease = lease
        self._capacity = capacity
        self._written: datetime | None = None

    def write(self, now: datetime, *, all_seen: bool) -> None:
        """Write the point of this minute, unless it is written. Raises LeaseLostError.

        `all_seen`: all needed resources are observed. The data version stays: a page shows the point when it is read
        for another reason.
        """
        minute = minute_text(now)
        if minute == self._written:
            return
        with writing(self._lease):
            record_point(
                self._lease.cluster_id,
                at=now,
                all_seen=all_seen,
                accelerators=self._capacity.accelerators(),
            )
        self._written = minute
