"""Pod sets of a Workload: the nodes that Kueue assigns to their pods, and the node labels that it adds to them.

A topology assignment is in `status.admission…topologyAssignment`. When Kueue starts an owner, it adds node labels to the
node selector of the pods: those of the assigned flavors, and those of `podSetUpdates` of checks. The Workload keeps the
original pod templates of the owner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from gangboard.decode.wire import Int32, Wire, WirePresence
from gangboard.domain.pod_constraints import HOSTNAME
from gangboard.domain.queue import AssignedNodes, LabelSources

POD_SET_LABEL = "kueue.x-k8s.io/podset"
"""Label of pods that Kueue has started, with the name of their pod set."""
MOST_DOMAINS = 100_000
"""Maximum of one pod set, as in the API."""


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


class WireTopologyRequest(Wire):
    """`topologyRequest` of one of `spec.podSets`."""

    required: str | None = None
    slice_topology: str | None = msgspec.field(default=None, name="podSetSliceRequiredTopology")
    slice_constraints: list[WirePresence] | None = msgspec.field(
        default=None, name="podsetSliceRequiredTopologyConstraints"
    )


class WireTopologyAssignment(Wire):
    """The domains of one pod set: `slices` in v1beta2, `domains` in v1beta1."""

    levels: list[str] | None = None
    slices: list[_WireSlice] | None = None
    domains: list[_WireDomain] | None = None


def assigned_nodes(
    pod_set: str,
    assignment: WireTopologyAssignment | None,
    request: WireTopologyRequest | None = None,
) -> AssignedNodes | None:
    """Return the nodes of a pod set. None: it is not assigned, or only to larger domains."""
    if assignment is None or not assignment.levels or assignment.levels[-1] != HOSTNAME:
        return None
    nodes: Counter[str] = Counter()
    for domain in assignment.domains or ():
        if domain.values:
            nodes[domain.values[-1]] += domain.count or 0
    for slice_ in assignment.slices or ():
        for name, count in _domains(slice_):
            nodes[name] += count
    wanted = request or WireTopologyRequest()
    is_sliced = bool(wanted.slice_topology or wanted.slice_constraints)
    return (
        AssignedNodes(POD_SET_LABEL, pod_set, dict(nodes), wanted.required or "", is_sliced)
        if nodes
        else None
    )


def _domains(slice_: _WireSlice) -> Iterator[tuple[str, int]]:
    """Yield (value at the lowest level, pods) of each domain of a slice."""
    level = (slice_.values_per_level or [_WireLevel()])[-1]
    counts = slice_.pod_counts or _WireCounts()
    for index in range(min(slice_.domain_count or 0, MOST_DOMAINS)):
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


# Node labels


class _WirePodSpec(Wire):
    node_selector: dict[str, str | None] | None = None


class _WireTemplate(Wire):
    spec: _WirePodSpec | None = None


class WirePodSet(Wire):
    """One of `spec.podSets`."""

    name: str = ""
    count: Int32 | None = None
    template: _WireTemplate | None = None
    topology_request: WireTopologyRequest | None = None

    @property
    def selected(self) -> frozenset[str]:
        """Node labels that its template selects."""
        spec = (self.template or _WireTemplate()).spec or _WirePodSpec()
        return frozenset(spec.node_selector or ())


class WireFlavorNames(Wire):
    """The names in one of `status.admission.podSetAssignments`."""

    name: str = ""
    flavors: dict[str, str] | None = None


class _WireUpdate(Wire):
    name: str = ""
    node_selector: dict[str, str | None] | None = None


class WireCheckUpdates(Wire):
    """One of `status.admissionChecks`, with its changes of the pods."""

    name: str | None = None
    pod_set_updates: list[_WireUpdate] | None = None


def label_sources(
    pod_sets: Sequence[WirePodSet] | None,
    assignments: Sequence[WireFlavorNames] | None,
    checks: Sequence[WireCheckUpdates] | None,
) -> tuple[LabelSources, ...]:
    """Return the sources of the node labels of each assigned pod set."""
    selected = {pod_set.name: pod_set.selected for pod_set in pod_sets or ()}
    return tuple(
        LabelSources(
            POD_SET_LABEL,
            assignment.name,
            selected.get(assignment.name, frozenset()),
            tuple(sorted(set((assignment.flavors or {}).values()))),
            {
                key: check.name or ""
                for check in checks or ()
                for update in check.pod_set_updates or ()
                if update.name == assignment.name
                for key in update.node_selector or ()
            },
        )
        for assignment in assignments or ()
    )
