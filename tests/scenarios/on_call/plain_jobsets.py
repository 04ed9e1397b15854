"""Scenarios of JobSets whose pods are placed one by one, written from the objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.nodes import silence_node, wake_node
from tests.controlplane.objects import JOBSET, JobOptions, jobset
from tests.scenarios.making import Objects, all_of, holders
from tests.scenarios.scenario import POOL, WHEN_TOLD, Room, Scenario, Stage, Step

IN_ORDER = {"startupPolicy": {"startupPolicyOrder": "InOrder"}}
ROLE = "jobset.sigs.k8s.io/replicatedjob-name"
TIER = "example.com/tier"


def _set(jobs: Mapping[str, JobOptions], name: str = "run", **options: Any) -> Objects:
    """Return a JobSet whose pods all stay on the nodes of the scenario."""

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        placed: dict[str, JobOptions] = {
            key: {**entry, "node_selector": {**where, **entry.get("node_selector", {})}}
            for key, entry in jobs.items()
        }
        return [jobset(name, ns, jobs=placed, **options)]

    return make


def _exclusive(key: str, replicas: int, pods: int, cpu: str = "2", name: str = "run") -> Objects:
    """Return a JobSet whose Jobs want a domain of this node label each, for themselves alone.

    The webhooks of JobSet write that: the first pod of a Job gets anti-affinity to all other Jobs
    of JobSets (of any namespace, so each scenario has a label of its own), and the rest of its pods
    are refused until the first has a node, and then get the domain of that node as selector.
    """
    jobs: dict[str, JobOptions] = {"slice": {"replicas": replicas, "pods": pods, "cpu": cpu}}
    return _set(jobs, name, annotations={"alpha.jobset.sigs.k8s.io/exclusive-topology": key})


def _racks(key: str, nodes: int) -> tuple[Room, ...]:
    """Return two racks of so many nodes."""
    left, right = Room(labels={key: "left"}), Room(labels={key: "right"})
    return (left,) * nodes + (right,) * nodes


FULL, TAKEN, FEW = (f"example.com/{word}-rack" for word in ("full", "taken", "few"))


def _with_loader(state: str, **options: Any) -> Objects:
    """Return a JobSet of a loader that does not come up and two learners that would."""
    loader = {
        "never_ready": state,
        "init": state == "init-crash-loop",
        "restart_policy": "OnFailure",
        "backoff_limit": 50,
    }
    return _set({"loader": loader, "learners": {"pods": 2}}, **options)  # type: ignore[dict-item] # words of JobOptions


def _actors_and_learners(**actors: Any) -> Objects:
    """Return 2 actors of 1 CPU, 2 learners of 4 GPUs, and somebody's pod with 5 GPUs on node 1."""
    actor: JobOptions = {"pods": 2, **actors}  # type: ignore[typeddict-item] # words of JobOptions
    jobs: dict[str, JobOptions] = {"actors": actor, "learners": {"pods": 2, "gpu": 4}}
    return all_of(holders([1], gpu=5), _set(jobs))


# What happens


def _when_others_run(stage: Stage) -> None:
    stage.wait_running(2)
    stage.make(_exclusive(TAKEN, 2, 2)(stage.namespace, {POOL: stage.pool}))


def _delete_others(stage: Stage) -> None:
    stage.client.delete(JOBSET, "JobSet", "other", stage.namespace)


def _complete_prepare(stage: Stage) -> None:
    (found,) = stage.pods(**{ROLE: "prepare"})
    stage.script(found, complete_after="1s")


def _fail_one(stage: Stage) -> None:
    stage.script(stage.wait_running(2)[0], fail_after="1s")


def _start(stage: Stage) -> None:
    stage.start(2)


PLAIN_JOBSETS: tuple[Scenario, ...] = (
    # The GPUs are on node 1: 8 - 5 = 3 free, a learner needs 4, so no learner has a place. The actors
    # need none and run. Without the holder both learners fit (2 x 4 = 8).
    Scenario("call-plain-set-half", "JobSet", "run", "partly-placed", "degraded",
        _actors_and_learners(), rooms=(Room(), Room(gpus=8)), says=("2 of 4", "GPU"),
        members={"desired": 4, "created": 4, "scheduled": 2, "ready": 2},
        twin="call-plain-set-pull"),
    # The same, and the image of the actors is not there. Room would bring no more than learners that
    # wait for actors; nobody runs, and the image needs a person: that first.
    Scenario("call-plain-set-pull", "JobSet", "run", "image-pull", "blocked",
        _actors_and_learners(never_ready="image-pull", image="registry.example/actors:nightly"),
        rooms=(Room(), Room(gpus=8)), says=("registry.example/actors:nightly",),
        members={"desired": 4, "created": 4, "scheduled": 2, "ready": 0},
        twin="call-plain-set-half"),
    # One Job of three pods of 6 CPU, one a node of 8, and a rack has two nodes. The first pod takes a
    # rack, the second its other node; the third may not go to the other rack, where two nodes are idle.
    Scenario("call-plain-rack-full", "JobSet", "run", "partly-placed", "degraded",
        _exclusive(FULL, 1, 3, cpu="6"), rooms=_racks(FULL, 2), says=("2 of 3", FULL),
        members={"desired": 3, "created": 3, "scheduled": 2, "ready": 2},
        twin="call-plain-racks-taken"),
    # Two racks, and each has a Job of another JobSet that wants it alone. So no first pod has a rack;
    # that the second pods are refused until then is only the symptom. When the other JobSet is gone,
    # two racks are enough for two Jobs.
    Scenario("call-plain-racks-taken", "JobSet", "run", "pod-anti-affinity", "waiting",
        _exclusive(TAKEN, 2, 1, name="other"), rooms=_racks(TAKEN, 1), act=_when_others_run,
        says=(TAKEN,), members={"desired": 4, "created": 2, "scheduled": 0},
        steps=(Step(_delete_others, "running", "running", members={"ready": 4}),),
        twin="call-plain-racks-few"),
    # Three Jobs want a rack each, and there are two. Two Jobs of two pods stand; the first pod of the
    # third has no rack, and its second pod is refused for that (five pods exist).
    Scenario("call-plain-racks-few", "JobSet", "run", "partly-placed", "degraded",
        _exclusive(FEW, 3, 2), rooms=_racks(FEW, 1), says=("4 of 6", FEW),
        members={"desired": 6, "created": 5, "scheduled": 4, "ready": 4},
        twin="call-plain-racks-taken"),
    # In order: the workers come when the driver is ready. The driver wants a label that no node has,
    # so the workers are not even made. The driver is the cause.
    Scenario("call-plain-driver-lost", "JobSet", "run", "no-matching-node", "blocked",
        _set({"driver": {"node_selector": {TIER: "head"}}, "workers": {"pods": 2}},
             jobset_spec=IN_ORDER),
        nodes=2, says=("driver", TIER), members={"desired": 3, "created": 1, "scheduled": 0},
        twin="call-plain-prepare"),
    # Nothing is wrong: the workers come when prepare has completed, and it works on it.
    Scenario("call-plain-prepare", "JobSet", "run", "dependency-waiting", "waiting",
        _set({"prepare": {}, "workers": {"pods": 2, "depends_on": {"prepare": "Complete"}}}),
        nodes=2, says=("prepare",), members={"desired": 3, "created": 1, "ready": 1},
        steps=(Step(_complete_prepare, "running", "running",
            members={"desired": 3, "succeeded": 1, "ready": 2}),),
        twin="call-plain-driver-lost"),
    # In order: the loader crashes again and again, so it is never ready and there are no learners.
    # Nothing of the gang runs.
    Scenario("call-plain-loader-crash", "JobSet", "run", "crash-loop", "blocked",
        _with_loader("crash-loop", jobset_spec=IN_ORDER), nodes=1, says=("loader",),
        members={"desired": 3, "created": 1, "scheduled": 1, "ready": 0},
        twin="call-plain-loader-config"),
    # Not in order: the learners run without the loader, which lacks the secret `token`.
    Scenario("call-plain-loader-config", "JobSet", "run", "container-config", "degraded",
        _with_loader("container-config"), nodes=1, says=("token",),
        members={"desired": 3, "scheduled": 3, "ready": 2}, twin="call-plain-loader-init"),
    # The learners run; the container `setup` that comes before the loader's own fails.
    Scenario("call-plain-loader-init", "JobSet", "run", "init-failing", "degraded",
        _with_loader("init-crash-loop"), nodes=1, says=("setup",),
        members={"desired": 3, "scheduled": 3, "ready": 2}, twin="call-plain-loader-crash"),
    # One pod fails, its Job with it, and the JobSet makes all Jobs anew: restart 1 of 3. The new pods
    # take their time to come up, then it is over.
    Scenario("call-plain-second-try", "JobSet", "run", "running", "running",
        _set({"workers": {"pods": 2, "start_after": WHEN_TOLD}}, max_restarts=3), nodes=1,
        act=_start, members={"desired": 2, "ready": 2},
        steps=(
            Step(_fail_one, "restarting", "degraded", ("1 of 3",), {"desired": 2}),
            Step(_start, "running", "running", members={"ready": 2}),
        ), twin="call-plain-no-second-try"),
    # The same with nobody who allowed a restart.
    Scenario("call-plain-no-second-try", "JobSet", "run", "failed", "failed",
        _set({"workers": {"pods": 2}}), nodes=1, act=_fail_one,
        says=("workers",), twin="call-plain-second-try"),
    # A cell needs 6 CPU. Holders have 4 of each 8: none fits. One holder goes: one cell. The other
    # goes: whole. Then a cell is lost and its node cordoned; the other node has 2 free.
    Scenario("call-plain-set-loses", "JobSet", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1], cpu="4"),
               _set({"cells": {"replicas": 2, "cpu": "6", "backoff_limit": 6}})),
        nodes=2, says=("CPU",), members={"desired": 2, "scheduled": 0},
        steps=(
            Step(lambda stage: stage.delete("holder-0"), "partly-placed", "degraded",
                ("1 of 2", "CPU"), {"scheduled": 1, "ready": 1}),
            Step(lambda stage: stage.delete("holder-1"), "running", "running",
                members={"ready": 2}),
            Step(Stage.lose_one, "lost-members", "degraded", ("1 of 2",), {"ready": 1}),
            Step(Stage.uncordon, "running", "running", members={"ready": 2}),
        ), twin="call-plain-set-half"),
    # One member a node (6 of 8). The kubelet of node 1 dies: its pod stays for five more minutes, not
    # ready. Then the kubelet is back.
    Scenario("call-plain-set-quiet", "JobSet", "run", "running", "running",
        _set({"cells": {"replicas": 2, "cpu": "6"}}), nodes=2, members={"desired": 2, "ready": 2},
        steps=(
            Step(lambda stage: silence_node(stage.client, stage.node("1")), "node-lost",
                "degraded", ("call-plain-set-quiet-1", "1 of 2"), {"ready": 1}),
            Step(lambda stage: wake_node(stage.client, stage.node("1")), "running", "running",
                members={"ready": 2}),
        ), twin="call-plain-set-loses"),
)  # fmt: skip
