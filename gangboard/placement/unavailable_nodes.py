"""Nodes that pods cannot use for now: cordoned nodes, nodes in maintenance, and devices that are not allocatable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from gangboard.domain.capacity import NodeInfo, Shape
from gangboard.domain.objects import Condition
from gangboard.domain.placement_result import When
from gangboard.domain.pod_constraints import CORDON, Taint
from gangboard.placement.amounts import requested_amounts
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.node_snapshot import NodeSnapshot

_RESTORED = "restored"
MAINTENANCE_TAINTS = (
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",
    "ToBeDeletedByClusterAutoscaler",
    "aws-node-termination-handler/",
    "cloud.google.com/impending-node-termination",
)
"""Prefixes of taints of nodes that a controller drains for removal or maintenance."""

_CONTROLLER_TAINTS = (
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "karpenter.sh/unregistered",
    "DeletionCandidateOfClusterAutoscaler",
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
    "node.cluster.x-k8s.io/uninitialized",
    *MAINTENANCE_TAINTS,
)
"""Prefixes of taints on nodes that fail, leave or are not ready yet. No pod should start there.

The node lifecycle controller, cloud providers, Karpenter (v1 and before) and cluster-autoscaler set and
remove them (taints.go of each). Cluster API sets them until a node has its labels. AWS's termination
handler (pkg/node/node.go: spot-itn, scheduled-maintenance, …) and GKE set them before they remove a node."""
_AGENT_TAINT_SUFFIX = "not-ready"
"""Suffix of taints that an agent removes once it runs on the node. Until then, pods have no network or no volumes.

Examples are `node.cilium.io/agent-not-ready`, `ebs.csi.aws.com/agent-not-ready`, the taints of other CSI drivers
(install guides of each) and `node.gardener.cloud/critical-components-not-ready`."""


def is_set_by_controller(taint: Taint) -> bool:
    """Return whether a controller or an agent set the taint and removes it by itself, so that people should not."""
    return taint.key.startswith(_CONTROLLER_TAINTS) or taint.key.endswith(_AGENT_TAINT_SUFFIX)


def maintenance_markers(lifecycle: Iterable[Condition], taints: Iterable[Taint]) -> tuple[str, ...]:
    """Return the condition types and taint keys of a node that is being drained or maintained."""
    keys = (taint.key for taint in taints if taint.key.startswith(MAINTENANCE_TAINTS))
    return tuple(dict.fromkeys([*(condition.type for condition in lifecycle), *keys]))


def nodes_in_maintenance(snapshot: NodeSnapshot) -> tuple[NodeInfo, ...]:
    """Return the nodes in maintenance. Advice never directs pods to them."""
    if "in maintenance" not in snapshot.cache:
        snapshot.cache["in maintenance"] = tuple(node for node in snapshot.nodes if node.lifecycle)
    nodes: tuple[NodeInfo, ...] = snapshot.cache["in maintenance"]
    return nodes


# Cordons


def uncordoned(node: NodeInfo) -> NodeInfo:
    """Return the node without its cordon."""
    taints = tuple(taint for taint in node.taints if taint.key != CORDON)
    return replace(node, taints=taints, unschedulable=False)


def uncordonable_nodes(
    snapshot: NodeSnapshot, shapes: Iterable[Shape], keys: tuple[str, ...] = ()
) -> Mapping[str, NodeInfo]:
    """Return the nodes that only their cordon excludes from a shape, by name, without the cordon.

    Nodes in maintenance are left out, because an admin or a controller cordoned them for it.
    """
    opened = _uncordoned(snapshot)
    usable = np.zeros(len(snapshot), dtype=np.bool_)
    for shape in shapes:
        before, after = (feasible_nodes_of(nodes, shape) for nodes in (snapshot, opened))
        usable |= after.eligible(keys) & ~before.eligible(keys)
    return {opened.names[row]: opened.nodes[row] for row in np.flatnonzero(usable).tolist()}


def _uncordoned(snapshot: NodeSnapshot) -> NodeSnapshot:
    """Return the snapshot without cordons, cached in the snapshot."""
    if "uncordoned" not in snapshot.cache:
        kinds = snapshot.taint_groups()
        cordoned = [
            kind.unschedulable or any(taint.key == CORDON for taint in kind.taints)
            for kind in kinds.nodes
        ]
        rows = np.flatnonzero(np.array(cordoned, dtype=np.bool_)[kinds.codes]) if cordoned else ()
        nodes = [snapshot.nodes[row] for row in rows]
        snapshot.cache["uncordoned"] = snapshot.changed(
            {node.name: uncordoned(node) for node in nodes if not node.lifecycle}
        )
    opened: NodeSnapshot = snapshot.cache["uncordoned"]
    return opened


# Devices and huge pages in `capacity` that are not in `allocatable`


def restored_nodes(
    snapshot: NodeSnapshot, shapes: Iterable[Shape], keys: tuple[str, ...] = ()
) -> Mapping[str, NodeInfo]:
    """Return the nodes that would take more pods of a shape with all their devices, by name, with these devices.

    Nodes that the pods cannot use for another reason are left out.
    """
    restored = _restored(snapshot)
    if not restored:
        return {}
    all_restored = _all_restored(snapshot, restored)
    useful: dict[str, NodeInfo] = {}
    for shape in shapes:
        requested = requested_amounts(shape)
        if not any(requested.keys() & node.withheld.keys() for node in restored.values()):
            continue
        before, after = (feasible_nodes_of(nodes, shape) for nodes in (snapshot, all_restored))
        is_more = (after.max_pods(When.DRAINED) > before.max_pods(When.DRAINED)) & after.eligible(
            keys
        )
        for row in np.flatnonzero(is_more).tolist():
            node = all_restored.nodes[row]
            if requested.keys() & node.withheld.keys():
                useful[node.name] = node
    return useful


def _restored(snapshot: NodeSnapshot) -> dict[str, NodeInfo]:
    if _RESTORED not in snapshot.cache:
        snapshot.cache[_RESTORED] = {
            node.name: replace(node, allocatable=_restored_amounts(node))
            for node in snapshot.nodes
            if node.withheld
        }
    restored: dict[str, NodeInfo] = snapshot.cache[_RESTORED]
    return restored


def _restored_amounts(node: NodeInfo) -> dict[str, int]:
    restored = {
        name: max(0, node.allocatable.get(name, 0)) + amount
        for name, amount in node.withheld.items()
    }
    return {**node.allocatable, **restored}


def _all_restored(snapshot: NodeSnapshot, restored: Mapping[str, NodeInfo]) -> NodeSnapshot:
    """Return the snapshot with all devices of all nodes, cached in the snapshot."""
    cache_key = (_RESTORED, "whole")
    if cache_key not in snapshot.cache:
        snapshot.cache[cache_key] = snapshot.changed(restored)
    all_restored: NodeSnapshot = snapshot.cache[cache_key]
    return all_restored
