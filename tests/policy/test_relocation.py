"""What a relocation is refused for, and what it warns about, before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from gangboard.domain.action import (
    ActionRequest,
    ActionTarget,
    Avoid,
    ClusterLevers,
    Plan,
    PolicyState,
    Verb,
)
from gangboard.domain.capacity import NodeInfo, Requested
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import (
    HostPort,
    PodConstraints,
    PodTerm,
    Requirement,
    Taint,
    Term,
    Toleration,
)
from gangboard.facts.gang import Gang
from gangboard.facts.surroundings import Surroundings, WaitingPods
from gangboard.policy.exclusions import Exclusion, write_exclusion
from gangboard.policy.plan import offers, plan
from tests.domain_objects import (
    NOW,
    a_group,
    a_hold,
    a_job,
    a_jobset,
    a_role,
    child_jobs,
    pods_of,
    requests,
)
from tests.gangs import a_gang

HOST, RACK = "kubernetes.io/hostname", "rack"
GPU = "nvidia.com/gpu"
READY = ClusterLevers(
    cluster="east",
    has_actor=True,
    hold=PolicyState.INSTALLED,
    topology_keys=(RACK,),
    exclusion_proved_at=NOW,
)


def a_node(name: str, *, free: int = 8, rack: str = "r0", **fields: Any) -> NodeInfo:
    """A node with 8 GPUs."""
    values = {
        "labels": {HOST: name, RACK: rack},
        "allocatable": {GPU: 8, "cpu": 8000, "pods": 110},
        "now": Requested({GPU: 8 - free}, 1),
        **fields,
    }
    return NodeInfo(name, **values)


def a_run(**fields: Any) -> tuple[Gang, Owner, Owner]:
    """A JobSet with two Jobs of two pods, and these Jobs."""
    jobset = a_jobset("run", a_role("w", jobs=2, pods=2))
    first, second = child_jobs(jobset, active_pods=2)
    first = replace(first, **{key: fields.pop(key) for key in list(fields) if key in JOB_FIELDS})
    return a_gang(jobset, [first, second], **fields), first, second


JOB_FIELDS = ("suspended", "exclusion", "template_affinity", "group_name", "deadline_seconds")


def pods_on(job: Owner, *nodes: str, gpus: str = "4", **fields: Any) -> tuple[Pod, ...]:
    pods = pods_of(job, len(nodes), **fields)
    ask = {"nvidia.com/gpu": Decimal(gpus), "cpu": Decimal(1)}
    return tuple(
        replace(pod, node=node, phase="Running", requests=ask)
        for pod, node in zip(pods, nodes, strict=True)
    )


def planned(
    gang: Gang,
    job: Owner,
    surroundings: Surroundings,
    avoid: Avoid | None = None,
    levers: ClusterLevers = READY,
) -> Plan:
    ref = job.meta.ref
    target = ActionTarget("east", ref.group, ref.kind, ref.namespace, ref.name, ref.uid)
    asked = ActionRequest(Verb.RELOCATE, target, "ecc", avoid=avoid or Avoid(("n0",)))
    shown = replace(surroundings, names_nodes=True, is_stored=False)
    return plan(gang, levers, asked, by="ada", action="a-1", now=NOW, surroundings=shown)


def around(*nodes: NodeInfo, pods: tuple[Pod, ...], **fields: Any) -> Surroundings:
    return Surroundings(nodes=nodes, pods=pods, **fields)


def test_it_names_where_it_fits_and_what_happens() -> None:
    gang, job, sibling = a_run()
    pods = (*pods_on(job, "n0", "n1"), *pods_on(sibling, "n1", "n1"))
    plan_ = planned(
        gang, job, around(a_node("n0", free=4), a_node("n1", free=0), a_node("n2"), pods=pods)
    )
    assert plan_.allowed, plan_.why_not
    assert plan_.lever == "hold-exclusion"
    texts = " ".join(plan_.reactions)
    assert "It fits now on n2; the scheduler chooses." in plan_.reactions or "n2" in texts
    assert "The other 1 Job of JobSet run keeps running" in texts
    assert "A restart of JobSet run creates" in texts
    assert plan_.before["nodes"] == "n0, n1"
    assert plan_.warnings == ()


def test_its_own_room_elsewhere_counts_as_free() -> None:
    gang, job, _ = a_run()
    pods = pods_on(job, "n0", "n1")
    nodes = (a_node("n0", free=4), a_node("n1", free=4))
    plan_ = planned(gang, job, around(*nodes, pods=pods))
    assert plan_.allowed, plan_.why_not
    assert plan_.after["nodes"] == "such as n1"


def test_nothing_else_fits() -> None:
    gang, job, _ = a_run()
    pods = pods_on(job, "n0", "n0")
    plan_ = planned(gang, job, around(a_node("n0", free=0), a_node("n1", free=3), pods=pods))
    assert plan_.why_not == (
        "Nothing else fits: it has 2 pods of 4 GPUs, and the largest free place outside node n0 is "
        "3 GPUs."
    )
    assert plan_.steps == ()


@pytest.mark.parametrize(
    "node",
    [
        a_node("n1", unschedulable=True),
        a_node("n1", taints=(Taint("bad", "NoSchedule"),)),
        a_node("n1", allocatable={"cpu": 8000, "pods": 110}),
    ],
)
def test_a_node_that_does_not_suit_is_no_room(node: NodeInfo) -> None:
    gang, job, _ = a_run()
    pods = pods_on(job, "n0", "n0")
    plan_ = planned(gang, job, around(a_node("n0", free=0), node, pods=pods))
    assert plan_.why_not == "Nothing else fits: no node outside node n0 suits its 2 pods of 4 GPUs."


def test_a_tolerated_taint_is_room() -> None:
    gang, job, _ = a_run()
    needs = PodConstraints(tolerations=(Toleration(operator="Exists"),))
    pods = pods_on(job, "n0", "n0", needs=needs)
    node = a_node("n1", taints=(Taint("bad", "NoSchedule"),))
    assert planned(gang, job, around(a_node("n0", free=0), node, pods=pods)).allowed


@pytest.mark.parametrize(
    "needs",
    [
        PodConstraints(node_selector=((HOST, "n0"),)),
        PodConstraints(affinity=(Term((Requirement(HOST, "In", ("n0",)),)),)),
    ],
)
def test_a_template_that_asks_for_the_place_is_refused(needs: PodConstraints) -> None:
    gang, job, _ = a_run()
    pods = pods_on(job, "n0", "n0", needs=needs)
    plan_ = planned(gang, job, around(a_node("n0", free=0), a_node("n1"), pods=pods))
    assert plan_.why_not == "Its template asks for node n0: no other place is allowed."


def test_an_earlier_exclusion_is_replaced_and_does_not_count() -> None:
    """The Job may return to the place that the earlier relocation excluded."""
    old = Exclusion(HOST, ("n1",))
    gang, job, _ = a_run(exclusion=write_exclusion(old))
    terms = (Term((Requirement(HOST, "NotIn", ("n1",)),)),)
    pods = pods_on(job, "n0", "n0", needs=PodConstraints(affinity=terms))
    plan_ = planned(gang, job, around(a_node("n0", free=0), a_node("n1"), pods=pods))
    assert plan_.allowed, plan_.why_not
    assert (plan_.before["exclusion"], plan_.after["exclusion"]) == ("node n1", "node n0")


@pytest.mark.parametrize(
    "needs",
    [
        PodConstraints(host_ports=frozenset({HostPort(80)})),
        PodConstraints(anti_affinity=(PodTerm("team-a/app=x"),)),
    ],
)
def test_what_stored_nodes_do_not_tell_is_a_warning(needs: PodConstraints) -> None:
    gang, job, _ = a_run()
    pods = pods_on(job, "n0", "n0", needs=needs)
    nodes = (a_node("n0", free=0), a_node("n1"), a_node("n2"))
    plan_ = planned(gang, job, around(*nodes, pods=pods))
    assert plan_.allowed, plan_.why_not
    assert any("Whether it fits elsewhere is not certain" in text for text in plan_.warnings)


def test_a_rack_cannot_be_left_by_one_job_of_a_group() -> None:
    group = a_group("all", quorum=4, topology_keys=(RACK,))
    gang, job, sibling = a_run(groups=(group,), group_name="all")
    sibling = replace(sibling, group_name="all")
    gang = replace(gang, jobs=(job, sibling))
    pods = (*pods_on(job, "n0", "n1"), *pods_on(sibling, "n1", "n1"))
    nodes = (a_node("n0", free=4), a_node("n1", free=0), a_node("n2"), a_node("n3", rack="r1"))
    surroundings = around(*nodes, pods=pods)
    plan_ = planned(gang, job, surroundings, Avoid(topology=(RACK, "r0")))
    assert plan_.why_not == (
        "Its group must stay in rack r0, where 2 pods of other Jobs run: one Job cannot leave rack r0."
    )
    # A node in it can be left, for a node in the same rack.
    plan_ = planned(gang, job, surroundings, Avoid(("n0",)))
    assert plan_.allowed, plan_.why_not
    assert "n3" not in plan_.after["nodes"]


def test_exclusive_placement_leaves_the_domain_and_needs_a_free_one() -> None:
    gang, job, _ = a_run()
    term = PodTerm(
        "exclusive",
        selector=(Requirement("jobset.sigs.k8s.io/job-key", "Exists"),),
        topology_key=RACK,
    )
    pods = pods_on(job, "n0", "n0", needs=PodConstraints(anti_affinity=(term,)))
    nodes = (a_node("n0", free=0), a_node("n1", rack="r1"))
    free = around(*nodes, pods=pods, owners_on={"n0": frozenset({"run"})})
    plan_ = planned(gang, job, free)
    assert plan_.why_not.startswith(
        "JobSet run gives each Job a rack of its own: exclude the whole rack"
    )
    assert planned(gang, job, free, Avoid(topology=(RACK, "r0"))).allowed
    taken = replace(free, owners_on={**free.owners_on, "n1": frozenset({"other"})})
    plan_ = planned(gang, job, taken, Avoid(topology=(RACK, "r0")))
    assert (
        plan_.why_not
        == "JobSet run gives each Job a rack of its own, and every other rack has pods of a gang."
    )


def test_pods_on_a_silent_node_never_end() -> None:
    gang, job, _ = a_run()
    pods = pods_on(job, "n0", "n0")
    plan_ = planned(gang, job, around(a_node("n0", free=0, ready=False), a_node("n1"), pods=pods))
    assert "Node n0 is not ready, and its pods do not end by themselves" in plan_.why_not


def test_waiting_pods_that_fit_into_its_room_are_a_warning() -> None:
    gang, job, _ = a_run()
    pods = pods_on(job, "n0", "n0")
    waiting = (WaitingPods(3, requests(cpu="1")), WaitingPods(9, {GPU: Decimal(8)}))
    surroundings = around(a_node("n0", free=0), a_node("n1"), pods=pods, waiting=waiting)
    plan_ = planned(gang, job, surroundings)
    assert any(
        "3 waiting pods could take its room while it moves" in text for text in plan_.warnings
    )


def test_unknown_nodes_are_not_called_room() -> None:
    gang, job, _ = a_run()
    plan_ = planned(gang, job, Surroundings(why="nodes: forbidden"))
    assert (
        plan_.why_not
        == f"Whether Job {job.meta.ref.name} fits elsewhere is unknown: nodes: forbidden."
    )


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"suspended": True}, "is suspended: it has no pods to move."),
    ],
)
def test_a_job_without_pods_is_refused(fields: Mapping[str, Any], sentence: str) -> None:
    gang, job, _ = a_run(**fields)
    assert sentence in planned(gang, job, around(a_node("n0"), pods=())).why_not


def test_a_held_job_is_refused() -> None:
    gang, job, _ = a_run(suspended=True)
    gang = replace(gang, holds=(a_hold(job, by="ada"),))
    assert "resume it first" in planned(gang, job, around(a_node("n0"), pods=())).why_not


def test_without_a_hold_the_command_that_installs_it_is_named() -> None:
    gang, job, _ = a_run()
    levers = replace(READY, hold=PolicyState.MISSING)
    plan_ = planned(gang, job, around(a_node("n0"), pods=pods_on(job, "n0", "n0")), levers=levers)
    assert "cannot be relocated here" in plan_.why_not
    assert "print_rbac" in plan_.needs


def test_a_refused_change_of_a_template_is_a_warning() -> None:
    gang, job, _ = a_run()
    surroundings = around(a_node("n0", free=0), a_node("n1"), pods=pods_on(job, "n0", "n0"))
    for levers, text in (
        (replace(READY, exclusion_proved_at=None), "No Job was relocated in this cluster yet."),
        (replace(READY, exclusion_refuted_at=NOW), "would restart for nothing"),
    ):
        plan_ = planned(gang, job, surroundings, levers=levers)
        assert any(text in warning for warning in plan_.warnings)


def test_a_whole_job_moves_without_a_hold() -> None:
    job = a_job("alone", active_pods=2)
    gang = a_gang(job)
    pods = pods_on(job, "n0", "n0")
    surroundings = around(a_node("n0", free=0), a_node("n1"), pods=pods)
    levers = replace(READY, hold=PolicyState.MISSING)
    plan_ = planned(gang, job, surroundings, levers=levers)
    assert (plan_.allowed, plan_.lever) == (True, "exclusion"), plan_.why_not


def test_only_jobs_have_the_button() -> None:
    gang, job, _ = a_run()
    verbs = [offer.verb for offer in offers(gang, READY, job.meta.ref.uid, NOW)]
    assert verbs == [Verb.SUSPEND, Verb.RESUME, Verb.RELOCATE]
    verbs = [offer.verb for offer in offers(gang, READY, gang.owner.meta.ref.uid, NOW)]
    assert verbs == [Verb.SUSPEND, Verb.RESUME]


def test_an_operator_without_the_nodes_gets_no_names() -> None:
    gang, job, _ = a_run()
    pods = pods_on(job, "n0", "n0")
    ref = job.meta.ref
    target = ActionTarget("east", ref.group, ref.kind, ref.namespace, ref.name, ref.uid)
    surroundings = around(a_node("n0", free=0), a_node("secret"), pods=pods)

    def plan_for(*nodes: str) -> Plan:
        asked = ActionRequest(Verb.RELOCATE, target, "ecc", avoid=Avoid(nodes))
        return plan(gang, READY, asked, by="ada", action="", now=NOW, surroundings=surroundings)

    assert "secret" not in str(plan_for("n0"))
    hidden, missing = plan_for("secret").why_not, plan_for("nowhere").why_not
    assert hidden.replace("secret", "nowhere") == missing
