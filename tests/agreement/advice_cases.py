"""Advice on drawn cases: its candidates for suspension, and the case after advice was followed.

The running pods of a case are gangs by their number on the node: `…-r0` of all nodes is one, `…-r1` the
next. A changed case is plain numbers again, for the reckoning as well as for the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gangboard.decode.nodes import NODE
from gangboard.decode.pods import POD
from gangboard.domain.advice import Advice, AdviceKind, Harm, harm_of
from gangboard.domain.capacity import PODS, ClusterCapacity, RunningGang
from gangboard.domain.objects import ObjectRef
from gangboard.domain.pod import Pod
from gangboard.facts.unit import Unit
from gangboard.placement.unit_placement import placing_of
from gangboard.placement.usage import Usage
from tests.agreement import objects
from tests.agreement.arena import Look
from tests.agreement.cases import Case, NodeSpec
from tests.agreement.ours import Reading
from tests.controlplane.client import Json
from tests.decode.reading import model
from tests.domain_objects import with_cluster

MIB = 1024**2
_CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


class Misfits:
    """A snapshot with its running gangs: the units that advice is computed for."""

    def __init__(self, look: Look) -> None:
        """Decode the look."""
        self._reading = Reading(look)
        self._room = room_with_gangs(look)

    def unit(self, group: Mapping[str, object]) -> Unit:
        """Return the gang of a PodGroup as advice gets it."""
        unit = self._reading.unit(group)
        unit = replace(unit, gang=with_cluster(unit.gang, room=self._room))
        return replace(unit, placing=placing_of(unit))


def room_with_gangs(snapshot: Look) -> ClusterCapacity:
    """Return the free capacity and the running gangs."""
    usage = Usage()
    for obj in snapshot.nodes:
        usage.put_node(model(NODE, obj))
    uids: dict[str, list[str]] = {}
    for obj in snapshot.pods:
        # Those that wait are put as well: their rules say who counts.
        pod: Pod = model(POD, obj)
        usage.put_pod(pod)
        if is_running_pod(obj):
            uids.setdefault(_gang_of(pod), []).append(pod.meta.ref.uid)
    running_gangs = [
        RunningGang(name, ObjectRef("batch", "Job", "running", name, name), 0, usage.load_of(pods))
        for name, pods in sorted(uids.items())
    ]
    return replace(usage.capacity(), running_gangs=lambda: running_gangs, cache={})


def is_running_pod(obj: Json) -> bool:
    """True for a pod that existed before the gang and is not a member."""
    return "schedulingGroup" not in obj["spec"] and "ownerReferences" not in obj["metadata"]


def _gang_of(pod: Pod) -> str:
    case, _, place = pod.meta.ref.name.rsplit("-", 2)
    return f"{case}-g{place.removeprefix('r')}"


# The case afterwards


def first_change(result: Sequence[Advice]) -> Advice:
    """Return the first advice with a manual step, else the first."""
    return next((item for item in result if harm_of(item.change) is not Harm.NOTHING), result[0])


def is_plain_wait(advice: Advice) -> bool:
    """Whether it says that room can become free, and not how little would be enough."""
    return advice.change is AdviceKind.WAIT_FOR_ROOM and not advice.free


def is_for_empty_nodes(advice: Advice) -> bool:
    """Whether so many members fit only when the pods that can leave have left."""
    return "when empty" in advice.text


def taken(case: Case, advice: Advice, *, half: bool = False) -> Case | None:
    """Return the case with the advice taken; half of it where it can be halved, else None."""
    if advice.change is AdviceKind.WAIT_FOR_ROOM:
        return _with_room(case, advice, half=half)
    if advice.change in (AdviceKind.UNCORDON, AdviceKind.SUSPEND_GANGS):
        return _without(case, advice, half=half)
    if is_for_empty_nodes(advice):
        case = emptied(case)
    if advice.change is AdviceKind.QUORUM:
        assert advice.count is not None
        reduction = case.quorum - advice.count
        if half:
            return replace(case, quorum=case.quorum - reduction // 2) if reduction > 1 else None
        return replace(case, quorum=advice.count)
    if half:
        return None
    if advice.change is AdviceKind.TOLERATE:
        pod_sets = tuple(replace(pod_set, tolerates=True) for pod_set in case.pod_sets)
        return replace(case, pod_sets=pod_sets)
    if advice.change is AdviceKind.SELECT:
        disks = {node.disk for node in case.nodes}
        return replace(
            case,
            pod_sets=tuple(
                replace(pod_set, disk=advice.values[0])
                if pod_set.disk not in ("", *disks)
                else pod_set
                for pod_set in case.pod_sets
            ),
        )
    assert advice.change is AdviceKind.DROP_TOPOLOGY, advice
    return replace(case, topology=False)


def emptied(case: Case) -> Case:
    """Return the case without what runs there: all of it can leave."""
    return replace(case, nodes=tuple(replace(node, runs=()) for node in case.nodes))


def _with_room(case: Case, advice: Advice, *, half: bool) -> Case | None:
    share = 2 if half else 1
    free = {
        name: {resource: amount // share for resource, amount in amounts.items()}
        for name, amounts in advice.free.items()
    }
    if not any(amount for amounts in free.values() for amount in amounts.values()):
        return None
    nodes = tuple(_shrunk(node, free.get(node.name, {})) for node in case.nodes)
    return replace(case, nodes=nodes)


def _shrunk(node: NodeSpec, free: Mapping[str, int]) -> NodeSpec:
    """Return a node on whose pods exactly that much less is spent; ports and sets stay taken."""
    if not any(free.values()):
        return node
    spent = [sum(of) for of in zip(*(run.amounts for run in node.runs), strict=True)]
    # Parts of a MiB stay used: half must not become more than half.
    gone = (free.get("cpu", 0), free.get("memory", 0) // MIB, free.get("nvidia.com/gpu", 0))
    remaining = [have - less for have, less in zip(spent, gone, strict=True)]
    assert all(amount >= 0 for amount in remaining), (
        f"more is to be freed than is taken: {node}, {free}"
    )
    keep = node.runs[: len(node.runs) - free.get(PODS, 0)]
    if not keep:
        return replace(node, runs=())
    marked = [replace(request, cpu=0, memory=0, gpus=0, init=0) for request in keep]
    marked[0] = replace(marked[0], cpu=remaining[0], memory=remaining[1], gpus=remaining[2])
    return replace(node, runs=tuple(marked))


def _without(case: Case, advice: Advice, *, half: bool) -> Case | None:
    named = [ref.name for ref in (advice.nodes or advice.gangs)]
    if half:
        named = named[: len(named) // 2]
    if not named:
        return None
    if advice.change is AdviceKind.UNCORDON:
        nodes = tuple(
            replace(node, cordoned=node.cordoned and node.name not in named) for node in case.nodes
        )
        return replace(case, nodes=nodes)
    removed = {int(name.rpartition("-g")[2]) for name in named}
    return replace(
        case,
        nodes=tuple(
            replace(
                node,
                runs=tuple(
                    request for index, request in enumerate(node.runs) if index not in removed
                ),
            )
            for node in case.nodes
        ),
    )


# On paper


def on_paper(cases: Sequence[Case]) -> tuple[Misfits, dict[str, Json]]:
    """Return the cases as a cluster would serve them, without one, and their groups by case."""
    nodes, pods = [], []
    groups = {case.name: _served(objects.group(case, "paper", "paper")) for case in cases}
    for case in cases:
        nodes += [_served(node) for node in objects.node_objects(case, "paper")]
        pods += [_served(pod) for pod in objects.running_pods(case, "paper", "paper")]
        pods += [_served(pod) for pod in objects.members(case, "paper", "paper")]
    for node in nodes:
        if node["spec"].get("unschedulable"):
            node["spec"]["taints"] = [*node["spec"].get("taints", ()), _CORDON]
    return Misfits(Look(nodes, pods, {})), groups


def _served(obj: Json) -> Json:
    meta = {"uid": obj["metadata"]["name"], "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {**obj, "metadata": {**obj["metadata"], **meta}}
