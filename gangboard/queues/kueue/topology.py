"""Which nodes Kueue has assigned the pods of a Workload to (`status.admission…topologyAssignment`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gangboard.decode.wire import Int32, Wire
from gangboard.domain.pod_constraints import HOSTNAME
from gangboard.domain.queue import AssignedNodes

POD_SET_LABEL = "kueue.x-k8s.io/podset"
"""On pods that Kueue has started, with the name of their pod set."""
MOST_DOMAINS = 100_000
"""Of one pod set: as many as the API allows."""


class _WireValues(Wire):
    prefix: str | None = None
    suffix: str | None = None
    roots: list[str] | None = None


class _WireLevel(Wire):
    universal: str | None = None
    individual: _WireValues | None = None


class _WireCounts(Wire):
    universal: Int32 | None = None
    individual: list[Int32] | None = None


class _WireSlice(Wire):
    domain_count: Int32 | None = None
    values_per_level: list[_WireLevel] | None = None
    pod_counts: _WireCounts | None = None


class _WireDomain(Wire):
    values: list[str] | None = None
    count: Int32 | None = None


class WireTopologyAssignment(Wire):
    """The domains of one pod set: `slices` in v1beta2, `domains` in v1beta1."""

    levels: list[str] | None = None
    slices: list[_WireSlice] | None = None
    domains: list[_WireDomain] | None = None


def assigned_nodes(pod_set: str, assignment: WireTopologyAssignment | None) -> AssignedNodes | None:
    """Return the nodes of a pod set; None where it is assigned to none, or to larger domains only."""
    if assignment is None or not assignment.levels or assignment.levels[-1] != HOSTNAME:
        return None
    nodes: Counter[str] = Counter()
    for domain in assignment.domains or ():
        if domain.values:
            nodes[domain.values[-1]] += domain.count or 0
    for part in assignment.slices or ():
        for name, count in _domains(part):
            nodes[name] += count
    return AssignedNodes(POD_SET_LABEL, pod_set, dict(nodes)) if nodes else None


def _domains(part: _WireSlice) -> Iterator[tuple[str, int]]:
    """Yield (value at the lowest level, pods) of each domain of a slice."""
    level = (part.values_per_level or [_WireLevel()])[-1]
    counts = part.pod_counts or _WireCounts()
    for index in range(min(part.domain_count or 0, MOST_DOMAINS)):
        name = _value(level, index)
        if name:
            yield name, _count(counts, index)


def _value(level: _WireLevel, index: int) -> str:
    if level.universal is not None:
        return level.universal
    values = level.individual or _WireValues()
    roots = values.roots or []
    root = roots[index] if index < len(roots) else ""
    return f"{values.prefix or ''}{root}{values.suffix or ''}" if root else ""


def _count(counts: _WireCounts, index: int) -> int:
    if counts.universal is not None:
        return counts.universal
    individual = counts.individual or []
    return individual[index] if index < len(individual) else 0
