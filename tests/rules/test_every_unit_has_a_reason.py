"""Every combination of objects in a unit has a finding of some rule, and it is well-formed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gangboard.domain.owner import Dependency
from gangboard.domain.verdict import UnitMemory
from gangboard.facts.unit import Unit
from gangboard.placement.unit_placement import placing_of
from gangboard.plugins.reasons import unit_rules
from tests.domain_objects import (
    NOW,
    a_container,
    a_group,
    a_jobset,
    a_node,
    a_pod,
    a_role,
    a_unit,
    ago,
    an_event,
    child_jobs,
    facts_of,
    failed,
    placed,
    succeeded,
    with_cluster,
)
from tests.placement.making import node as room_node
from tests.rules.waiting_gangs import capacity_of, cpu_node

AGES = st.sampled_from([0, 5, 29, 31, 59, 61, 119, 121, 599])

ROOMS = [
    capacity_of(why="nodes: forbidden"),
    capacity_of(),
    capacity_of(room_node("n0"), room_node("n1", unschedulable=True)),
    capacity_of(cpu_node("n0", used=8), cpu_node("n1", used=6)),
    capacity_of(cpu_node("n0", allocatable={"cpu": 500, "pods": 1})),
    capacity_of(room_node("n0", unreadable=frozenset({"cpu"}))),
]


@st.composite
def pods(draw: Any, name: str, job: Any, group: str) -> Any:
    kind = draw(
        st.sampled_from(
            ["silent", "refused", "erring", "gated", "nominated", "up", "unready", "crashed"]
        )
    )
    on = draw(st.sampled_from(["n0", "n1"])) if kind in ("up", "unready", "crashed") else ""
    fields: dict[str, Any] = {"created_at": ago(draw(AGES)), "group": group, "of": job, "on": on}
    if kind == "refused":
        fields["text"] = "0/4 nodes are available: 4 Insufficient cpu."
    if kind == "gated":
        fields["gates"] = ("example.com/gate",)
    if kind == "nominated":
        fields["nominated_node"] = "n0"
    if kind in ("unready", "crashed"):
        fields["ready"] = False
    pod = a_pod(name, **fields)
    if kind == "erring":
        refused = a_pod("x", text="not found").scheduled
        assert refused is not None
        pod = replace(pod, scheduled=replace(refused, reason="SchedulerError"))
    if kind == "crashed":
        state = a_container(running=False, state="waiting", reason="CrashLoopBackOff", restarts=3)
        pod = replace(pod, containers=(state,))
    if draw(st.booleans()) and draw(st.booleans()):
        pod = replace(pod, meta=replace(pod.meta, deleting_since=ago(draw(AGES))))
    ends = draw(st.sampled_from(["", "", "", "Succeeded", "Failed"]))
    return replace(pod, phase=ends, ready=None) if ends and on else pod


@st.composite
def units(draw: Any) -> Unit:
    group_kind = draw(st.sampled_from(["none", "gang", "basic", "missing"]))
    group = "" if group_kind == "none" else "ring"
    driver = a_role("driver", pods=1, ready=draw(st.sampled_from([None, 0, 1])), group_name=group)
    depends = draw(st.sampled_from([(), (Dependency("driver", "Ready"),)]))
    workers = a_role("workers", pods=draw(st.integers(0, 3)), depends_on=depends, group_name=group)
    jobset = a_jobset(
        "run",
        driver,
        workers,
        restarts=draw(st.sampled_from([0, 0, 1, 4])),
        max_restarts=draw(st.sampled_from([None, 3])),
        restarting=draw(st.booleans()),
    )
    jobs, objects, missing_jobs = [], [], []
    for job in child_jobs(jobset, created_at=ago(draw(AGES)), retries=draw(st.integers(0, 2))):
        if draw(st.integers(0, 4)) == 0:
            missing_jobs.append(job.meta.ref.name)
            continue
        suspended = draw(st.integers(0, 4)) == 0
        finish = draw(st.sampled_from([None, None, None, None, failed(), succeeded()]))
        job = replace(job, suspended=suspended, finish=finish)
        jobs.append(job)
        objects += [
            draw(pods(f"{job.meta.ref.name}-{index}", job, group))
            for index in range(draw(st.integers(0, job.desired)))
        ]
    groups = []
    if group_kind in ("gang", "basic"):
        quorum = draw(st.integers(1, 5)) if group_kind == "gang" else None
        condition = draw(st.sampled_from([None, placed(), placed("False", "no room")]))
        groups = [a_group("ring", quorum=quorum, placed=condition)]
    events = [an_event(job, "FailedCreate", "no") for job in jobs if draw(st.integers(0, 9)) == 0]
    facts = facts_of(
        jobset,
        *jobs,
        *objects,
        *groups,
        *events,
        a_node("n0"),
        a_node("n1", ready=draw(st.sampled_from([True, False, None]))),
        jobs=tuple(jobs),
    )
    complete = draw(st.sampled_from([None, ago(10), ago(300)]))
    since = draw(st.sampled_from([None, ago(5), ago(400)]))
    unit = a_unit(
        with_cluster(facts, room=draw(st.sampled_from(ROOMS))),
        missing_jobs=tuple(missing_jobs),
        memory=UnitMemory(created_since=since, whole_at=complete),
    )
    return replace(unit, placing=placing_of(unit))


@given(units())
def test_every_unit_has_a_finding(unit: Unit) -> None:
    findings = [finding for rule in unit_rules() if (finding := rule.find(unit)) is not None]
    assert findings
    for finding in findings:
        assert (
            finding.message[0].isupper()
            or finding.message[0].isdigit()
            or ":" in (finding.message)
            or finding.code in ("dependency-waiting", "quorum-deadlock")
        )
        assert finding.message.rstrip().endswith((".", "”", "…"))
        assert "  " not in finding.message
        if finding.recheck_at is not None:
            assert NOW < finding.recheck_at <= NOW + timedelta(minutes=2)
