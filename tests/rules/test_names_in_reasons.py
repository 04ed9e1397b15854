"""Rules that say why members have no node, beside a finding of their own: names go with references."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangboard.domain.capacity import NodeInfo, Requested
from gangboard.domain.objects import node_ref
from gangboard.domain.pod_constraints import HOSTNAME, PodConstraints, PodTerm, Requirement, Spread
from gangboard.facts.unit import Unit
from tests.domain_objects import a_condition, a_pod, ago
from tests.rules.evaluation import require_finding, whole_memory
from tests.rules.waiting_gangs import capacity_of, cpu_node, gang, pod_requests

EVEN = PodTerm(
    "spread team-a/app=even", frozenset({"team-a"}), (Requirement("app", "In", ("even",)),)
)
SAYS = "0/2 nodes are available: 2 node(s) didn't match pod topology spread constraints."


def with_pods(name: str, even: int, *, used: int = 0) -> NodeInfo:
    objects = cpu_node(name, used=used)
    return replace(
        objects,
        now=Requested(objects.now.amounts, even, matched_terms={EVEN: even} if even else {}),
    )


def two_of_four(quorum: int) -> Unit:
    """Two members run on `mine`; `gpu-07`, on which none is, has no room for the rest."""
    unit = gang(
        4,
        pod_requests(cpu="1"),
        capacity_of(with_pods("gpu-07", 0, used=8), with_pods("mine", 2, used=2)),
        quorum=quorum,
        on=("mine", "mine"),
        needs=PodConstraints(spreads=(Spread(HOSTNAME, EVEN),)),
        labels={"app": "even"},
        text=SAYS,
    )
    return replace(unit, memory=whole_memory())


@pytest.mark.parametrize(
    ("code", "quorum", "gone"),
    [("below-size", 2, False), ("lost-members", 4, False), ("node-lost", 4, True)],
)
def test_a_node_in_the_sentence_is_named_by_a_reference(code: str, quorum: int, gone: bool) -> None:
    unit = two_of_four(quorum)
    if gone:
        target = a_condition("DisruptionTarget", reason="DeletionByPodGC", since=ago(20))
        old = a_pod("old", group="ring", on="n9", phase="Failed", ready=None, disruption=target)
        unit = replace(unit, pods=(*unit.pods, old))
    finding = require_finding(code, unit)
    assert ": gpu-07 has none and no room" in finding.message
    (least,) = [item for item in finding.evidence if item.label.startswith("fewest by")]
    assert (least.value, least.source) == ("gpu-07", node_ref("gpu-07"))
