"""How far a unit is: what is asked for, what is there, what is ready. Plain counting.

The scheduler counts live pods, those on their way out included, and no finished ones (its pod
informer selects by phase; k/k#142330). What runs is counted from pods, never from a condition.
"""

from __future__ import annotations

from gangboard.domain.node import Node
from gangboard.domain.owner import Outcome, Owner
from gangboard.domain.pod import Pod
from gangboard.facts.unit import GOOD_ENDINGS, Unit

_CORE = "scheduling.k8s.io"


def ready_count(unit: Unit) -> int:
    """Return the ready pods that count: of a gang group also those of other gangs in it."""
    others = sum(pod.is_ready for pod in unit.foreign_pods) if unit.quorum is not None else 0
    return len(unit.ready) + others


def live_count(unit: Unit) -> int:
    """Return how many members the scheduler counts for the group."""
    return len(unit.live) + sum(pod.is_live for pod in unit.foreign_pods)


def is_formed(unit: Unit) -> bool:
    """Whether enough pods exist for the scheduler to try: the quorum, without one all."""
    if unit.quorum is None:
        return unit.missing == 0
    return live_count(unit) >= unit.quorum


def lacks_room(unit: Unit) -> bool:
    """Whether members wait for a node that it needs: below the quorum, without one any member.

    At the quorum a gang is past placement, and what still waits is below its size. Members that
    are done keep no gang running: when no other has a node, it is back at placement. A part with
    quorum 0 is optional and needs no room.
    """
    if not unit.unplaced:
        return False
    if unit.quorum is None or (unit.quorum and not unit.placed):
        return True
    others = sum(pod.is_live and pod.is_placed for pod in unit.foreign_pods)
    return len(unit.placed) + unit.succeeded + others < unit.quorum


def runs_enough(unit: Unit) -> bool:
    """Whether a gang has its quorum ready. False without a quorum: then only all is enough."""
    if unit.quorum is None or (unit.quorum and not unit.ready):
        return False
    return ready_count(unit) + unit.succeeded >= unit.quorum


def failing_jobs(unit: Unit) -> tuple[Owner, ...]:
    """Return child Jobs that have failed, or are about to, while their owner has not ended."""
    return tuple(
        [
            job
            for job in unit.jobs
            if (job.finish is not None and job.finish.outcome is Outcome.FAILED)
            or (job.finish is None and job.ending and is_bad_ending(job.ending))
        ]
    )


def is_bad_ending(reason: str) -> bool:
    """Whether the reason of an announced end (`FailureTarget`, …) is one of a failure."""
    return bool(reason) and reason not in GOOD_ENDINGS


def sick_nodes(unit: Unit) -> tuple[Node, ...]:
    """Return nodes that are not ready and have live pods of it that are not ready, by name."""
    found = {pod.node for pod in on_sick_nodes(unit)}
    return tuple(unit.gang.cluster.nodes[name] for name in sorted(found))


def on_sick_nodes(unit: Unit) -> tuple[Pod, ...]:
    """Return live pods that are not ready, on nodes that are not ready."""
    if not unit.gang.cluster.nodes_known:
        return ()
    return tuple(
        pod
        for pod in unit.live
        if not pod.is_ready
        and pod.node in unit.gang.cluster.nodes
        and not unit.gang.cluster.nodes[pod.node].is_ready
    )


def is_paused(unit: Unit) -> bool:
    """Whether all Jobs that could run have `parallelism: 0` and no pods are left of them."""
    jobs = unit.active_jobs
    return bool(jobs) and not unit.current and all(job.parallelism == 0 for job in jobs)


def is_bare_group(unit: Unit) -> bool:
    """Whether the group has no owner that makes its pods: it stands for the gang itself."""
    return unit.group is not None and unit.group.meta.ref.uid == unit.owner.meta.ref.uid


def is_empty_plan(unit: Unit) -> bool:
    """Whether it is a Workload or CompositePodGroup without a PodGroup: it makes no pods itself."""
    ref = unit.owner.meta.ref
    is_plan = ref.group == _CORE and ref.kind in ("Workload", "CompositePodGroup")
    return is_plan and unit.group is None and not unit.pods


def asks_for_nothing(unit: Unit) -> bool:
    """Whether it is scaled to zero: no pods wanted, none there, and nothing that has ended."""
    nothing = unit.desired == 0 and not unit.current and not unit.missing_jobs
    if not nothing or is_bare_group(unit) or is_empty_plan(unit):
        return False
    return all(job.finish is None for job in unit.jobs)
