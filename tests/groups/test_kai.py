"""PodGroups of KAI: gangs, lookalikes, and the scheduler's messages about each.

Texts and objects as observed on v0.12.0 (real-owners-2.md §3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.group import Group, GroupTemplate, Policy
from gangboard.domain.health import Health
from gangboard.domain.pod import Pod
from gangboard.domain.quota import Queue
from gangboard.domain.verdict import Verdict
from gangboard.groups.kai import Kai
from gangboard.queues.kai import KaiQueues
from tests.decode.reading import Json, model
from tests.domain_objects import a_job, ago, an_event
from tests.groups.other_schedulers import member, verdict_of

(PODGROUP,) = Kai.resources
QUEUES = frozenset({"Queue.scheduling.run.ai"})
NO_ROOM = (
    "Resources were found for 3 pods while 4 are required for gang scheduling. Additional pods cannot be "
    "scheduled due to: no nodes with enough resources were found: 3 node(s) didn't have enough resources: "
    "CPU cores."
)
OVER_LIMIT = (
    "team-lim quota has reached the allowable limit of GPUs. Limit is 2 GPUs, currently {used} GPUs "
    "allocated and workload requested {asked} GPUs"
)
OVER_QUOTA = (
    "Non-preemptible workload is over quota. Workload requested 4 GPUs, but team-q quota is 2 GPUs, while 0 "
    "GPUs are already allocated for non-preemptible pods. Use a preemptible workload to go over quota."
)


def condition(reason: str, message: str) -> Json:
    return {
        "type": "UnschedulableOnNodePool", "status": "True", "nodePool": "default",
        "reason": "Unschedulable", "message": f"{reason}: {message}.",
        "reasons": [{"reason": reason, "message": message}],
        "transitionID": "1", "lastTransitionTime": "2026-11-21T11:58:00Z",
    }  # fmt: skip


def a_group(*conditions: Json, stale: str = "", **spec: Any) -> Group:
    metadata: Json = {
        "name": "pg-run-u1",
        "namespace": "team-a",
        "uid": "g1",
        "resourceVersion": "4",
    }
    if stale:
        metadata["annotations"] = {"kai.scheduler/stale-podgroup-timestamp": stale}
    spec = {"minMember": 4, "queue": "team-a", "topologyConstraint": {}, **spec}
    obj = {"metadata": metadata, "spec": spec, "status": {"schedulingConditions": list(conditions)}}
    result: Group = model(PODGROUP, obj)
    return result


def a_single(name: str) -> Group:
    """A group that does not keep its pods together."""
    group = a_group(minMember=1)
    ref = replace(group.meta.ref, name=name, uid=f"uid-{name}")
    return replace(group, meta=replace(group.meta, ref=ref))


def a_queue(name: str = "team-a", parent: str = "") -> Queue:
    (resource,) = KaiQueues.resources
    metadata = {"name": name, "uid": f"q-{name}", "resourceVersion": "1"}
    result: Queue = model(resource, {"metadata": metadata, "spec": {"parentQueue": parent}})
    return result


def members(group: Group, number: int = 4, **fields: Any) -> list[Pod]:
    return [
        member(group, f"p{n}", "kai-scheduler", **{"created_at": ago(300), "text": "x", **fields})
        for n in range(number)
    ]


def judge(group: Group, *rest: Any, pods: Sequence[Pod] | None = None, **known: Any) -> Verdict:
    return verdict_of(group, *(members(group) if pods is None else pods), *rest, **known)


def finding_summary(*fields: Any, **known: Any) -> tuple[str, Health, str]:
    result = judge(*fields, **known).finding
    return result.code, result.health, result.message


def test_a_pod_group() -> None:
    result = a_group()
    assert (result.policy, result.quorum, result.queue) == (Policy.GANG, 4, "team-a")
    assert (result.placed, result.part_label, result.topology_keys) == (None, "", ())


@pytest.mark.parametrize(
    ("spec", "quorum"),
    [
        ({"minMember": None}, 0),
        ({"subGroups": [{"name": "a", "minMember": 2}, {"name": "b", "minMember": 3}]}, 5),
        ({"minMember": 0, "minSubGroup": 1, "subGroups": [{"name": "a", "minMember": 2}, {"name": "b", "minMember": 3}]}, 2),
        ({"minMember": 0, "subGroups": [{"name": "a"}, {"name": "b", "minMember": 3, "parent": "a"}]}, 3),
        # A group that names itself is not a parent.
        ({"minMember": 0, "subGroups": [{"name": "a", "minMember": 2, "parent": "a"}]}, 0),
    ],
)  # fmt: skip
def test_the_minimum_is_the_quorum(spec: Json, quorum: int) -> None:
    assert a_group(**spec).quorum == quorum


def test_subgroups_with_a_minimum_of_their_own() -> None:
    result = a_group(subGroups=[{"name": "dec", "minMember": 2}, {"name": "pre", "minMember": 1}])
    assert result.templates == (
        GroupTemplate("dec", Policy.GANG, 2),
        GroupTemplate("pre", Policy.GANG, 1),
    )
    label = {"kai.scheduler/subgroup-name": "dec"}
    pods = members(result, 4, labels=label)
    assert finding_summary(result, pods=pods)[:2] == ("below-quorum", Health.BLOCKED)


def test_pods_of_a_job_that_each_have_a_group_of_their_own_are_no_gang() -> None:
    """The podgrouper makes one for each pod of a Job; near miss: one of all of them is a gang."""
    job = a_job("train", pods=2)
    groups = [a_single("pg-p0-u1"), a_single("pg-p1-u1")]
    pods = [
        member(group, f"p{n}", "kai-scheduler", of=job, on="n0") for n, group in enumerate(groups)
    ]
    verdict = verdict_of(job, *groups, *pods)
    assert (verdict.members.desired, verdict.members.quorum) == (2, None)
    assert verdict.finding.message == "Both pods are ready."
    whole = a_group(minMember=2)
    pods = [member(whole, f"p{n}", "kai-scheduler", of=job, on="n0") for n in range(2)]
    assert verdict_of(job, whole, *pods).members.quorum == 2


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (condition("PodSchedulingErrors", NO_ROOM),
         ("unschedulable", Health.WAITING, "KAI has room for 3 of 4 pods that must start together: no nodes "
          "with enough resources were found: 3 node(s) didn't have enough resources: CPU cores.")),
        (condition("OverLimit", OVER_LIMIT.format(used=0, asked=4)),
         ("exceeds-quota", Health.BLOCKED, "It requests 4 GPUs, and queue team-a allows at most 2 GPUs (none in use).")),
        # Near miss: as much as it may have, and others have some of it.
        (condition("OverLimit", OVER_LIMIT.format(used=1, asked=2)),
         ("waiting-for-quota", Health.WAITING, "It requests 2 GPUs, and queue team-a allows at most 2 GPUs (1 GPU in use).")),
        (condition("NonPreemptibleOverQuota", OVER_QUOTA),
         ("exceeds-quota", Health.BLOCKED, ("It requests 4 GPUs, and queue team-a allows at most 2 GPUs (none in use) for pods "
"that cannot be preempted."))),
        # Words that this release does not know are quoted.
        (condition("OverLimit", "It is full"), ("waiting-for-quota", Health.WAITING, "It is full")),
        (condition("New", "Something else."), ("unschedulable", Health.WAITING, "KAI cannot place 4 pods: Something else.")),
    ],
)  # fmt: skip
def test_scheduler_messages_have_codes(said: Json, expected: tuple[str, Health, str]) -> None:
    assert finding_summary(a_group(said), queues=[a_queue()], known_kinds=QUEUES) == expected


def test_messages_before_all_pods_ran_are_outdated() -> None:
    """Its condition stays True while all run (before v0.17)."""
    group = a_group(condition("PodSchedulingErrors", NO_ROOM))
    assert finding_summary(group, pods=members(group, on="n0"))[0] == "running"


def test_the_newest_condition_counts() -> None:
    group = a_group(condition("PodSchedulingErrors", "old"), condition("OverLimit", "new"))
    assert group.placed is not None
    assert group.placed.message == "new"
    over = {**condition("OverLimit", "x"), "status": "False"}
    assert a_group(condition("PodSchedulingErrors", "old"), over).placed is None


@pytest.mark.parametrize(
    ("queues", "known", "code"),
    [
        ([], QUEUES, "queue-missing"),
        ([a_queue(parent="root")], QUEUES, "queue-missing"),
        # Near misses: the queues exist, or their existence is unknown.
        ([a_queue(parent="root"), a_queue("root")], QUEUES, "not-attempted"),
        ([], frozenset(), "not-attempted"),
    ],
)
def test_a_message_about_a_missing_queue_is_not_used(
    queues: list[Queue], known: frozenset[str], code: str
) -> None:
    group = a_group()
    result = finding_summary(group, pods=members(group, text=""), queues=queues, known_kinds=known)
    assert result[0] == code
    if code == "queue-missing":
        name = "root, the parent of Queue team-a," if queues else "team-a"
        assert result[2] == (f"Queue {name} does not exist, so KAI ignores PodGroup pg-run-u1.")


def test_a_group_with_reclaimed_pods() -> None:
    group = a_group(condition("PodSchedulingErrors", NO_ROOM))
    note = "Pod team-a/low-0 was preempted by higher priority workload team-b/pg-high-u2."
    code, health, message = finding_summary(group, an_event(group, "Evict", note))
    assert (code, health) == ("preempted", Health.WAITING)
    assert message.startswith("Its pods were preempted by team-b/pg-high-u2; no nodes")
    moved = "Pod team-a/low-0 was preempted and rescheduled due to bin packing (resource consolidation) procedure"
    assert finding_summary(group, an_event(group, "Evict", moved))[0] == "unschedulable"


def test_a_group_below_its_minimum_is_about_to_be_deleted() -> None:
    group = a_group(stale="2026-11-21T11:59:40Z")
    pods = [*members(group, 2, on="n0"), member(group, "p9", "kai-scheduler", text="no")]
    assert finding_summary(group, pods=pods) == (
        "lost-members",
        Health.DEGRADED,
        "2 of 4 members run. KAI deletes the rest at about 12:00:40 UTC, unless the lost members are "
        "placed again.",
    )
    near = members(group, 4, on="n0")
    assert finding_summary(group, pods=near)[0] == "running"


@pytest.mark.parametrize(
    ("period", "end"),
    [
        (None, "KAI deletes the rest at about 12:00:40 UTC, unless the lost members are placed again."),
        ("5m30s", "KAI deletes the rest at about 12:05:10 UTC, unless the lost members are placed again."),
        ("1.5s", "KAI deletes the rest now, unless the lost members are placed again."),
        ("-1s", "KAI leaves the rest running (stalenessGracePeriod -1s)."),
        # Near miss: a text that is no duration is not guessed at.
        ("soon", "KAI deletes the rest at about 12:00:40 UTC, unless the lost members are placed again."),
    ],
)  # fmt: skip
def test_the_grace_period_below_the_minimum_is_a_field_of_the_group(
    period: str | None, end: str
) -> None:
    spec = {} if period is None else {"stalenessGracePeriod": period}
    group = a_group(stale="2026-11-21T11:59:40Z", **spec)
    pods = [*members(group, 2, on="n0"), member(group, "p9", "kai-scheduler", text="no")]
    verdict = judge(group, pods=pods)
    assert (verdict.finding.code, verdict.finding.health) == ("lost-members", Health.DEGRADED)
    assert verdict.finding.message == f"2 of 4 members run. {end}"
    assert (verdict.finding.recheck_at is None) is (period in ("-1s", "1.5s"))


def test_a_queue_the_scheduler_calls_missing() -> None:
    """Since 0.17 it says so; near miss: a Queue that exists was made after that."""
    reported = condition("QueueDoesNotExist", "Queue 'team-a' does not exist")
    code, health, message = finding_summary(a_group(reported))
    assert (code, health) == ("queue-missing", Health.BLOCKED)
    assert message.startswith("Queue team-a does not exist")
    created = finding_summary(a_group(reported), queues=[a_queue("team-a")], known_kinds=QUEUES)
    assert created[0] == "unschedulable"


def test_preemption_that_is_delayed() -> None:
    said = condition("PreemptionDelayNotElapsed", "Preemption delay has not elapsed yet")
    code, health, message = finding_summary(a_group(said, preemptionDelay="5m0s"))
    assert (code, health) == ("unschedulable", Health.WAITING)
    assert message == (
        "KAI cannot place 4 pods: it does not preempt for them until their preemptionDelay "
        "of 5m0s has passed."
    )
    # Near miss: the field alone does not explain the wait.
    other = finding_summary(
        a_group(condition("PodSchedulingErrors", NO_ROOM), preemptionDelay="5m0s")
    )
    assert "preemptionDelay" not in other[2]
