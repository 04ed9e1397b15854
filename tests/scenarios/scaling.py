"""Scenarios of nodes that an autoscaler brings, where only its events tell of them."""

from __future__ import annotations

from tests.controlplane.client import Json
from tests.scenarios.making import gang
from tests.scenarios.scenario import POOL, Played, Room, Scenario, Stage, Step, patiently


def waiting_pods(stage: Stage) -> list[Json]:
    """Return the pods that the scheduler has refused."""

    def look() -> list[Json] | None:
        result = [
            pod
            for pod in stage.pods()
            for condition in pod.get("status", {}).get("conditions") or ()
            if condition["type"] == "PodScheduled" and condition["status"] == "False"
        ]
        return result or None

    return patiently(look, f"a refused pod in {stage.namespace}")


def scale_up(stage: Stage) -> None:
    """Say what cluster-autoscaler says (core/scaleup/orchestrator: TriggeredScaleUp)."""
    text = "pod triggered scale-up: [{gpu-pool 2->4 (max: 8)}]"
    for pod in waiting_pods(stage):
        stage.tell(pod, "TriggeredScaleUp", text, "cluster-autoscaler")


def nominate_claim(stage: Stage) -> None:
    """Say what Karpenter says (provisioning/scheduling/events: Nominated)."""
    for pod in waiting_pods(stage):
        stage.tell(pod, "Nominated", "Pod should schedule on: nodeclaim/large-7x2kq", "karpenter")


def no_scale_up(stage: Stage) -> None:
    """Say what cluster-autoscaler says when no node group of it would do."""
    text = "pod didn't trigger scale-up: 1 max node group size reached"
    for pod in waiting_pods(stage):
        stage.tell(pod, "NotTriggerScaleUp", text, "cluster-autoscaler")


SCALING = (
    Scenario(
        "scaled-up", "Job", "run", "waiting-for-nodes", "waiting", gang(4, cpu="6"),
        says=("cluster-autoscaler",), members={"scheduled": 0}, nodes=2, act=scale_up,
        twin="not-scaled-up",
    ),
    Scenario(
        "claim-nominated", "Job", "run", "waiting-for-nodes", "waiting", gang(2, cpu="12"),
        says=("Karpenter",), members={"scheduled": 0}, nodes=2, act=nominate_claim,
        twin="not-scaled-up",
    ),
    Scenario(
        "not-scaled-up", "Job", "run", "exceeds-capacity", "blocked", gang(4, cpu="6"),
        says=("CPU",), members={"scheduled": 0}, nodes=2, act=no_scale_up, twin="scaled-up",
    ),
)  # fmt: skip

STEP_BY_STEP = (
    # All or nothing: 18 CPU of 16. A refusal of the autoscaler changes no verdict, an approval does.
    Scenario(
        "scale-up-comes", "Job", "run", "exceeds-capacity", "blocked", gang(3, cpu="6"),
        says=("18", "16", "CPU", "2 of 3"), members={"quorum": 3, "scheduled": 0}, nodes=2,
        twin="claim-comes",
        steps=(
            Step(no_scale_up, "exceeds-capacity", "blocked", ("2 of 3",)),
            Step(scale_up, "waiting-for-nodes", "waiting", ("cluster-autoscaler",)),
            Step(lambda stage: stage.add_nodes(Room()), "running", "running", (), {"ready": 3}),
        ),
    ),
    Scenario(
        "claim-comes", "Job", "run", "no-matching-node", "blocked", gang(2, cpu="12"),
        says=("12", "8", "CPU"), nodes=2, twin="scale-up-comes",
        steps=(
            Step(nominate_claim, "waiting-for-nodes", "waiting", ("arpenter",)),
            Step(
                lambda stage: stage.add_nodes(Room(cpu="16"), Room(cpu="16")),
                "running", "running", (), {"ready": 2},
            ),
        ),
    ),
    # A pool scaled down to zero: no node has its label. Karpenter then promises one.
    Scenario(
        "from-zero", "Job", "run", "no-matching-node", "blocked", gang(2), says=(POOL,),
        steps=(
            Step(nominate_claim, "waiting-for-nodes", "waiting"),
            Step(lambda stage: stage.add_nodes(Room()), "running", "running"),
        ),
        twin="scale-up-comes",
    ),
)  # fmt: skip

PLAYED: Played = {"k137": STEP_BY_STEP, "k136": SCALING}
