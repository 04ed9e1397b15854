"""Advice for a gang of which some members have a node: these stay, whatever is advised."""

from __future__ import annotations

from dataclasses import replace

from gangboard.domain.advice import Change
from gangboard.domain.capacity import ClusterRoom, Load, NodeRoom, Taint
from gangboard.domain.facts import Unit
from gangboard.placement.advice import advise
from gangboard.placement.placing import placing
from tests.diagnosis.building import a_job, a_jobset, a_part, a_pod, child_jobs, requests
from tests.placement.making import GPU, node
from tests.placement.test_advice import kinds, only
from tests.rules.asking import unit_of

GPUS = requests(gpu="4")
INFRA = Taint("dedicated", "NoSchedule", "infra")


def holding(name: str, gpus: int) -> NodeRoom:
    """A node of 8 GPUs, of which so many are taken by pods of four."""
    return replace(node(name, gpu=8), now=Load({GPU: gpus}, gpus // 4))


def work_list(*nodes: NodeRoom) -> Unit:
    """Two tasks at a time, of which one runs on node a."""
    job = a_job("train", parallelism=2, completions=10, pods=2, requests=GPUS)
    runs = a_pod("train-0", of=job, on="a", requests=GPUS)
    waits = a_pod("train-1", of=job, requests=GPUS)
    facts = {"room": ClusterRoom(nodes), "kubernetes": (1, 37)}
    unit = unit_of(job, runs, waits, facts=facts)
    return replace(unit, placing=placing(unit))


def test_nobody_is_told_to_take_away_a_pod_of_the_gang() -> None:
    full_with_own = replace(node("a", gpu=4), now=Load({GPU: 4}, 1))
    assert kinds(advise(work_list(full_with_own))) == [Change.SIZE]


def test_room_is_freed_beside_it() -> None:
    unit = work_list(holding("a", 8))
    assert only(advise(unit), Change.FREE_ROOM).free == {"a": {GPU: 4}}


def test_room_is_freed_elsewhere() -> None:
    """Node a has room for one only, and that is taken by the pod that runs."""
    own = replace(node("a", gpu=4), now=Load({GPU: 4}, 1))
    unit = work_list(own, holding("b", 8))
    assert only(advise(unit), Change.FREE_ROOM).free == {"b": {GPU: 4}}


def jobset(*, others_wait: bool) -> Unit:
    """Two Jobs of one pod; one node is full, one has a taint and room for one pod."""
    owner = a_jobset("run", a_part("w", jobs=2, pods=1))
    first, second = child_jobs(owner, requests=GPUS)
    nodes = (
        replace(node("a", gpu=4), now=Load({GPU: 4}, 1)),
        replace(node("b", gpu=4), taints=(INFRA,)),
    )
    facts = {"room": ClusterRoom(nodes), "kubernetes": (1, 37)}
    unit = unit_of(
        owner,
        first,
        second,
        a_pod("run-w-0-0", of=first, requests=GPUS),
        a_pod("run-w-1-0", of=second, on="" if others_wait else "a", requests=GPUS),
        facts=facts,
        name="run-w-0",
        jobs=(first,),
        pods=(a_pod("run-w-0-0", of=first, requests=GPUS),),
    )
    return replace(unit, placing=placing(unit))


def test_a_jobset_that_is_made_anew_as_a_whole_tolerates_for_all_that_wait() -> None:
    """For the pod of one Job there is room then; the other would wait as before."""
    assert only(advise(jobset(others_wait=False)), Change.TOLERATE).taint == INFRA
    assert Change.TOLERATE not in kinds(advise(jobset(others_wait=True)))
