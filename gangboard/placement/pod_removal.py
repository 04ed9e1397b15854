"""Nodes once some of the pods on them are gone, and where members could go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gangboard.domain.capacity import Load, NodeRoom
from gangboard.domain.pod import Pod
from gangboard.facts.unit import Unit
from gangboard.placement.amounts import pod_amounts
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.members import nodes_for, waiting
from gangboard.placement.neighbours import Matcher, fewer, matcher, more
from gangboard.placement.node_snapshot import Mask, NodeSnapshot
from gangboard.placement.what_if import WhatIf


def nodes_to_free(unit: Unit) -> NodeSnapshot:
    """Return the nodes as the unit's waiting pods find them, where members that have one stay.

    Nobody frees room for a gang by taking its own pods away; nor for a Job of a JobSet those of another.
    """
    snapshot = nodes_for(unit)
    there: dict[str, list[Pod]] = {}
    members = {pod.meta.ref.uid: pod for pod in (*unit.gang.pods, *unit.foreign_pods)}
    for pod in members.values():
        if pod.is_live and pod.is_placed and not pod.is_terminating and not pod.stays:
            there.setdefault(pod.node, []).append(pod)
    if not there:
        return snapshot
    matched = matcher(unit.gang.cluster.room, waiting(unit))
    changed: dict[str, NodeRoom] = {}
    for name, pods in there.items():
        at = snapshot.place(name)
        if at is not None:
            changed[name] = replace(
                snapshot[at], staying=_with(snapshot[at].staying, pods, matched)
            )
    return snapshot.changed(changed)


def _with(load: Load, pods: Sequence[Pod], matched: Matcher) -> Load:
    amounts = Counter(load.amounts)
    for pod in pods:
        amounts.update(pod_amounts(pod.requests))
    return Load(
        dict(amounts),
        load.pods + len(pods),
        load.host_ports.union(port for pod in pods for port in pod.needs.host_ports),
        more(load.anti_affinity, Counter(term for pod in pods for term in pod.needs.anti_affinity)),
        more(load.matched_terms, Counter(term for pod in pods for term in matched(pod))),
    )


def where(what_if: WhatIf) -> Mask:
    """Return the nodes that could host a member."""
    keys = what_if.request.topology_keys
    masks = [
        feasible_nodes_of(what_if.snapshot, pod_set.shape).eligible(keys)
        for pod_set in what_if.pod_sets
    ]
    found: Mask = np.logical_or.reduce(masks)
    return found


def lacking(what_if: WhatIf) -> int:
    """Return how much of the deciding resource is missing in total: at least so much must go."""
    for total in what_if.assessment.totals:
        if total.resource == what_if.deciding:
            return max(1, total.needed - total.free)
    return 1


def nodes_without(what_if: WhatIf, parts: Iterable[Mapping[str, Load]]) -> dict[str, NodeRoom]:
    """Return the nodes, by name, from which these parts have gone, without them."""
    changed: dict[str, NodeRoom] = {}
    for part in parts:
        for name, load in part.items():
            node = changed.get(name) or what_if.find(name)
            if node is not None:
                changed[name] = without(node, load)
    return changed


def without(node: NodeRoom, gone: Load) -> NodeRoom:
    """Return a node from which this has gone; ports that pods share which stay are kept."""
    load = node.now
    amounts = {name: amount - gone.amounts.get(name, 0) for name, amount in load.amounts.items()}
    left = Load(
        amounts,
        load.pods - gone.pods,
        (load.host_ports - gone.host_ports) | node.staying.host_ports,
        fewer(load.anti_affinity, gone.anti_affinity),
        fewer(load.matched_terms, gone.matched_terms),
    )
    return replace(node, now=left)
