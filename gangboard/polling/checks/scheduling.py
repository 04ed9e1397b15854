"""Placement of the new pods of a gang, as kube-scheduler would place them now.

The arithmetic of waiting gangs decides. A gang gets nodes as a whole or not at all. Without a quorum the scheduler
places each pod by itself, so as many pods get nodes as fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gangboard.diagnosis.gang_units import units_of
from gangboard.domain.capacity import PodSet, Shape
from gangboard.domain.objects import Condition
from gangboard.domain.placement_result import (
    FitAnswer,
    PlacementCause,
    PlacementResult,
    When,
)
from gangboard.domain.pod import STOCK_SCHEDULER, Pod
from gangboard.facts.gang import Gang
from gangboard.facts.unit import Unit, is_formed
from gangboard.placement.gang_fit import check_fit
from gangboard.placement.gang_nodes import nodes_for
from gangboard.placement.members import waiting_members
from gangboard.placement.unit_placement import placing_of

MOST_ROUNDS = 40
"""Rounds in which units get nodes one after the other. A gang has at most a few groups that differ."""
_Placement = Mapping[str, Mapping[str, int]]
"""Node → shape → number of pods."""


def place_all(read: Callable[[], Gang], put: Callable[[Pod], None]) -> Gang:
    """Give nodes to the waiting pods of a gang until no more fit, and return the gang.

    `read` builds the gang from the current objects, and `put` replaces a pod.
    """
    gang = read()
    for _ in range(MOST_ROUNDS):
        placed = next((pods for unit in units_of(gang) if (pods := _placed_pods(unit))), ())
        if not placed:
            return gang
        for pod in placed:
            put(pod)
        gang = read()
    return gang


def _placed_pods(unit: Unit) -> Sequence[Pod]:
    """Return the waiting members of a unit that get a node now, each as a running pod."""
    if unit.quorum is not None and not is_formed(unit):
        return ()
    own = {pod.meta.ref.uid for pod in unit.pods}
    waiting = [pod for pod in waiting_members(unit) if pod.meta.ref.uid in own]
    placing = placing_of(unit) if waiting else None
    if placing is None or placing.assessment is None or not _is_tried(unit, waiting):
        return ()
    if placing.assessment.cause is PlacementCause.FITS:
        placement = placing.assessment.now.placement
        return _assigned(waiting, placing.request.pod_sets, placement)
    return _one_by_one(unit, placing, waiting)


def _is_tried(unit: Unit, waiting: Sequence[Pod]) -> bool:
    """Return whether kube-scheduler tries these pods: they name it, and no group of theirs is missing."""
    if any(pod.scheduler_name not in ("", STOCK_SCHEDULER) for pod in waiting):
        return False
    if unit.group is not None or not unit.group_name:
        return True
    return all(pod.ignores_group for pod in waiting)


def _one_by_one(unit: Unit, placing: PlacementResult, waiting: Sequence[Pod]) -> Sequence[Pod]:
    """Return the pods that fit alone, for pods that no quorum keeps together."""
    request = placing.request
    if request.quorum is not None or request.topology_keys or request.size < 2:
        return ()
    snapshot, most, least = nodes_for(unit), request.size - 1, 0
    best: _Placement = {}
    while least < most:
        number = (least + most + 1) // 2
        fit = check_fit(request, snapshot, When.CURRENT, number)
        if fit.answer is FitAnswer.YES:
            least, best = number, fit.placement
        else:
            most = number - 1
    return _assigned(waiting, request.pod_sets, best)


def _assigned(
    waiting: Sequence[Pod], pod_sets: Sequence[PodSet], placement: _Placement
) -> Sequence[Pod]:
    """Return the pods with the nodes of a placement."""
    shapes = {pod_set.shape.name: pod_set.shape for pod_set in pod_sets}
    left = {pod.meta.ref.uid: pod for pod in waiting}
    placed: list[Pod] = []
    for node, numbers in sorted(placement.items()):
        for name, number in sorted(numbers.items()):
            shape = shapes[name]
            only = len(shapes) == 1
            chosen = [pod for pod in left.values() if only or _has_shape(pod, shape)][:number]
            for pod in chosen:
                del left[pod.meta.ref.uid]
                placed.append(running_pod(pod, node))
    return placed


def _has_shape(pod: Pod, shape: Shape) -> bool:
    needs = pod.needs
    return (
        pod.requests == shape.requests
        and dict(needs.node_selector) == shape.node_selector
        and needs.affinity == shape.affinity
        and needs.tolerations == shape.tolerations
        and needs.host_ports == shape.host_ports
    )


def running_pod(pod: Pod, node: str) -> Pod:
    """Return a pod that runs on a node and is ready."""
    since = pod.meta.created_at
    return replace(
        pod,
        phase="Running",
        node=node,
        nominated_node="",
        scheduled=Condition("PodScheduled", "True", since=since),
        ready=Condition("Ready", "True", since=since),
        start_time=since,
    )
