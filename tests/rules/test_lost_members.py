"""`lost-members`: captured on 1.37.0 as `job-member-lost` (the group stays True)."""

from typing import Any

from gangboard.diagnosis.registry import unit_rules
from gangboard.domain.facts import Unit
from gangboard.domain.health import Health
from tests.diagnosis.building import (
    Made,
    a_condition,
    a_group,
    a_job,
    a_jobset,
    a_pod,
    ago,
    an_event,
    child_jobs,
    placed,
    pods_of,
)
from tests.placement.making import CORDON, node
from tests.rules import texts
from tests.rules.asking import ask, first, found, ran, unit_of
from tests.rules.waiting import ask as asks
from tests.rules.waiting import room_of, with_room

CORDONED = "0/4 nodes are available: 1 node(s) were unschedulable, 3 Insufficient nvidia.com/gpu."


def lost(*objects: Made, quorum: int = 4, job: Any = None, **fields: Any) -> Unit:
    made = job or a_job("train", pods=4, group_name="ring", retries=1)
    group = a_group("ring", quorum=quorum, placed=placed())
    return unit_of(made, group, *pods_of(made, 3, on="n0"), *objects, **fields)


def replacement(**fields: Any) -> Made:
    return a_pod("train-3-new", group="ring", created_at=ago(20), **fields)


def test_the_replacement_finds_no_room() -> None:
    unit = lost(replacement(text=CORDONED))
    finding = found("lost-members", unit)
    assert finding.health is Health.DEGRADED
    assert finding.message == (
        "3 of 4 members run. The scheduler finds no room for 1 pod: 0/4 nodes are available: 1 "
        "node(s) were unschedulable, 3 Insufficient nvidia.com/gpu."
    )
    assert first(unit) == "lost-members"


def test_the_replacement_is_refused_by_a_quota() -> None:
    job = a_job("train", pods=4, group_name="ring")
    event = an_event(job, "FailedCreate", texts.QUOTA)
    unit = lost(event, job=job, memory=ran())
    assert found("lost-members", unit).message == (
        "3 of 4 members run. ResourceQuota “q” refuses the rest: pods 2 of 2 used."
    )
    assert first(unit) == "lost-members"


def test_who_was_preempted() -> None:
    target = a_condition("DisruptionTarget", reason="PreemptionByScheduler", since=ago(5))
    leaving = a_pod("train-3", group="ring", on="n1", deleting_since=ago(5), disruption=target)
    finding = found("lost-members", lost(leaving, memory=ran()))
    assert finding.message == (
        "3 of 4 members run. 1 was preempted by the scheduler. 1 pod is not made yet."
    )


def test_without_a_group_its_size_counts() -> None:
    job = a_job("train", pods=4)
    pods = pods_of(job, 3, on="n0")
    unit = unit_of(job, *pods, a_pod("new", of=job, text=CORDONED), memory=ran())
    assert first(unit) == "lost-members"
    assert first(unit_of(job, *pods, a_pod("new", of=job, text=CORDONED))) == "partly-placed"


def test_quorum_below_the_size_is_said() -> None:
    job = a_job("train", pods=6, group_name="ring")
    unit = lost(replacement(text=CORDONED), job=job, memory=ran())
    assert found("lost-members", unit).message.startswith("3 of 6 members run, the quorum is 4. ")


def test_at_the_quorum_it_is_below_its_size() -> None:
    unit = lost(replacement(text=CORDONED), quorum=3, memory=ran())
    assert ask("lost-members", unit) is None
    assert first(unit) == "below-size"


def test_when_none_runs_the_stage_it_is_back_in_decides() -> None:
    job = a_job("train", group_name="ring")
    group = a_group("ring", quorum=2, placed=placed())
    pods = [a_pod(f"train-{n}", of=job, group="ring", text=CORDONED) for n in (0, 1)]
    unit = unit_of(job, group, *pods, memory=ran())
    assert ask("lost-members", unit) is None
    assert first(unit) == "unschedulable"


def test_it_never_ran() -> None:
    job = a_job("train", pods=4, group_name="ring")
    pods = (*pods_of(job, 3, on="n0"), replacement(text=CORDONED))
    assert first(unit_of(job, a_group("ring", quorum=4), *pods)) == "unschedulable"


def test_a_member_that_became_unready_is_lost() -> None:
    unit = lost(a_pod("train-3", group="ring", on="n1", ready=False), memory=ran())
    assert found("lost-members", unit).message == "3 of 4 members run. 1 pod is not ready."


def test_a_retry_that_nothing_stops_is_a_retry() -> None:
    crashed = a_pod("train-3", group="ring", on="n1", phase="Failed", ready=False)
    unit = lost(crashed, replacement(on="n1", ready=False), memory=ran(70))
    assert ask("lost-members", unit) is None
    assert first(unit) == "restarting"


def test_a_restarted_jobset_begins_anew() -> None:
    jobset = a_jobset("run", restarts=1, max_restarts=3, restarting=True)
    (job,) = child_jobs(jobset, created_at=ago(10))
    pods = (a_pod("a", of=job, on="n0"), a_pod("b", of=job, on="n1", ready=False))
    unit = unit_of(jobset, job, *pods, memory=ran(15))
    assert first(unit) == "restarting"


def test_the_reason_is_in_the_sentence_and_the_second_finding() -> None:
    """The node of the lost member is cordoned, the others are full."""
    job = a_job("train", pods=4)
    cordoned = node("n3", unschedulable=True, taints=(CORDON,))
    room = room_of(*(node(f"n{index}", used=4) for index in range(3)), cordoned)
    running = [a_pod(f"train-{n}", of=job, on=f"n{n}", requests=asks(4)) for n in range(3)]
    waiting = a_pod("train-3-new", of=job, text=CORDONED, requests=asks(4), created_at=ago(20))
    unit = with_room(unit_of(job, *running, waiting, facts={"room": room}, memory=ran()))
    assert found("lost-members", unit).message == (
        "3 of 4 members run. 1 pod needs 4 nvidia.com/gpu, and none is free on the 3 nodes that "
        "could host it; 1 more is cordoned."
    )
    # Without a quorum, too, the reason is what is told beside the loss.
    behind = [rule.code for rule in unit_rules() if not rule.overrides and rule.find(unit)]
    assert behind[0] == "insufficient-resources"


def test_a_replacement_that_is_refused_when_it_is_made() -> None:
    """Two of two are used, and one pod lacks."""
    job = a_job("train", pods=3, group_name="ring")
    event = an_event(job, "FailedCreate", texts.QUOTA, last_seen=ago(5))
    group = a_group("ring", quorum=3, placed=placed())
    unit = unit_of(job, group, event, *pods_of(job, 2, on="n0"), memory=ran())
    assert found("lost-members", unit).advice == (
        "Raise pods by 1 in ResourceQuota “q”, or free as much.",
    )
