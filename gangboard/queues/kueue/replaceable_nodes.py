"""The replacement of one assigned node: when Kueue does it, for how many pods, and where (v0.19.2).

Kueue replaces a node in the topology assignment of a Workload once the node has a taint that its pods do not
tolerate, and no pod of the Workload runs there any more (pkg/controller/tas/node_controller.go). The other
assigned nodes stay. Without a suitable node, or with a second failed node, Kueue evicts the Workload (observed).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gangboard.domain.capacity import NodeInfo
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import CORDON, HOSTNAME, PodConstraints
from gangboard.domain.queue import AssignedNodes, NodeReplacement, QueueEntry
from gangboard.domain.text import count, is_or_are, label, names, plural
from gangboard.facts.gang import Gang
from gangboard.facts.surroundings import Surroundings

_NO_SCHEDULE = "NoSchedule"


def find_replacement(
    gang: Gang, job: Owner, node: str, surroundings: Surroundings
) -> NodeReplacement | str:
    """Return the pods that need another node, or a sentence that says why Kueue would not replace this one."""
    nodes = {info.name: info for info in surroundings.nodes}
    if nodes[node].labels.get(HOSTNAME) != node:
        return f"Kueue does not know node {node} by its name: its label {HOSTNAME} differs."
    entry = next((entry for entry in gang.queue.entries if _uses(entry, node)), None)
    if entry is None:
        return f"Kueue did not assign node {node} to {gang.name}: its pods are elsewhere than assigned."
    pods = [pod for pod in surroundings.pods_of(job.meta.ref.uid) if pod.node == node]
    why = (
        _siblings_there(gang, job, node, surroundings)
        or _other_failures(gang, entry, node, nodes)
        or _tolerates(job, pods)
    )
    if why:
        return why
    assigned = [item for item in entry.assigned if node in item.nodes]
    return _request(gang, entry, assigned, node, nodes, len(pods))


def _uses(entry: QueueEntry, node: str) -> bool:
    return any(node in assigned.nodes for assigned in entry.assigned)


def _siblings_there(gang: Gang, job: Owner, node: str, surroundings: Surroundings) -> str:
    own = job.meta.ref.uid
    siblings = [
        pod
        for pod in surroundings.pods
        if pod.node == node and (pod.meta.controller is None or pod.meta.controller.uid != own)
    ]
    if not siblings:
        return ""
    return (
        f"{count(len(siblings), 'pod')} of other Jobs of {gang.name} {plural(len(siblings), 'run')} on node "
        f"{node}, and Kueue replaces a node only if no pod of it runs there. Suspend and resume the whole "
        "instead: Kueue then chooses all nodes again, maybe the same ones."
    )


def _other_failures(gang: Gang, entry: QueueEntry, node: str, nodes: Mapping[str, NodeInfo]) -> str:
    """Refuse if another assigned node takes no pods, because Kueue replaces one node only."""
    assigned = {name for item in entry.assigned for name in item.nodes} - {node}
    failed = sorted({*entry.failed_nodes, *filter(lambda name: _is_closed(nodes, name), assigned)})
    if not failed:
        return ""
    return (
        f"{'Node' if len(failed) == 1 else 'Nodes'} {names(failed)} of {gang.name} {is_or_are(len(failed))} cordoned, "
        f"failed or gone: with a second such node Kueue would evict the whole {gang.owner.meta.ref.kind}."
    )


def _is_closed(nodes: Mapping[str, NodeInfo], name: str) -> bool:
    info = nodes.get(name)
    return info is None or info.unschedulable or not info.ready


def _tolerates(job: Owner, pods: Sequence[Pod]) -> str:
    if not all(_tolerates_cordon(pod.needs) for pod in pods):
        return ""
    return (
        f"The pods of {label(job.meta.ref)} tolerate the taint {CORDON}, so Kueue would not replace a cordoned "
        "node."
    )


def _tolerates_cordon(needs: PodConstraints) -> bool:
    """Return whether pods may start on a cordoned node."""
    return any(
        toleration.key in ("", CORDON)
        and toleration.effect in ("", _NO_SCHEDULE)
        and (toleration.operator == "Exists" or toleration.value == "")
        for toleration in needs.tolerations
    )


def _request(
    gang: Gang,
    entry: QueueEntry,
    assigned: Sequence[AssignedNodes],
    node: str,
    nodes: Mapping[str, NodeInfo],
    pods: int,
) -> NodeReplacement | str:
    """Return the request for the pods of this node. Their number includes pods that Kueue assigned and that ended."""
    whole = f"the whole {gang.owner.meta.ref.kind}"
    if len(assigned) > 1 or any(item.is_sliced for item in assigned):
        return (
            f"{gang.name} asks Kueue for slices of a topology, or has several pod sets on node {node}: whether Kueue "
            f"would replace the node or evict {whole} is not worked out."
        )
    (one,) = assigned
    remaining = sorted(set(one.nodes) - {node})
    # Without another assigned node Kueue may choose any domain.
    topology = one.required if remaining else ""
    return NodeReplacement(
        entry.meta,
        max(pods, one.nodes[node]),
        topology,
        nodes[remaining[0]].labels.get(topology, "") if topology else "",
        f"Kueue would evict {whole}.",
    )
