"""Scenarios of gangs that do not form, fight over room or lose members, written from the objects."""

from __future__ import annotations

from tests.controlplane.nodes import cordon, wake_node
from tests.controlplane.objects import podgroup, quota
from tests.scenarios.making import gang, loose, one_job, quorum
from tests.scenarios.on_call import gang_acts as acts
from tests.scenarios.scenario import POOL, Room, Scenario, Step

GANGS = (
    # The quorum is 4, three pods exist: that comes first, although there is no room either. With the
    # quorum lowered to 3 the next cause shows: 3 x 6 = 18 CPU, nodes of 8 + 8 take one member each.
    Scenario(
        "call-short-of-mates", "PodGroup", "run", "below-quorum", "blocked", quorum(3, 4, cpu="6"),
        nodes=2, says=("3 of 4",), members={"quorum": 4, "created": 3, "scheduled": 0},
        steps=(Step(acts.lower_quorum("run", 3), "exceeds-capacity", "blocked", ("2 of 3", "CPU")),),
        twin="call-gated-and-too-big",
    ),
    # One of three members is done, one is lost: one runs and one waits, 2 live pods for a quorum of 3,
    # and done ones do not count. With the quorum at 2 the replacement goes.
    Scenario(
        "call-finished-mate", "Job", "run", "quorum-lost", "blocked", acts.in_ring(3, 3),
        nodes=1, act=acts.finish_one_lose_one, says=("1", "3"), members={"quorum": 3, "succeeded": 1},
        steps=(Step(acts.lower_quorum("ring", 2), "running", "running"),), twin="call-seat-taken",
    ),
    # The workers are made when the driver is ready; the driver is placed when 3 pods exist: 1 + 2 workers.
    Scenario(
        "call-driver-waits", "JobSet", "run", "quorum-deadlock", "blocked", acts.staged("ring", 3),
        nodes=1, says=("driver", "workers"),
        steps=(Step(acts.lower_quorum("ring", 1), "running", "running"),), twin="call-wrong-group-name",
    ),
    # The PodGroup is called `rings`, the pods say `ring`. A `ring` with quorum 1 lets the driver go first.
    Scenario(
        "call-wrong-group-name", "JobSet", "run", "podgroup-missing", "blocked", acts.staged("rings", 3),
        nodes=1, says=("ring",),
        steps=(Step(
            lambda stage: stage.make([podgroup("ring", stage.namespace, gang=1)]), "running", "running",
        ),),
        twin="call-driver-waits",
    ),
    # There is room for both, but the two pods wait for two different schedulers.
    Scenario(
        "call-two-schedulers", "PodGroup", "run", "mixed-schedulers", "blocked",
        acts.bare(2, {}, {"scheduler": "batch-scheduler"}), nodes=1,
        says=("default-scheduler", "batch-scheduler"), members={"scheduled": 0},
        twin="call-nobodys-scheduler",
    ),
    # Both pods ask for a scheduler that does not run here.
    Scenario(
        "call-nobodys-scheduler", "PodGroup", "run", "not-attempted", "blocked",
        acts.bare(2, *[{"scheduler": "batch-scheduler"}] * 2), nodes=1, says=("batch-scheduler",),
        members={"created": 2, "scheduled": 0}, twin="call-two-schedulers",
    ),
    # The group and two pods have priority 0, the last pod has 70.
    Scenario(
        "call-one-urgent-pod", "PodGroup", "run", "priority-mismatch", "blocked",
        acts.odd_one(70), nodes=1, says=("70",), members={"scheduled": 0},
        twin="call-one-polite-pod",
    ),
    # All have priority 0, but the class of the last pod never preempts: the scheduler refuses a group of
    # different preemption policies, with an error.
    Scenario(
        "call-one-polite-pod", "PodGroup", "run", "scheduler-error", "blocked",
        acts.odd_one(0, preemptionPolicy="Never"), nodes=1, says=("Never",),
        members={"scheduled": 0}, twin="call-one-urgent-pod",
    ),
    # One gated pod holds all three. Without the gate they would not fit: 3 x 6 = 18 CPU on 8 + 8.
    Scenario(
        "call-gated-and-too-big", "PodGroup", "run", "scheduling-gated", "waiting",
        acts.bare(3, {}, {}, {"gates": ["example.com/licence"]}, cpu="6"), nodes=2,
        says=("example.com/licence",), members={"created": 3, "scheduled": 0},
        steps=(Step(acts.open_gate, "exceeds-capacity", "blocked", ("2 of 3", "CPU")),),
        twin="call-short-of-mates",
    ),
    # 4 x 3 CPU, quorum 2: the node of 8 takes two, that of 3 takes one, 3 of 4 run.
    Scenario(
        "call-one-seat-short", "Job", "run", "below-size", "degraded",
        one_job("run", 4, gang=2, cpu="3"), rooms=(Room(cpu="8"), Room(cpu="3")), says=("3 of 4",),
        members={"desired": 4, "quorum": 2, "scheduled": 3},
        steps=(Step(lambda stage: stage.add_nodes(Room(cpu="3")), "running", "running"),),
        twin="call-scale-up",
    ),
    # The same, all or nothing: 12 CPU of 11. The autoscaler's No changes nothing, its Yes does.
    Scenario(
        "call-scale-up", "Job", "run", "exceeds-capacity", "blocked", gang(4, cpu="3"),
        rooms=(Room(cpu="8"), Room(cpu="3")), says=("3 of 4", "CPU"), members={"quorum": 4, "scheduled": 0},
        steps=(
            Step(
                acts.tell_all(
                    "NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached",
                    "cluster-autoscaler",
                ),
                "exceeds-capacity", "blocked", ("3 of 4",),
            ),
            Step(
                acts.tell_all(
                    "TriggeredScaleUp", "pod triggered scale-up: [{batch-pool 1->2 (max: 4)}]",
                    "cluster-autoscaler",
                ),
                "waiting-for-nodes", "waiting", ("cluster-autoscaler",),
            ),
            Step(lambda stage: stage.add_nodes(Room(cpu="3")), "running", "running"),
        ),
        twin="call-one-seat-short",
    ),
    # A pool scaled down to nothing: no node has its label. Karpenter then promises one.
    Scenario(
        "call-from-zero", "Job", "run", "no-matching-node", "blocked", gang(2), says=(POOL,),
        steps=(
            Step(
                acts.tell_all("Nominated", "Pod should schedule on: nodeclaim/batch-xkqvp", "karpenter"),
                "waiting-for-nodes", "waiting",
            ),
            Step(lambda stage: stage.add_nodes(Room()), "running", "running"),
        ),
        twin="call-scale-up",
    ),
    # 5 CPU each on three nodes of 8. A stranger of 6 takes the place of a lost member: 2, 3 and 3 are free.
    Scenario(
        "call-seat-taken", "Job", "run", "lost-members", "degraded", gang(3, cpu="5"), nodes=3,
        act=acts.take_seat, says=("2 of 3", "CPU"), members={"desired": 3, "quorum": 3, "ready": 2},
        steps=(Step(lambda stage: stage.delete("stranger"), "running", "running"),),
        twin="call-one-seat-short",
    ),
    # 4 CPU each: node 0 (8) has two members, node 1 (4) has one. Without node 0 one is ready, quorum 2.
    Scenario(
        "call-node-silent", "PodGroup", "run", "node-lost", "degraded", quorum(3, 2, cpu="4"),
        rooms=(Room(cpu="8"), Room(cpu="4")), act=acts.silence("0"), says=("call-node-silent-0",),
        members={"desired": 3, "quorum": 2, "ready": 1},
        steps=(Step(lambda stage: wake_node(stage.client, stage.node("0")), "running", "running"),),
        twin="call-small-node-silent",
    ),
    # The same without node 1: two are ready, and two are enough.
    Scenario(
        "call-small-node-silent", "PodGroup", "run", "below-size", "degraded", quorum(3, 2, cpu="4"),
        rooms=(Room(cpu="8"), Room(cpu="4")), act=acts.silence("1"), says=("2 of 3",),
        members={"desired": 3, "quorum": 2, "ready": 2}, twin="call-node-silent",
    ),
    # Two pods of 6 CPU on two nodes of 8 must go for 2 x 5 of a higher priority, and take 90 s for it.
    Scenario(
        "call-slow-victims", "Job", "run", "preempting", "waiting",
        one_job("small", 2, indexed=False, cpu="6", linger="90s"), nodes=2, act=acts.come_urgently,
        says=("small",), members={"desired": 2, "quorum": 2, "scheduled": 0},
        steps=(Step(lambda stage: None, "running", "running"),), twin="call-pushed-out",
    ),
    # `urgent` takes a place on both nodes, 3 CPU are left on each. With node 1 cordoned even an empty
    # node 0 (8) has room for one of 2 x 5 only: now waiting for `urgent` to end does not help.
    Scenario(
        "call-pushed-out", "Job", "run", "preempted", "waiting", gang(2, cpu="5"), nodes=2,
        act=acts.be_pushed_out, says=("urgent",), members={"desired": 2, "quorum": 2, "scheduled": 0},
        steps=(Step(
            lambda stage: cordon(stage.client, stage.node("1")),
            "exceeds-capacity", "blocked", ("1 of 2", "CPU"),
        ),),
        twin="call-pushed-out-for-good",
    ),
    # The same with bare pods: nobody makes them anew, the group has 0 of 2.
    Scenario(
        "call-pushed-out-for-good", "PodGroup", "run", "below-quorum", "blocked", quorum(2, 2, cpu="5"),
        nodes=2, act=acts.be_pushed_out, says=("0 of 2",), members={"quorum": 2, "created": 0},
        twin="call-pushed-out",
    ),
    # Two Jobs of 4 x 4 CPU on two nodes of 8: each has two places and needs the two of the other.
    Scenario(
        "call-half-and-half", "Job", "run", "mutual-deadlock", "blocked", loose(4, cpu="4"),
        rooms=(Room(), Room(taints=[acts.BURN_IN])), act=acts.beside(4), says=("other", "2 of 4"),
        members={"desired": 4, "quorum": None, "scheduled": 2}, twin="call-half-alone",
    ),
    # The same, but `other` wants two and has them: it is whole, and one day it ends.
    Scenario(
        "call-half-alone", "Job", "run", "partly-placed", "degraded", loose(4, cpu="4"),
        rooms=(Room(), Room(taints=[acts.BURN_IN])), act=acts.beside(2), says=("2 of 4",),
        members={"desired": 4, "quorum": None, "scheduled": 2}, twin="call-half-and-half",
    ),
    # Each JobSet needs 6 of the 8 CPU of node 0 and all 4 GPUs of node 1: one has these, one has those.
    Scenario(
        "call-crossed-seats", "JobSet", "run", "mutual-deadlock", "blocked", acts.pair("run"),
        rooms=(Room(), Room(cpu="4", gpus=4, taints=[acts.BURN_IN])), act=acts.cross, says=("other",),
        members={"desired": 2, "scheduled": 1}, twin="call-half-alone",
    ),
    # The quota counts limits.memory, the pods have none: all are refused, until a LimitRange gives them one.
    Scenario(
        "call-no-memory-limit", "Job", "run", "pod-creation-refused", "blocked",
        lambda ns, where: [quota("memory-cap", ns, **{"limits.memory": "64Gi"})], nodes=1,
        act=acts.start_under_quota, says=("memory-cap", "limits.memory"),
        members={"desired": 2, "created": 0},
        steps=(Step(acts.give_default_limit, "running", "running"),), twin="call-short-of-mates",
    ),
)  # fmt: skip
"""For the 1.37 cluster."""
