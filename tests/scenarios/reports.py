"""Scenarios of public reports, rebuilt: wrong messages users got, each with a near miss.

Objects of unavailable controllers are played as those controllers leave them.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.controlplane.client import Json, wait
from tests.controlplane.objects import job
from tests.scenarios.making import gang
from tests.scenarios.scenario import Played, Room, Scenario, Stage, Step

Where = Mapping[str, str]
GPUS = "nvidia.com/gpu"


def _restore(stage: Stage) -> None:
    """The device plugin registers its devices again."""
    stage.client.patch_status("v1", "Node", stage.node("1"), {"allocatable": {GPUS: "8"}})


# A node with a capacity of eight devices whose kubelet offers none of them, or seven.
DEVICES = (
    Scenario(
        "devices-withheld", "Job", "run", "exceeds-capacity", "blocked", gang(2, gpu=8),
        says=("16", "8", "devices-withheld-1", "0 of 8"),
        advises=("8 GPUs of node devices-withheld-1", "device plugin"),
        rooms=(Room(gpus=8), Room(gpus=8, withheld={GPUS: "0"})), twin="devices-withheld-in-part",
        steps=(Step(_restore, "running", "running", (), {"ready": 2}),),
    ),
    Scenario(
        "devices-withheld-in-part", "Job", "run", "no-matching-node", "blocked", gang(2, gpu=8),
        says=("7 of 8", "devices-withheld-in-part-0"),
        advises=("devices-withheld-in-part-0", "devices-withheld-in-part-1", "device plugin"),
        rooms=(Room(gpus=8, withheld={GPUS: "7"}),) * 2, twin="devices-withheld",
    ),
)  # fmt: skip


def _sweep(ns: str, nodes: Where) -> list[Json]:
    """A gang of all its pods that states no quorum."""
    return [job("sweep", ns, parallelism=4, gang="all", node_selector=nodes)]


def _sweep_of_three(ns: str, nodes: Where) -> list[Json]:
    """The same Job, which states that three of its pods are enough."""
    return [job("sweep", ns, parallelism=4, gang=3, node_selector=nodes)]


def _suspend_and_resume(stage: Stage) -> None:
    """One index is done, the Job is suspended, and resumed."""
    first = stage.wait_running(4)[0]
    stage.wait_seen()
    stage.script(first, complete_after="1s")

    def done() -> bool:
        result = stage.client.get("batch/v1", "Job", "sweep", stage.namespace)
        return bool(result["status"].get("succeeded", 0) == 1)

    wait(done, timeout=300, what="one index to be done")
    suspend(stage, True)

    def is_gone() -> bool:
        return not [pod for pod in stage.pods() if pod["status"]["phase"] != "Succeeded"]

    wait(is_gone, timeout=300, what="its pods to be gone")
    suspend(stage, False)


def suspend(stage: Stage, value: bool) -> None:
    """Suspend or resume Job sweep."""
    patch = {"spec": {"suspend": value}}
    stage.client.patch("batch/v1", "Job", "sweep", patch, stage.namespace)


def _three_are_enough(stage: Stage) -> None:
    patch = {"spec": {"scheduling": {"schedulingPolicy": {"gang": {"minCount": 3}}}}}
    stage.client.patch("batch/v1", "Job", "sweep", patch, stage.namespace)


# The quorum of such a Job follows its parallelism: to ask for more pods asks for a larger quorum.
QUORUM = (
    Scenario(
        "resumed-after-one-is-done", "Job", "sweep", "quorum-lost", "blocked", _sweep,
        says=("4", "3", "1 has succeeded"), members={"desired": 4, "quorum": 4, "succeeded": 1},
        advises=("minCount of Job sweep to 3", "(no restart)"), nodes=1, act=_suspend_and_resume,
        twin="resumed-with-its-quorum",
        steps=(Step(_three_are_enough, "running", "running", (), {"ready": 3}),),
    ),
    Scenario(
        "resumed-with-its-quorum", "Job", "sweep", "running", "running", _sweep_of_three,
        members={"desired": 4, "quorum": 3, "ready": 3, "succeeded": 1}, nodes=1,
        act=_suspend_and_resume, twin="resumed-after-one-is-done",
    ),
)  # fmt: skip

PLAYED: Played = {"k137": (*DEVICES, *QUORUM)}
