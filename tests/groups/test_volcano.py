"""PodGroups of Volcano: what its queue and its scheduler say, in one sentence each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from gangboard.domain.event import Event
from gangboard.domain.group import Group, GroupTemplate, Policy
from gangboard.domain.health import Health
from gangboard.domain.objects import Controller
from gangboard.domain.pod import Pod
from gangboard.domain.quota import Queue
from gangboard.domain.verdict import Verdict
from gangboard.groups.volcano import GROUPING
from gangboard.queues.volcano import QUEUE
from tests.decode.reading import Json, model
from tests.domain_objects import ago, an_event
from tests.groups.of_other_schedulers import judged, member

(PODGROUP,) = GROUPING.resources
JOB = Controller("batch.volcano.sh", "Job", "ring", "uid-job")
QUEUES = frozenset({"Queue.scheduling.volcano.sh"})
# As the gang plugin writes it (gang.go, FitError of job_info.go, v1.14.1).
REFUSED = (
    "2/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 3 minAvailable; Pending: 1 "
    "Schedulable, 2 Unschedulable. Origin reason is ring-worker-1: 0/1 nodes are unavailable: 1 "
    "Insufficient cpu."
)


def condition(type_: str, at: str, message: str = "") -> Json:
    reason = "NotEnoughResources" if message else "tasks in gang are ready to be scheduled"
    time = f"2026-11-21T11:{at}:00Z"
    return {"type": type_, "status": "True", "reason": reason, "message": message,
            "transitionID": "t", "lastTransitionTime": time}  # fmt: skip


def ring(phase: str = "Inqueue", *conditions: Json, **spec: Any) -> Group:
    metadata = {"name": "ring", "namespace": "team-a", "uid": "r1", "resourceVersion": "4",
                "creationTimestamp": "2026-11-21T11:00:00Z"}  # fmt: skip
    status = {"phase": phase, "conditions": list(conditions)} if phase else {}
    obj = {"metadata": metadata, "spec": {"minMember": 3, "queue": "research", **spec}}
    found: Group = model(PODGROUP, {**obj, "status": status})
    return found


def queue(state: str = "Open", name: str = "research", **capability: str) -> Queue:
    (resource,) = QUEUE.resources
    obj = {"metadata": {"name": name, "uid": "q1", "resourceVersion": "1"},
           "spec": {"capability": capability}, "status": {"state": state}}  # fmt: skip
    found: Queue = model(resource, obj)
    return found


def members(group: Group, number: int = 3, **fields: Any) -> list[Pod]:
    return [member(group, f"p{n}", "volcano", created_at=ago(300), **fields) for n in range(number)]


def told(
    group: Group, *rest: Any, pods: Sequence[Pod] | None = None, **known: Any
) -> tuple[str, Health, str]:
    pods = members(group) if pods is None else pods
    found = judged(group, *pods, *rest, **known).finding
    return found.code, found.health, found.message


def test_a_pod_group() -> None:
    found = ring(minResources={"cpu": "6"}, minTaskMember={"worker": 2, "idle": 0})
    assert (found.policy, found.quorum, found.queue) == (Policy.GANG, 3, "research")
    assert found.templates == (GroupTemplate("worker", Policy.GANG, 2),)
    assert (found.part_label, found.detail) == ("volcano.sh/task-spec", {"phase": "Inqueue"})
    assert str(found.requests["cpu"]) == "6"
    assert ring(minMember=1).policy is Policy.BASIC


@pytest.mark.parametrize(
    ("group", "status"),
    [
        (ring("Inqueue", condition("Unschedulable", "10", REFUSED)), "False"),
        (ring("Running", condition("Scheduled", "10")), "True"),
        # Neither is taken back: the later one counts.
        (ring("Inqueue", condition("Scheduled", "10"), condition("Unschedulable", "20", "x")), "False"),
        (ring("Inqueue", condition("Unschedulable", "10", "x"), condition("Scheduled", "20")), "True"),
        # What has run was placed once, whatever is refused since.
        (ring("Unknown", condition("Scheduled", "10"), condition("Unschedulable", "20", "x")), "True"),
        (ring("Pending"), None),
    ],
)  # fmt: skip
def test_whether_it_was_placed(group: Group, status: str | None) -> None:
    assert (group.placed and group.placed.status) == status


def test_one_that_finds_no_room_is_told_in_volcanos_words() -> None:
    group = ring("Inqueue", condition("Unschedulable", "58", REFUSED))
    assert told(group, queues=[queue()]) == (
        "unschedulable",
        Health.WAITING,
        "Volcano has room for 1 of 3 pods that must start together: 0/1 nodes are unavailable: 1 "
        "Insufficient cpu.",
    )


def test_where_it_only_counts_nothing_is_made_up() -> None:
    """As observed on v1.14.1."""
    counts = (
        "1/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 3 minAvailable; Pending: 1 "
        "Unschedulable, 2 Schedulable"
    )
    group = ring("Inqueue", condition("Unschedulable", "58", counts))
    assert told(group, queues=[queue()])[2] == (
        "Volcano has room for 2 of 3 pods that must start together, and does not say what is lacking."
    )


def test_what_it_said_before_all_ran_is_no_news() -> None:
    """Near miss: the condition stays, and all members have a node."""
    group = ring("Running", condition("Unschedulable", "20", REFUSED))
    assert told(group, pods=members(group, on="n0"))[0] == "running"


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ({"queues": [queue("Closed")]}, ("queue-stopped", Health.BLOCKED, "Queue research is closed and lets nothing in.")),
        ({"known_kinds": QUEUES}, ("queue-missing", Health.BLOCKED, "Queue research does not exist, so Volcano never looks at PodGroup ring.")),
        ({"queues": [queue(cpu="4")]}, ("exceeds-quota", Health.BLOCKED, "PodGroup ring needs 6 CPUs at once, and Queue research may have at most 4 CPUs.")),
        # Near misses: as much as it may have; a queue of which nobody knows whether it is there.
        ({"queues": [queue(cpu="6")]}, ("queue-evaluating", Health.WAITING, "Queue research has not let it in yet.")),
        ({}, ("queue-evaluating", Health.WAITING, "Queue research has not let it in yet.")),
    ],
)  # fmt: skip
def test_why_its_queue_does_not_let_it_in(
    what: dict[str, Any], expected: tuple[str, Health, str]
) -> None:
    assert told(ring("Pending", minResources={"cpu": "6"}), **what) == expected


@pytest.mark.parametrize(
    ("name", "step", "advice"),
    [
        ("research", "Open Queue research: vcctl queue operate -a open -n research", "Open it: vcctl queue operate -a open -n research"),
        ("gpu; reboot", "Open Queue gpu; reboot.", "Open it."),
        ("$(reboot)", "Open Queue $(reboot).", "Open it."),
    ],
)  # fmt: skip
def test_a_command_has_the_name_of_a_queue_only_if_that_is_safe(
    name: str, step: str, advice: str
) -> None:
    closed, group = queue("Closed", name), ring("Pending", queue=name)
    found = judged(group, *members(group), queues=[closed]).finding
    assert (found.code, found.advice_texts) == ("queue-stopped", (step,))
    assert closed.advice == advice


@pytest.mark.parametrize(
    ("note", "code", "message"),
    [
        ("queue resource quota insufficient: insufficient cpu, insufficient nvidia.com/gpu", "waiting-for-quota",
         "Queue research has not let it in: not enough cpu, nvidia.com/gpu is left in it."),
        ("resource in cluster is overused: overused cpu", "queue-evaluating",
         "Queue research has not let it in: what the cluster has of cpu is spoken for."),
        # What its gang lacks is told of one that is let in.
        ("3/3 tasks in gang unschedulable: pod group is not ready", "queue-evaluating",
         "Queue research has not let it in yet."),
    ],
)  # fmt: skip
def test_why_it_is_not_let_in_stands_in_an_event(note: str, code: str, message: str) -> None:
    group = ring("Pending")
    event = an_event(group, "Unschedulable", note)
    assert told(group, event, queues=[queue()]) == (code, Health.WAITING, message)


def test_near_miss_one_that_was_let_in_is_not_told_of_its_queue() -> None:
    group = ring("Inqueue")
    event = an_event(group, "Unschedulable", "queue resource quota insufficient: insufficient cpu")
    assert told(group, event, queues=[queue()])[0] == "not-attempted"


def test_in_a_closed_queue_nothing_is_placed_whatever_its_phase() -> None:
    """As observed; near miss: what runs there runs on."""
    assert told(ring("Inqueue"), queues=[queue("Closed")])[0] == "queue-stopped"
    group = ring("Running", condition("Scheduled", "58"))
    assert told(group, pods=members(group, on="n0"), queues=[queue("Closing")])[0] == "running"


def test_one_that_nobody_has_looked_at() -> None:
    assert told(ring("")) == (
        "queue-evaluating",
        Health.BLOCKED,
        "Volcano has not looked at PodGroup ring yet.",
    )


def test_a_task_with_fewer_pods_than_it_needs_at_least() -> None:
    group = ring("Inqueue", minTaskMember={"driver": 1, "worker": 2})
    pods = [
        member(
            group, f"p{n}", "volcano", created_at=ago(300), labels={"volcano.sh/task-spec": task}
        )
        for n, task in enumerate(("worker", "other", "other"))
    ]
    assert told(group, pods=pods) == (
        "below-quorum",
        Health.BLOCKED,
        "0 of 1 pod that group ring needs of driver exist.",
    )


def test_minima_of_tasks_that_together_are_more_than_its_minimum_are_not_looked_at() -> None:
    """CheckTaskValid skips them then (job_info.go of v1.14.1; a Job of 2 + 1 with minimum 2 ran without its third)."""
    assert ring(minMember=3, minTaskMember={"driver": 1, "worker": 2}).templates
    found = ring(minMember=2, minTaskMember={"driver": 1, "worker": 2})
    assert (found.templates, found.part_label) == ((), "")


def test_one_that_lost_members() -> None:
    """Unknown: it ran, and some of its members are gone (session.go)."""
    group = ring("Unknown", condition("Scheduled", "10"), condition("Unschedulable", "20", REFUSED))
    text = "0/1 nodes are unavailable: 1 Insufficient cpu."
    pods = [*members(group, 2, on="n0"), member(group, "p9", "volcano", text=text)]
    code, health, message = told(group, pods=pods, queues=[queue()])
    assert (code, health) == ("lost-members", Health.DEGRADED)
    assert message.startswith("2 of 3 members run")


def back_in_queue(
    *rest: Any, ready: bool = False, of: Controller | None = JOB, **known: Any
) -> Verdict:
    """Two of three pods wait with their PodGroup for its queue, since it fell below its minimum. One has a node."""
    group = ring("Pending", condition("Unschedulable", "58", REFUSED), minResources={"cpu": "6"})
    cpu = {"cpu": Decimal(2)}
    holds = member(group, "p0", "volcano", on="n0", ready=ready, requests=cpu, of=of)
    waiting = members(group, 3, requests=cpu)[1:]
    return judged(group, holds, *waiting, *rest, **known)


NO_QUOTA = "queue resource quota insufficient: insufficient cpu"


def no_quota() -> Event:
    return an_event(ring("Pending"), "Unschedulable", NO_QUOTA)


def test_pods_wait_until_their_group_is_let_in_again() -> None:
    """The scheduler tries none of them before (allocate.go), so that it says nothing is no fault of its."""
    found = back_in_queue(queues=[queue()]).finding
    assert (found.code, found.health, found.message) == (
        "queue-evaluating",
        Health.DEGRADED,
        "Queue research has not let it in again yet; 1 of 3 pods holds a node meanwhile.",
    )


def test_others_hold_what_they_need_to_be_let_in_again() -> None:
    found = back_in_queue(no_quota(), queues=[queue(cpu="12")]).finding
    assert (found.code, found.health, found.message) == (
        "waiting-for-quota",
        Health.DEGRADED,
        "Queue research has not let it in again: not enough cpu is left in it; 1 of 3 pods holds a node "
        "meanwhile.",
    )
    assert found.advice_texts == ()


@pytest.mark.parametrize(
    ("ready", "of", "deletion"),
    [
        (False, JOB, "Delete pod p0: then all of PodGroup ring is let in at once."),
        (False, None, "Delete pod p0 and make it anew: then all of PodGroup ring is let in at once."),
        (True, JOB, "Delete pod p0 (the work since the last checkpoint is lost): then all of PodGroup ring "
         "is let in at once."),
    ],
    ids=["of a Job", "by hand", "runs"],
)  # fmt: skip
def test_what_it_holds_itself_keeps_it_out(
    ready: bool, of: Controller | None, deletion: str
) -> None:
    """Its queue has room for the 6 CPUs of all three, not for these and the 2 that one has already."""
    verdict = back_in_queue(no_quota(), ready=ready, of=of, queues=[queue(cpu="7")])
    reason = verdict.findings[-1]
    assert (reason.code, reason.health, reason.message) == (
        "exceeds-quota",
        Health.BLOCKED,
        "PodGroup ring has to be let in again: Volcano asks Queue research for 6 CPUs besides the 2 CPUs "
        "of pod p0, and it may have at most 7 CPUs.",
    )
    assert verdict.finding.advice_texts == (
        "Raise capability of Queue research to 8 CPUs at least.",
        deletion,
    )
    expected = "1 of 3 members runs; the other 2 pods wait until Queue research lets PodGroup ring in: not enough cpu is left in it."
    assert (verdict.finding.code == "lost-members") is ready
    assert (verdict.finding.message == expected) is ready


def test_its_queue_that_did_not_refuse_it_is_not_blamed() -> None:
    """Near miss: as much, and no event says so; nothing tells which plugins Volcano has."""
    assert back_in_queue(queues=[queue(cpu="7")]).finding.code == "queue-evaluating"


def test_one_that_is_in_again_is_told_of_nodes() -> None:
    """Near miss: let in, it waits for room."""
    group = ring("Inqueue", condition("Unschedulable", "58", REFUSED))
    holds, *waiting = members(group, text="0/1 nodes are unavailable: 1 Insufficient cpu.")
    holds = replace(holds, node="n0")
    assert judged(group, holds, *waiting, queues=[queue()]).finding.code == "unschedulable"


QUEUE_GATE = "scheduling.volcano.sh/queue-allocation-gate"


def test_pods_that_wait_for_the_capacity_of_their_queue() -> None:
    """Volcano 1.15 takes the gate away when the queue has room for the pod."""
    group = ring("Inqueue")
    pods = members(group, gates=(QUEUE_GATE,))
    assert told(group, pods=pods) == (
        "waiting-for-quota",
        Health.WAITING,
        "Queue research has no capacity for 3 of 3 pods, so Volcano keeps them gated.",
    )


@pytest.mark.parametrize("gates", [("example.com/approval",), (QUEUE_GATE, "example.com/approval")])
def test_gates_of_others_are_told_as_gates(gates: tuple[str, ...]) -> None:
    """Near miss: what somebody else has to take away."""
    group = ring("Inqueue")
    assert told(group, pods=members(group, gates=gates))[0] == "scheduling-gated"


def test_a_queue_that_is_closed_is_told_before_its_gate() -> None:
    group = ring("Inqueue")
    pods = members(group, gates=(QUEUE_GATE,))
    assert told(group, pods=pods, queues=[queue("Closed")])[0] == "queue-stopped"
