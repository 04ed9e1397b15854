"""`node-lost`: a silent node, captured on 1.37.0 (pod Running, Ready False, containers ready)."""

from typing import Any

from gangboard.domain.health import Health
from gangboard.domain.pod_constraints import Taint
from gangboard.facts.unit import Unit
from tests.domain_objects import (
    Made,
    a_condition,
    a_container,
    a_group,
    a_job,
    a_jobset,
    a_node,
    a_pod,
    a_role,
    ago,
    child_jobs,
    placed,
    pods_of,
)
from tests.placement.making import node as room_node
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of, whole_memory
from tests.rules.waiting_gangs import capacity_of, pod_requests, with_placement
from tests.sentence_values import values_in


def lost(member: Made, *objects: Made, quorum: int = 4, **fields: Any) -> Unit:
    job = a_job("train", pods=4, group_name="ring")
    group = a_group("ring", quorum=quorum, placed=placed())
    return unit_of(job, group, *pods_of(job, 3, on="n0"), member, a_node("n0"), *objects, **fields)


def silent(**fields: Any) -> Made:
    return a_pod("train-3", group="ring", on="n1", ready=False, **fields)


def test_a_silent_node() -> None:
    unit = lost(silent(), a_node("n1", ready=None), memory=whole_memory())
    finding = require_finding("node-lost", unit)
    assert finding.health is Health.DEGRADED
    assert finding.message == "3 of 4 members run: node n1 is NotReady. 1 pod is not ready."
    assert finding.evidence[0].value == "Unknown"
    assert first_code(unit) == "node-lost"


def test_the_node_of_the_only_pod_of_a_job() -> None:
    """Two cells of one pod each: of the gang one of two runs."""
    jobset = a_jobset("run", a_role("cells", jobs=2, pods=1))
    first, second = child_jobs(jobset)
    existing = a_pod("run-cells-0-0", of=first, on="n0")
    deleted = a_pod("run-cells-1-0", of=second, on="n1", ready=False)
    nodes = (a_node("n0"), a_node("n1", ready=None))
    unit = unit_of(
        jobset, first, second, existing, deleted, *nodes, memory=whole_memory(),
        jobs=(second,), pods=(deleted,), desired=1, name="run-cells-1", noun="Job",
    )  # fmt: skip
    assert values_in(require_finding("node-lost", unit).message) == "run-cells-1 0 1 1 2 n1 1"


def test_a_placed_gang_that_was_never_observed_whole() -> None:
    assert first_code(lost(silent(), a_node("n1", ready=False))) == "node-lost"


def test_the_replacement_does_not_fit() -> None:
    new = a_pod("train-3-new", group="ring", text=texts.GPU_SHORT, created_at=ago(10))
    old = silent(deleting_since=ago(12))
    unit = lost(old, new, a_node("n1", ready=None), memory=whole_memory())
    assert require_finding("node-lost", unit).message == (
        "3 of 4 members run: node n1 is NotReady. 1 pod does not fit on any node: 4 "
        "Insufficient nvidia.com/gpu."
    )


def test_the_node_is_missing_and_its_pods_were_collected() -> None:
    target = a_condition("DisruptionTarget", reason="DeletionByPodGC", since=ago(20))
    old = a_pod("old", group="ring", on="n9", phase="Failed", ready=None, disruption=target)
    new = a_pod("new", group="ring", text=texts.GPU_SHORT, created_at=ago(15))
    unit = lost(old, new, memory=whole_memory())
    assert require_finding("node-lost", unit).message.startswith(
        "3 of 4 members run: members on node n9 were lost at 2026-11-21 11:59 UTC. "
    )
    assert first_code(unit) == "node-lost"


def test_another_cause_is_lost_members() -> None:
    new = a_pod("new", group="ring", text=texts.GPU_SHORT, created_at=ago(15))
    unit = lost(new, memory=whole_memory())
    assert evaluate("node-lost", unit) is None
    assert first_code(unit) == "lost-members"


def test_above_the_quorum_it_is_below_its_size() -> None:
    unit = lost(silent(), a_node("n1", ready=None), quorum=3, memory=whole_memory())
    assert evaluate("node-lost", unit) is None
    assert first_code(unit) == "below-size"


def test_nodes_that_cannot_be_read_are_not_blamed() -> None:
    unit = lost(
        silent(), a_node("n1", ready=None), memory=whole_memory(), facts={"nodes_known": False}
    )
    assert first_code(unit) == "lost-members"


def test_a_gang_without_running_members_is_starting() -> None:
    job = a_job("train", pods=1)
    unit = unit_of(job, silent(), a_node("n1", ready=None), memory=whole_memory())
    assert evaluate("node-lost", unit) is None
    assert first_code(unit) == "starting"


def test_a_lost_node_of_long_ago() -> None:
    target = a_condition("DisruptionTarget", reason="DeletionByPodGC", since=ago(500))
    old = a_pod("old", group="ring", on="n9", phase="Failed", ready=None, disruption=target)
    new = a_pod("new", group="ring", text=texts.GPU_SHORT, created_at=ago(15))
    assert first_code(lost(old, new, memory=whole_memory())) == "lost-members"


def test_a_silent_node_shows_that_its_pod_was_ready() -> None:
    """For a pod on a silent node Ready turns False, but its containers stay ready (captured)."""
    job = a_job("train", pods=4)
    ready = (a_container(ready=True),)
    silent_pod = a_pod("train-3", of=job, on="n1", ready=False, containers=ready)
    unit = unit_of(job, *pods_of(job, 3, on="n0"), silent_pod, a_node("n1", ready=None))
    assert first_code(unit) == "node-lost"
    never = a_pod("train-3", of=job, on="n1", ready=False)
    unit = unit_of(job, *pods_of(job, 3, on="n0"), never, a_node("n1", ready=None))
    assert first_code(unit) == "starting"


def test_the_shortage_of_the_replacement_is_explained() -> None:
    """The lost node is not ready, the others are full: both are in the sentence."""
    job = a_job("train", pods=4, group_name="ring")
    group = a_group("ring", quorum=4, placed=placed())
    deleted = Taint("node.kubernetes.io/unreachable", "NoSchedule")
    room = capacity_of(
        *(room_node(f"n{i}", used=4) for i in range(3)), room_node("n3", taints=(deleted,))
    )
    running = [a_pod(f"m{i}", of=job, group="ring", on=f"n{i}") for i in range(3)]
    old = a_pod("m3", of=job, group="ring", on="n3", ready=False, deleting_since=ago(12))
    new = a_pod("m3-new", of=job, group="ring", text=texts.GPU_SHORT, requests=pod_requests(4))
    nodes = (a_node("n0"), a_node("n3", ready=None))
    unit = unit_of(
        job, group, *running, old, new, *nodes, facts={"room": room}, memory=whole_memory()
    )
    assert require_finding("node-lost", with_placement(unit)).message == (
        "3 of 4 members run: node n3 is NotReady. 1 pod needs 4 GPUs, and none is free "
        "on the 3 usable nodes; 1 more node is not ready."
    )


def test_a_node_that_members_are_bound_to_has_to_come_back() -> None:
    assert require_finding(
        "node-lost", lost(silent(), a_node("n1", ready=None), memory=whole_memory())
    ).advice_texts == ("Bring node n1 back: a member is still bound to it.",)


def test_a_missing_node_cannot_be_repaired() -> None:
    target = a_condition("DisruptionTarget", reason="DeletionByPodGC", since=ago(20))
    old = a_pod("old", group="ring", on="n9", phase="Failed", ready=None, disruption=target)
    new = a_pod("new", group="ring", text=texts.GPU_SHORT, created_at=ago(15))
    assert require_finding("node-lost", lost(old, new, memory=whole_memory())).advice_texts == ()


def test_several_nodes_have_to_come_back() -> None:
    job = a_job("train", pods=4, group_name="ring")
    silent_ones = [a_pod(f"s{n}", group="ring", on=f"n{n}", ready=False) for n in (1, 2)]
    nodes = [a_node(f"n{n}", ready=None) for n in (1, 2)]
    group = a_group("ring", quorum=4, placed=placed())
    unit = unit_of(
        job, group, *pods_of(job, 2, on="n0"), *silent_ones, *nodes, memory=whole_memory()
    )
    assert require_finding("node-lost", unit).advice_texts == (
        "Bring nodes n1 and n2 back: members are still bound to them.",
    )


def test_a_pod_in_its_grace_period() -> None:
    """Its replacement cannot exist yet. Later the code is `termination-stuck`."""
    leaving = silent(deleting_since=ago(-20))
    finding = require_finding(
        "node-lost", lost(leaving, a_node("n1", ready=None), memory=whole_memory())
    )
    assert finding.message.endswith("1 pod is still being deleted.")
    assert finding.advice_texts == ("Bring node n1 back: a member is still bound to it.",)


def test_a_pod_that_is_not_being_deleted_is_not_forced_away() -> None:
    finding = require_finding(
        "node-lost", lost(silent(), a_node("n1", ready=None), memory=whole_memory())
    )
    assert [text for text in finding.advice_texts if "force" in text] == []
