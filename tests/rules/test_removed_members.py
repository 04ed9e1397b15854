"""When members were removed, and why their nodes take no pods now, in `lost-members`, `below-size` and `node-lost`."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.domain.objects import node_ref
from gangboard.domain.pod_constraints import CORDON, PodConstraints, Taint, Toleration
from gangboard.domain.suspension import FieldWriter
from gangboard.facts.unit import Unit
from tests.domain_objects import (
    Made,
    a_condition,
    a_group,
    a_job,
    a_node,
    a_pod,
    ago,
    placed,
    pods_of,
)
from tests.rules.evaluation import require_finding, unit_of, whole_memory
from tests.rules.waiting_gangs import evidence_values

BY_HAND = FieldWriter("kubectl-cordon", ago(90), is_exact=True)
MAINTENANCE = Taint("maintenance", "NoExecute")
ROUTINE = Taint("nvidia.com/gpu", "NoSchedule")


def lost(
    *objects: Made,
    reasons: tuple[str, ...] = ("EvictionByEvictionAPI",),
    seconds: tuple[float, ...] = (30, 30, 30),
    quorum: int = 4,
    **fields: Any,
) -> Unit:
    """A gang of four. The first members were removed from `n1`, `n2` … for these reasons and are still there."""
    job = a_job("train", pods=4, group_name="ring")
    group = a_group("ring", quorum=quorum, placed=placed())
    needs = PodConstraints(tolerations=(Toleration("nvidia.com/gpu", "Exists"),))
    removed = [
        a_pod(
            f"train-{index}",
            group="ring",
            on=f"n{index + 1}",
            deleting_since=ago(-20),
            needs=needs,
            disruption=a_condition("DisruptionTarget", reason=reason, since=ago(seconds[index])),
        )
        for index, reason in enumerate(reasons)
    ]
    rest = pods_of(job, 4, on="n0", group="ring")[len(reasons) :]
    return unit_of(job, group, *rest, *removed, *objects, memory=whole_memory(), **fields)


def message_of(*objects: Made, code: str = "lost-members", **fields: Any) -> str:
    return require_finding(code, lost(*objects, **fields)).message


def test_an_eviction_from_a_cordoned_node_has_its_time_and_the_cordon() -> None:
    node = a_node(
        "n1", unschedulable=True, cordoned_by=BY_HAND, taints=(Taint(CORDON, "NoSchedule"),)
    )
    finding = require_finding("lost-members", lost(node))
    assert finding.message == (
        "3 of 4 members run. 1 was evicted at 2026-11-21 11:59 UTC; its node n1 is cordoned with "
        "kubectl since 2026-11-21 11:58 UTC. 1 pod is still being deleted."
    )
    # Pages hide the names of nodes by their references.
    (item,) = [item for item in finding.evidence if item.label == "spec.unschedulable"]
    assert (item.value, item.source) == (
        "true, set with kubectl at 2026-11-21 11:58 UTC",
        node_ref("n1"),
    )


@pytest.mark.parametrize(
    ("nodes", "fields"),
    [
        ((a_node("n1"),), {}),
        ((), {}),
        ((a_node("n2", unschedulable=True, cordoned_by=BY_HAND),), {}),
        (
            (a_node("n1", unschedulable=True, cordoned_by=BY_HAND),),
            {"facts": {"nodes_known": False}},
        ),
        # The pod tolerates the taint, so it tells nothing about the eviction.
        ((a_node("n1", taints=(ROUTINE,)),), {}),
        ((a_node("n1", taints=(Taint("old", "PreferNoSchedule"),)),), {}),
    ],
    ids=["open", "unknown", "another node", "nodes not readable", "tolerated", "preference"],
)
def test_a_node_that_explains_nothing_is_not_mentioned(
    nodes: tuple[Made, ...], fields: dict[str, Any]
) -> None:
    finding = require_finding("lost-members", lost(*nodes, **fields))
    assert finding.message == (
        "3 of 4 members run. 1 was evicted at 2026-11-21 11:59 UTC. 1 pod is still being deleted."
    )
    assert not evidence_values(finding, "spec.unschedulable")
    assert not evidence_values(finding, "spec.taints")


def test_a_cordon_without_a_known_author() -> None:
    assert " its node n1 is cordoned. " in message_of(a_node("n1", unschedulable=True))


@pytest.mark.parametrize(
    ("manager", "changed"),
    [
        ("kubectl-taint", " (changed with kubectl at 2026-11-21 11:59 UTC or before)"),
        # A controller writes the whole list. Its name does not tell who set this taint.
        ("kube-controller-manager", ""),
    ],
)
def test_an_untolerated_taint_is_told(manager: str, changed: str) -> None:
    node = a_node("n1", taints=(ROUTINE, MAINTENANCE), tainted_by=FieldWriter(manager, ago(40)))
    finding = require_finding("lost-members", lost(node))
    assert f"; its node n1 has the taint maintenance:NoExecute{changed}. " in finding.message
    assert len(evidence_values(finding, "spec.taints")) == 1


def test_a_drain_of_several_nodes_is_one_clause() -> None:
    nodes = [
        a_node(
            f"n{number}",
            unschedulable=True,
            cordoned_by=FieldWriter("kubectl", ago(at), is_exact=True),
        )
        for number, at in ((1, 100), (2, 35))
    ]
    reasons = ("EvictionByEvictionAPI", "EvictionByEvictionAPI")
    assert message_of(*nodes, reasons=reasons, seconds=(70, 5)).startswith(
        "2 of 4 members run. 2 were evicted, the last at 2026-11-21 11:59 UTC; their nodes n1 and "
        "n2 are cordoned with kubectl, the last at 2026-11-21 11:59 UTC. "
    )


def test_nodes_in_different_states_have_a_clause_each() -> None:
    nodes = (a_node("n1", unschedulable=True), a_node("n2", taints=(MAINTENANCE,)))
    reasons = ("EvictionByEvictionAPI", "EvictionByEvictionAPI")
    assert (
        "; their node n1 is cordoned; their node n2 has the taint maintenance:NoExecute. "
        in message_of(*nodes, reasons=reasons)
    )


def test_a_preemption_has_nothing_to_do_with_its_node() -> None:
    node = a_node("n1", unschedulable=True, cordoned_by=BY_HAND)
    reasons = ("PreemptionByScheduler", "TerminationByKubelet")
    assert message_of(node, reasons=reasons).startswith(
        "2 of 4 members run. 1 was ended by its kubelet at 2026-11-21 11:59 UTC. 1 was preempted by "
        "the scheduler at 2026-11-21 11:59 UTC. "
    )


def test_a_gang_at_its_quorum_tells_the_same() -> None:
    node = a_node("n1", unschedulable=True, cordoned_by=BY_HAND)
    assert "; its node n1 is cordoned with kubectl since 2026-11-21 11:58 UTC. " in message_of(
        node, quorum=3, code="below-size"
    )


def test_members_that_a_taint_drove_away() -> None:
    """The node is ready, so only its taint tells what happened."""
    node = a_node("n1", taints=(MAINTENANCE,), tainted_by=FieldWriter("kubectl-taint", ago(40)))
    unit = lost(node, reasons=("DeletionByTaintManager",))
    finding = require_finding("node-lost", unit)
    assert finding.message == (
        "3 of 4 members run: members on node n1 were lost at 2026-11-21 11:59 UTC. Node n1 has the "
        "taint maintenance:NoExecute (changed with kubectl at 2026-11-21 11:59 UTC or before). 1 pod "
        "is still being deleted."
    )
    assert len(evidence_values(finding, "spec.taints")) == 1
