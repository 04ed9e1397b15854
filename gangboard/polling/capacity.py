"""The numbers of a cluster that the Capacity page and its curves show, stored when they have changed."""

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
from gangboard.placement.amounts import free as amount_left
from gangboard.placement.amounts import taken
from gangboard.placement.anti_affinity import most_one_per_domain
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.matching import one_per_domain_keys, undecidable
from gangboard.placement.members import shape_of, unread_text
from gangboard.placement.node_columns import total
from gangboard.placement.node_snapshot import NodeSnapshot, snapshot_of
from gangboard.polling.assessment_index import AssessmentIndex, PodKind
from gangboard.polling.node_usage import NodeUsageTracker
from gangboard.store.capacity import (
    CHUNK,
    NodeCapacityRow,
    ShapeCapacity,
    save_capacity,
    save_nodes,
    stored_nodes,
    stored_shapes,
)
from gangboard.store.cluster_leases import ClusterLease
from gangboard.store.observations import next_version, writing
from gangboard.store.trends import AcceleratorSums, minute_text, record_point

EVERY = 5.0
"""Seconds between two writes at the least."""
SHAPES = 20
"""Kinds of pods that are shown at the most."""

_encode = msgspec.json.Encoder(order="deterministic").encode
_Held = dict[str, dict[str, int]]
"""Node → resource → amount in scheduler units."""


class CapacityWriter:
    """Keeps the tables of one cluster's capacity as they should be, with few writes."""

    def __init__(
        self, claim: ClusterLease, node_usage: NodeUsageTracker, assessments: AssessmentIndex
    ) -> None:
        self._claim = claim
        self._node_usage = node_usage
        self._assessments = assessments
        self._looked_at = -math.inf
        self._seen: tuple[int, int] | None = None
        """Versions of the room and of the verdicts at the last look."""
        self._digests: dict[str, bytes] = {}
        """Node → digest of its row as stored."""
        self._nodes: dict[str, tuple[NodeInfo, Amounts]] = {}
        """Node → what its row was made from."""
        self._shapes: tuple[str, list[dict[str, object]]] | None = None

    def write(self, why: str, now: datetime, *, at_once: bool) -> bool:
        """Store what has changed, at most every few seconds; return whether something has.

        Raises LeaseLostError.
        """
        room = self._node_usage.at(why)
        seen = (self._node_usage.version, self._assessments.version)
        if seen == self._seen:
            return False
        if not at_once and time.monotonic() - self._looked_at < EVERY:
            return False
        if self._seen is None:
            self._recall()
        # After a failed write everything is compared again.
        self._seen = None
        changed = self._write(room, now)
        self._seen, self._looked_at = seen, time.monotonic()
        return changed

    def _recall(self) -> None:
        """Begin from what is stored."""
        cluster_id = self._claim.cluster_id
        self._nodes.clear()
        self._digests = {row.name: _digest(row) for row in stored_nodes(cluster_id)}
        self._shapes = stored_shapes(cluster_id)

    def _write(self, room: ClusterCapacity, now: datetime) -> bool:
        changed = [] if room.why else self._changed_nodes(room)
        gone = [] if room.why else sorted(self._digests.keys() - {one.name for one in room.nodes})
        shapes = [] if room.why else self._fits(room)
        summary = (room.why, [asdict(shape) for shape in shapes])
        if not changed and not gone and summary == self._shapes:
            return False
        cluster_id = self._claim.cluster_id
        rows = [row for row, _ in changed]
        while len(rows) > CHUNK:
            with writing(self._claim):
                save_nodes(cluster_id, rows[:CHUNK])
            rows = rows[CHUNK:]
        with writing(self._claim):
            save_capacity(cluster_id, changed=rows, gone=gone, shapes=shapes, why=room.why, at=now)
            next_version(cluster_id)
        self._digests.update((row.name, digest) for row, digest in changed)
        for name in gone:
            self._digests.pop(name)
            self._nodes.pop(name, None)
        self._shapes = summary
        return True

    def accelerators(self) -> AcceleratorSums | None:
        """Return what the nodes offer, as stored last; None where nothing can be told of them.

        Amounts that could not be read are in no sum.
        """
        if self._shapes is None or self._shapes[0]:
            return None
        used = held = free = away = 0
        for node, part in self._nodes.values():
            for resource in {*node.allocatable, *node.now.amounts}:
                if not is_accelerator(resource) or resource in node.unreadable:
                    continue
                left = max(0, amount_left(node, resource, When.CURRENT))
                used += taken(node.now, resource)
                held += part.get(resource, 0)
                takes_pods = node.ready and not node.unschedulable
                free, away = (free + left, away) if takes_pods else (free, away + left)
        return AcceleratorSums(used, held, free, away)

    # Nodes

    def _changed_nodes(self, room: ClusterCapacity) -> list[tuple[NodeCapacityRow, bytes]]:
        """Return the rows that differ from those that are stored. Equal objects are not looked at."""
        held = self._held()
        found = []
        for node in room.nodes:
            part = held.get(node.name, {})
            before = self._nodes.get(node.name)
            if before is not None and before[0] is node and before[1] == part:
                continue
            row = _node_row(node, part, self._node_usage.pods_on(node.name))
            digest = _digest(row)
            if digest != self._digests.get(node.name):
                found.append((row, digest))
            self._nodes[node.name] = (node, part)
        return found

    def _held(self) -> _Held:
        """Return what gangs hold that are not whole."""
        held: _Held = defaultdict(lambda: defaultdict(int))
        for resident in self._node_usage.broken():
            for name, load in resident.loads.items():
                for resource, amount in _taken(load):
                    held[name][resource] += amount
        return held

    # What fits

    def _fits(self, room: ClusterCapacity) -> list[ShapeCapacity]:
        found = [_fit(room, kind, waiting) for kind, waiting in self._assessments.kinds(SHAPES)]
        return sorted(found, key=_dearest_first)


def _fit(room: ClusterCapacity, kind: PodKind, waiting: int) -> ShapeCapacity:
    unsupported = (*kind.needs.unsupported, *map(unread_text, kind.unread))
    shape = shape_of("", dict(kind.requests), kind.needs, unsupported, kind.matched)
    unclear = undecidable(shape)
    unsupported = shape.unsupported
    if len(one_per_domain_keys(shape)) > 1:
        unsupported = (*unsupported, ANTI_AFFINITY)
    snapshot = snapshot_of(room)
    return ShapeCapacity(
        requests={name: decimal_text(amount) for name, amount in kind.requests if amount},
        waiting=waiting,
        fits_now=_most(snapshot, shape, When.CURRENT),
        fits_empty=_most(snapshot, shape, When.DRAINED),
        why=f"not understood: {', '.join(unclear)}" if unclear else "",
        where=_where(kind),
        unsupported=list(dict.fromkeys(unsupported)),
    )


def _most(snapshot: NodeSnapshot, shape: Shape, when: When) -> int:
    most = most_one_per_domain(snapshot, shape, when)
    return total(feasible_nodes_of(snapshot, shape).max_pods(when)) if most is None else most


def _where(kind: PodKind) -> str:
    """Return which nodes it asks for, such as `pool=a100, required node affinity`."""
    words = [f"{label}={value}" for label, value in kind.needs.node_selector]
    if kind.needs.affinity is not None:
        words.append("required node affinity")
    return ", ".join(words)


def _dearest_first(shape: ShapeCapacity) -> tuple[Decimal, Decimal, Decimal, str, str]:
    asked = {name: Decimal(amount) for name, amount in shape.requests.items()}
    devices = sum((amount for name, amount in asked.items() if is_accelerator(name)), Decimal())
    cores, memory = asked.get("cpu", Decimal()), asked.get("memory", Decimal())
    return -devices, -cores, -memory, str(sorted(shape.requests.items())), shape.where


# Rows


def _node_row(node: NodeInfo, held: Mapping[str, int], pods: Mapping[str, str]) -> NodeCapacityRow:
    return NodeCapacityRow(
        name=node.name,
        labels=dict(node.labels),
        taints=tuple(map(str, node.taints)),
        ready=node.ready,
        cordoned=node.unschedulable,
        allocatable=_texts(node.allocatable.items()),
        used=_texts(_taken(node.now)),
        held=_texts(held.items()),
        unreadable=tuple(sorted(node.unreadable)),
        pods=pods,
    )


def _taken(load: Requested) -> Iterator[tuple[str, int]]:
    yield from load.amounts.items()
    if load.pods:
        yield PODS, load.pods


def _texts(amounts: Iterable[tuple[str, int]]) -> dict[str, str]:
    return {name: decimal_text(base_units(name, amount)) for name, amount in sorted(amounts)}


def _digest(row: NodeCapacityRow) -> bytes:
    return blake2b(_encode(row), digest_size=16).digest()


class TrendWriter:
    """Writes the minutes of one cluster in which its gangs are judged. The others have no row."""

    def __init__(self, claim: ClusterLease, capacity: CapacityWriter) -> None:
        self._claim = claim
        self._capacity = capacity
        self._written: datetime | None = None

    def write(self, now: datetime, *, all_seen: bool) -> None:
        """Write this minute, unless it is written. Raises LeaseLostError.

        `all_seen`: nothing that gangs are judged by is hidden. No page is told: one that is read anew
        for something else shows the point, too.
        """
        minute = minute_text(now)
        if minute == self._written:
            return
        with writing(self._claim):
            record_point(
                self._claim.cluster_id,
                at=now,
                all_seen=all_seen,
                room=self._capacity.accelerators(),
            )
        self._written = minute
