"""PodGroups of Volcano: messages of the queue and the scheduler, one sentence each."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.domain.group import Group, GroupTemplate, Policy
from gangboard.domain.health import Health
from tests.domain_objects import ago, an_event
from tests.groups.other_schedulers import member, verdict_of
from tests.groups.volcano_objects import REFUSED, condition, finding_summary, members, queue, ring

QUEUES = frozenset({"Queue.scheduling.volcano.sh"})


def test_a_pod_group() -> None:
    result = ring(minResources={"cpu": "6"}, minTaskMember={"worker": 2, "idle": 0})
    assert (result.policy, result.quorum, result.queue) == (Policy.GANG, 3, "research")
    assert result.templates == (GroupTemplate("worker", Policy.GANG, 2),)
    assert (result.part_label, result.detail) == ("volcano.sh/task-spec", {"phase": "Inqueue"})
    assert str(result.requests["cpu"]) == "6"
    assert ring(minMember=1).policy is Policy.BASIC


@pytest.mark.parametrize(
    ("group", "status"),
    [
        (ring("Inqueue", condition("Unschedulable", "10", REFUSED)), "False"),
        (ring("Running", condition("Scheduled", "10")), "True"),
        # Volcano removes neither condition, so the later one counts.
        (ring("Inqueue", condition("Scheduled", "10"), condition("Unschedulable", "20", "x")), "False"),
        (ring("Inqueue", condition("Unschedulable", "10", "x"), condition("Scheduled", "20")), "True"),
        # A gang that ran was placed before, regardless of later refusals.
        (ring("Unknown", condition("Scheduled", "10"), condition("Unschedulable", "20", "x")), "True"),
        (ring("Pending"), None),
    ],
)  # fmt: skip
def test_whether_it_was_placed(group: Group, status: str | None) -> None:
    assert (group.placed and group.placed.status) == status


def test_a_shortage_quotes_volcano() -> None:
    group = ring("Inqueue", condition("Unschedulable", "58", REFUSED))
    assert finding_summary(group, queues=[queue()]) == (
        "unschedulable",
        Health.WAITING,
        "Volcano has room for 1 of 3 pods that must start together: 0/1 nodes are unavailable: 1 "
        "Insufficient cpu.",
    )


def test_a_count_without_a_cause_gets_no_invented_cause() -> None:
    """As observed on v1.14.1."""
    counts = (
        "1/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 3 minAvailable; Pending: 1 "
        "Unschedulable, 2 Schedulable"
    )
    group = ring("Inqueue", condition("Unschedulable", "58", counts))
    assert finding_summary(group, queues=[queue()])[2] == (
        "Volcano has room for 2 of 3 pods that must start together, and does not say why."
    )


def test_messages_before_all_pods_ran_are_outdated() -> None:
    """Near miss: the condition stays, and all members have a node."""
    group = ring("Running", condition("Unschedulable", "20", REFUSED))
    assert finding_summary(group, pods=members(group, on="n0"))[0] == "running"


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ({"queues": [queue("Closed")]}, ("queue-stopped", Health.BLOCKED, "Queue research is closed and admits nothing.")),
        ({"known_kinds": QUEUES}, ("queue-missing", Health.BLOCKED, "Queue research does not exist, so Volcano ignores PodGroup ring.")),
        ({"queues": [queue(cpu="4")]}, ("exceeds-quota", Health.BLOCKED, "PodGroup ring needs 6 CPUs at once, and queue research allows at most 4 CPUs.")),
        # Near misses: as much as it may have; a queue of which nobody knows whether it is there.
        ({"queues": [queue(cpu="6")]}, ("queue-evaluating", Health.WAITING, "Queue research has not admitted it yet.")),
        ({}, ("queue-evaluating", Health.WAITING, "Queue research has not admitted it yet.")),
    ],
)  # fmt: skip
def test_the_cause_of_a_refused_admission(
    what: dict[str, Any], expected: tuple[str, Health, str]
) -> None:
    assert finding_summary(ring("Pending", minResources={"cpu": "6"}), **what) == expected


@pytest.mark.parametrize(
    ("name", "step", "command"),
    [
        ("research", "Open Queue research: vcctl queue operate -a open -n research", "vcctl queue operate -a open -n research"),
        ("gpu; reboot", "Open Queue gpu; reboot.", ""),
        ("$(reboot)", "Open Queue $(reboot).", ""),
    ],
)  # fmt: skip
def test_a_command_has_the_name_of_a_queue_only_if_that_is_safe(
    name: str, step: str, command: str
) -> None:
    closed, group = queue("Closed", name), ring("Pending", queue=name)
    result = verdict_of(group, *members(group), queues=[closed]).finding
    assert (result.code, result.advice_texts) == ("queue-stopped", (step,))
    assert (closed.advice, closed.command) == ("Open it.", tuple(command.split()))


@pytest.mark.parametrize(
    ("note", "code", "message"),
    [
        ("queue resource quota insufficient: insufficient cpu, insufficient nvidia.com/gpu", "waiting-for-quota",
         "Queue research has not admitted it: not enough cpu, nvidia.com/gpu is left in it."),
        ("resource in cluster is overused: overused cpu", "queue-evaluating",
         "Queue research has not admitted it: the cluster has no unassigned cpu left."),
        # What its gang lacks is told of one that is let in.
        ("3/3 tasks in gang unschedulable: pod group is not ready", "queue-evaluating",
         "Queue research has not admitted it yet."),
    ],
)  # fmt: skip
def test_the_cause_of_a_refused_admission_is_in_an_event(
    note: str, code: str, message: str
) -> None:
    group = ring("Pending")
    event = an_event(group, "Unschedulable", note)
    assert finding_summary(group, event, queues=[queue()]) == (code, Health.WAITING, message)


def test_near_miss_of_an_admitted_group_ignores_its_queue() -> None:
    group = ring("Inqueue")
    event = an_event(group, "Unschedulable", "queue resource quota insufficient: insufficient cpu")
    assert finding_summary(group, event, queues=[queue()])[0] == "not-attempted"


def test_a_closed_queue_places_no_gang_in_any_phase() -> None:
    """As observed; near miss: what runs there runs on."""
    assert finding_summary(ring("Inqueue"), queues=[queue("Closed")])[0] == "queue-stopped"
    group = ring("Running", condition("Scheduled", "58"))
    assert (
        finding_summary(group, pods=members(group, on="n0"), queues=[queue("Closing")])[0]
        == "running"
    )


def test_an_unprocessed_group() -> None:
    assert finding_summary(ring("")) == (
        "queue-evaluating",
        Health.BLOCKED,
        "Volcano has not processed PodGroup ring yet.",
    )


def test_a_task_with_fewer_pods_than_it_needs_at_least() -> None:
    group = ring("Inqueue", minTaskMember={"driver": 1, "worker": 2})
    pods = [
        member(
            group, f"p{n}", "volcano", created_at=ago(300), labels={"volcano.sh/task-spec": task}
        )
        for n, task in enumerate(("worker", "other", "other"))
    ]
    assert finding_summary(group, pods=pods) == (
        "below-quorum",
        Health.BLOCKED,
        "Group ring has 0 of the 1 pod of driver that it needs.",
    )


def test_task_minima_above_the_group_minimum_are_not_processed() -> None:
    """CheckTaskValid skips them then (job_info.go of v1.14.1; a Job of 2 + 1 with minimum 2 ran without its third)."""
    assert ring(minMember=3, minTaskMember={"driver": 1, "worker": 2}).templates
    result = ring(minMember=2, minTaskMember={"driver": 1, "worker": 2})
    assert (result.templates, result.part_label) == ((), "")


def test_a_group_with_lost_members() -> None:
    """Unknown: it ran, and some of its members are gone (session.go)."""
    group = ring("Unknown", condition("Scheduled", "10"), condition("Unschedulable", "20", REFUSED))
    text = "0/1 nodes are unavailable: 1 Insufficient cpu."
    pods = [*members(group, 2, on="n0"), member(group, "p9", "volcano", text=text)]
    code, health, message = finding_summary(group, pods=pods, queues=[queue()])
    assert (code, health) == ("lost-members", Health.DEGRADED)
    assert message.startswith("2 of 3 members run")
