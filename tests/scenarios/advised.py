"""Scenarios of advice: the expected advice, and a check that a gang runs after it is followed to the letter.

They play on 1.37. Automatic gangs play on 1.36 only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.controlplane.nodes import cordon
from tests.scenarios.making import (
    Objects,
    all_of,
    gang,
    holders,
    loose,
    once_running,
    one_job,
    quorum,
    taint,
)
from tests.scenarios.scenario import POOL, Played, Room, Scenario, Stage, Step
from tests.scenarios.topology import RACK

Where = Mapping[str, str]
FOUR = Room(gpus=4)
RUNS = "running", "running"
DEADLINE_SECONDS = 1800
"""Far enough away that the slowest machine has read the advice before; then it is drawn near."""


def _after(first: Objects, running: int, later: Objects) -> dict[str, Any]:
    """Return the words of a scenario in which others run before the gang is made."""
    return {"objects": first, "act": once_running(running, later)}


def _others(pods: int, **options: Any) -> Objects:
    return one_job("others", pods, indexed=False, gpu=4, grace=0, **options)


def _uncordon_one(stage: Stage) -> None:
    cordon(stage.client, stage.node("1"), unschedulable=False)


def _suspend_others(stage: Stage) -> None:
    patch = {"spec": {"suspend": True}}
    stage.client.patch("batch/v1", "Job", "others", patch, stage.namespace)


def _let_time_go_by(stage: Stage) -> None:
    """Bring the deadline of the others to now; the Job controller itself ends them then."""
    patch = {"spec": {"activeDeadlineSeconds": 1}}
    stage.client.patch("batch/v1", "Job", "others", patch, stage.namespace)


def _resize(stage: Stage) -> None:
    patch = {"spec": {"parallelism": 2, "completions": 2}}
    stage.client.patch("batch/v1", "Job", "run", patch, stage.namespace)


def _anew(objects: Objects) -> Any:
    """Return an act: the Job is deleted and made again in this form."""

    def act(stage: Stage) -> None:
        stage.client.delete("batch/v1", "Job", "run", stage.namespace)
        stage.client.wait_gone("batch/v1", "Job", "run", stage.namespace)
        stage.make(objects(stage.namespace, {POOL: stage.pool}))

    return act


TOLERANT = {"tolerations": [{"key": "team", "value": "vision", "effect": "NoSchedule"}]}
ADVISED = (
    # Room for all on one node, which is cordoned; the other one is full.
    Scenario(
        "advised-uncordon", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0], gpu=4), gang(2, gpu=2)),
        says=("4", "GPU"), advises=("ncordon", "advised-uncordon-1"),
        rooms=(FOUR, Room(gpus=4, unschedulable=True)), twin="advised-toleration",
        steps=(Step(_uncordon_one, *RUNS, (), {"ready": 2}),),
    ),
    Scenario(
        "advised-toleration", "Job", "run", "untolerated-taint", "blocked", gang(2, gpu=4),
        says=("2", "team=vision"), advises=("Tolerate", "team=vision", "(needs re-creating)"),
        rooms=(Room(gpus=4, taints=[taint("team", "vision")]),) * 2, twin="advised-uncordon",
        steps=(Step(_anew(gang(2, gpu=4, **TOLERANT)), *RUNS, (), {"ready": 2}),),
    ),
    # 8 wanted, 4 free: another user's Job has the rest.
    Scenario(
        "advised-suspend", "Job", "run", "insufficient-resources", "waiting",
        **_after(_others(1), 1, gang(2, gpu=4)),
        says=("8", "4", "GPU"), advises=("uspend", "others"), rooms=(FOUR,) * 2,
        twin="advised-size", steps=(Step(_suspend_others, *RUNS, (), {"ready": 2}),),
    ),
    # The same with a deadline for that Job, so no manual step is needed.
    Scenario(
        "advised-to-wait", "Job", "run", "insufficient-resources", "waiting",
        **_after(
            _others(1, job_spec={"activeDeadlineSeconds": DEADLINE_SECONDS}), 1, gang(2, gpu=4)
        ),
        says=("8", "4", "GPU"), advises=("others", "UTC"), rooms=(FOUR,) * 2,
        twin="advised-size", steps=(Step(_let_time_go_by, *RUNS, (), {"ready": 2}),),
    ),
    # 12 wanted, and there are 8 in all.
    Scenario(
        "advised-size", "Job", "run", "exceeds-capacity", "blocked", gang(3, gpu=4),
        says=("12", "8", "GPU"), advises=("parallelism and completions", "from 3 to 2"),
        rooms=(FOUR,) * 2, twin="advised-suspend",
        steps=(Step(_resize, *RUNS, (), {"desired": 2, "ready": 2}),),
    ),
    Scenario(
        "advised-quorum", "PodGroup", "run", "exceeds-capacity", "blocked", quorum(3, 3, gpu=4),
        says=("12", "8", "GPU"), advises=("quorum of PodGroup run", "from 3 to 2"),
        rooms=(FOUR,) * 2, twin="advised-suspend",
    ),
    # 8 in a rack, twice; 12 wanted in one.
    Scenario(
        "advised-topology", "Job", "run", "topology-does-not-fit", "blocked",
        gang(3, gpu=4, topology=RACK),
        says=("3", RACK), advises=("Drop", RACK, "(needs re-creating)"),
        rooms=tuple(Room(gpus=4, labels={RACK: rack}) for rack in "aabb"), twin="advised-size",
        steps=(Step(_anew(gang(3, gpu=4)), *RUNS, (), {"ready": 3}),),
    ),
    # A pod without a Job: its owner may free its capacity, and it has a name.
    Scenario(
        "advised-free", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0], gpu=4), gang(2, gpu=4)),
        says=("8", "4", "GPU"), advises=("4", "GPU", "advised-free-0"), rooms=(FOUR,) * 2,
        twin="advised-size",
        steps=(Step(lambda stage: stage.delete("holder-0"), *RUNS, (), {"ready": 2}),),
    ),
)  # fmt: skip

ADVISED_136 = (
    # An unrequested gang: 1.36 creates one for every such Job.
    Scenario(
        "advised-opt-out", "Job", "run", "exceeds-capacity", "blocked", one_job("run", 3, gpu=4),
        says=("12", "8", "GPU"), advises=("NonIndexed", "2 pods fit"), rooms=(FOUR,) * 2,
        twin="advised-free",
        steps=(Step(_anew(loose(3, gpu=4)), "partly-placed", "degraded", ("2 of 3",)),),
    ),
    Scenario(
        "advised-free", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0], gpu=4), one_job("run", 2, gpu=4)),
        says=("8", "4", "GPU"), advises=("4", "GPU", "advised-free-0"), rooms=(FOUR,) * 2,
        twin="advised-opt-out",
        steps=(Step(lambda stage: stage.delete("holder-0"), *RUNS, (), {"ready": 2}),),
    ),
)  # fmt: skip

PLAYED: Played = {"k137": ADVISED, "k136": ADVISED_136}
