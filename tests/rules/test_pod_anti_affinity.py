"""`pod-anti-affinity`: from arithmetic, or from the scheduler's text if the arithmetic does not cover it."""

from dataclasses import replace
from typing import Any

from gangboard.domain.capacity import NodeInfo, Requested
from gangboard.domain.health import Health
from gangboard.domain.pod_constraints import PodConstraints, PodTerm, Requirement
from tests.rules.evaluation import first_code, require_finding
from tests.rules.waiting_gangs import (
    capacity_of,
    cpu_node,
    gang,
    message_of,
    pod_requests,
    selecting,
)
from tests.sentence_values import values_in

RING = PodTerm("default/app=ring")
"""The selector matches every pod."""
DATABASE = PodTerm("/app=db", None, (Requirement("app", "In", ("db",)),))
ANTI_AFFINITY = PodConstraints(anti_affinity=(RING,))
SAYS = "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules."


def test_five_pods_on_three_nodes() -> None:
    unit = gang(
        5, pod_requests(cpu="1"), capacity_of(*map(cpu_node, "abc")), needs=ANTI_AFFINITY, text=SAYS
    )
    finding = require_finding("pod-anti-affinity", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "5 pods must be on different nodes, and only 3 nodes could host one: only 3 of 5 fit."
    )
    assert first_code(unit) == "pod-anti-affinity"


def test_enough_nodes_some_with_pods_of_the_set() -> None:
    taken = replace(cpu_node("a"), now=Requested({"cpu": 1000}, 1, matched_terms={RING: 1}))
    unit = gang(
        3,
        pod_requests(cpu="1"),
        capacity_of(taken, cpu_node("b"), cpu_node("c")),
        needs=ANTI_AFFINITY,
        text=SAYS,
    )
    finding = require_finding("pod-anti-affinity", unit)
    assert finding.health is Health.WAITING
    assert values_in(finding.message) == "3 2 3 2 3"


def test_pods_that_only_have_the_label_are_in_the_way_of_members_with_the_rule() -> None:
    """The rule is about others: members share nodes with their like."""
    needs = PodConstraints(anti_affinity=(DATABASE,))
    beside = replace(cpu_node("a"), now=Requested({"cpu": 1000}, 1, matched_terms={DATABASE: 1}))
    unit = gang(
        9, pod_requests(cpu="1"), capacity_of(beside, cpu_node("b")), needs=needs, text=SAYS
    )
    finding = require_finding("pod-anti-affinity", unit)
    assert finding.health is Health.WAITING
    assert finding.message == (
        "9 pods must not share a node with certain other pods, and 1 of the 2 usable nodes has "
        "such a pod: only 8 of 9 fit."
    )


def test_the_rule_of_a_pod_that_runs_keeps_members_with_its_label_out() -> None:
    remaining = replace(cpu_node("a"), now=Requested({"cpu": 1000}, 1, anti_affinity={DATABASE: 1}))
    request: dict[str, Any] = {"text": SAYS, "labels": {"app": "db"}}
    finding = require_finding(
        "pod-anti-affinity", gang(2, pod_requests(cpu="1"), capacity_of(remaining), **request)
    )
    assert finding.health is Health.WAITING
    assert finding.message == (
        "2 pods must not share a node with certain other pods, and the only usable node has such "
        "a pod."
    )


def in_zone(zone: str, info: NodeInfo, **load: Any) -> NodeInfo:
    return replace(info, labels={**info.labels, "zone": zone}, now=Requested({"cpu": 0}, 1, **load))


ZONED = replace(DATABASE, name="/app=db by zone", topology_key="zone")
EACH = PodConstraints(
    anti_affinity=(replace(RING, name="default/app=ring by zone", topology_key="zone"),)
)


def test_more_members_than_zones() -> None:
    nodes = in_zone("a", cpu_node("a1")), in_zone("a", cpu_node("a2")), in_zone("b", cpu_node("b1"))
    finding = require_finding(
        "pod-anti-affinity", gang(3, pod_requests(cpu="1"), capacity_of(*nodes), needs=EACH)
    )
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "3 2 2 3"


def test_the_zone_already_has_a_matching_pod() -> None:
    (term,) = EACH.anti_affinity
    nodes = (
        in_zone("a", cpu_node("a"), matched_terms={term: 1}),
        in_zone("a", cpu_node("b")),
        in_zone("b", cpu_node("c")),
    )
    finding = require_finding(
        "pod-anti-affinity", gang(2, pod_requests(cpu="1"), capacity_of(*nodes), needs=EACH)
    )
    assert finding.health is Health.WAITING
    assert finding.message == (
        "2 pods must not share a value of zone, and 1 of the 2 usable values takes one now: "
        "at most 1 of 2 fits."
    )


def test_a_zone_with_a_pod_that_keeps_them_away() -> None:
    """Its own node has no room for it, and the others of its zone are empty."""
    nodes = (
        in_zone("a", cpu_node("a"), anti_affinity={ZONED: 1}),
        in_zone("a", cpu_node("b")),
        in_zone("a", cpu_node("c")),
    )
    unit = gang(2, pod_requests(cpu="1"), capacity_of(*nodes), labels={"app": "db"})
    finding = require_finding("pod-anti-affinity", unit)
    assert finding.health is Health.WAITING
    assert finding.message == (
        "2 pods must not share a value of zone with certain pods, and the only usable value "
        "has such a pod."
    )


def test_a_zone_with_a_pod_that_stays() -> None:
    here = in_zone("a", cpu_node("a"), anti_affinity={ZONED: 1})
    nodes = replace(here, pinned=here.now), in_zone("a", cpu_node("b"))
    unit = gang(2, pod_requests(cpu="1"), capacity_of(*nodes), labels={"app": "db"})
    finding = require_finding("pod-anti-affinity", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "2 pods must not share a value of zone with certain pods, and no node could host one."
    )


def test_rules_of_others_that_are_about_other_nodes_are_not_named() -> None:
    """A pod elsewhere has a rule about the same label, but its rack has none of these nodes."""
    racked = replace(DATABASE, name="/app=db by rack", topology_key="rack")
    far = replace(cpu_node("far", used=8), labels={"rack": "r"})
    far = replace(far, now=replace(far.now, anti_affinity={racked: 1}))
    here = replace(in_zone("a", cpu_node("a"), anti_affinity={ZONED: 1}), taints=())
    unit = gang(
        1,
        pod_requests(cpu="1"),
        capacity_of(here, far),
        needs=selecting(zone="a"),
        labels={"app": "db"},
    )
    assert require_finding("pod-anti-affinity", unit).message == (
        "1 pod must not share a value of zone with certain pods, and the only usable value "
        "has such a pod."
    )


def test_a_rule_of_its_own_that_names_no_value() -> None:
    """As JobSet writes them: whom they keep away is known by theirs, not by its own."""
    of_job = Requirement("job-key", "Exists"), Requirement("job-key", "NotIn", ("mine",))
    mine = PodTerm("/job-key,… by zone", None, of_job, topology_key="zone")
    theirs = replace(mine, name="another", selector=(Requirement("job-key", "NotIn", ("theirs",)),))
    needs, labels = PodConstraints(anti_affinity=(mine,)), {"job-key": "mine"}
    taken = (
        in_zone("a", cpu_node("a"), anti_affinity={theirs: 1}),
        in_zone("b", cpu_node("b"), anti_affinity={theirs: 1}),
    )
    unit = gang(
        1, pod_requests(cpu="1"), capacity_of(*taken), needs=needs, labels=labels, text=SAYS
    )
    assert values_in(require_finding("pod-anti-affinity", unit).message) == "1 2"
    # The scheduler is quoted if no pod is known to keep it away.
    free = in_zone("a", cpu_node("a")), in_zone("b", cpu_node("b"))
    unit = gang(1, pod_requests(cpu="1"), capacity_of(*free), needs=needs, labels=labels, text=SAYS)
    assert values_in(require_finding("pod-anti-affinity", unit).message) == "1 3"


def test_anti_affinity_by_host_and_by_zone() -> None:
    nodes = (
        in_zone("a", cpu_node("a"), anti_affinity={ZONED: 1}),
        in_zone("b", cpu_node("b"), matched_terms={RING: 1}),
    )
    unit = gang(
        1, pod_requests(cpu="1"), capacity_of(*nodes), needs=ANTI_AFFINITY, labels={"app": "db"}
    )
    assert require_finding("pod-anti-affinity", unit).message == (
        "1 pod must not share a node or a value of zone with certain other pods, and 2 of the 2 "
        "usable nodes are near such a pod."
    )


def test_the_scheduler_is_quoted_for_uncomputed_affinity() -> None:
    needs = PodConstraints(unsupported=("pod anti-affinity",))
    unit = gang(
        2, pod_requests(cpu="1"), capacity_of(cpu_node("a"), cpu_node("b")), needs=needs, text=SAYS
    )
    finding = require_finding("pod-anti-affinity", unit)
    assert finding.health is Health.WAITING
    assert finding.message == (
        "2 pods wait together; 1 pod does not fit on any node: required anti-affinity is not "
        "met on 3 nodes."
    )


def test_twin_with_full_nodes_is_short() -> None:
    full = capacity_of(cpu_node("a", used=8), cpu_node("b", used=8))
    assert (
        first_code(gang(2, pod_requests(cpu="1"), full, needs=ANTI_AFFINITY))
        == "insufficient-resources"
    )
    assert message_of(
        "exceeds-capacity", gang(9, pod_requests(cpu="2"), capacity_of(cpu_node("a")), text=SAYS)
    )
