"""Messages about members that topology spread keeps from nodes with free capacity."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gangboard.domain.capacity import NodeInfo, Requested
from gangboard.domain.health import Health
from gangboard.domain.pod_constraints import HOSTNAME, PodConstraints, PodTerm, Requirement, Spread
from gangboard.placement.unit_placement import fit_rows
from tests.rules.evaluation import first_code as first
from tests.rules.evaluation import require_finding as found
from tests.rules.waiting_gangs import capacity_of as room_of
from tests.rules.waiting_gangs import cpu_node as big
from tests.rules.waiting_gangs import evidence_values as values
from tests.rules.waiting_gangs import gang
from tests.rules.waiting_gangs import mixed_gang as mixed
from tests.rules.waiting_gangs import pod_requests as ask
from tests.rules.waiting_gangs import ungrouped_gang as plain

ZONE = "topology.kubernetes.io/zone"
EVEN = PodTerm(
    "spread team-a/app=even", frozenset({"team-a"}), (Requirement("app", "In", ("even",)),)
)
LABELS = {"app": "even"}
ONE_CORE = ask(cpu="1")
SAYS = "0/2 nodes are available: 2 node(s) didn't match pod topology spread constraints."


def spread(key: str = ZONE, **options: Any) -> PodConstraints:
    return PodConstraints(spreads=(Spread(key, EVEN, **options),))


def in_zone(name: str, zone: str, *, used: int = 0, even: int = 0) -> NodeInfo:
    """A node of 8 cores in a zone; on it are so many pods that count."""
    created = big(name, used=used)
    now = Requested(created.now.amounts, even, matched_terms={EVEN: even} if even else {})
    return replace(created, labels={**created.labels, ZONE: zone}, now=now)


def test_a_full_zone_holds_the_others_back() -> None:
    nodes = room_of(in_zone("a0", "a"), in_zone("b0", "b", used=6, even=1))
    unit = gang(8, ONE_CORE, nodes, needs=spread(), labels=LABELS, text=SAYS)
    finding = found("spread-constraints", unit)
    assert finding.health is Health.WAITING
    # Zone b comes to 3, zone a may have 4.
    assert finding.message == (
        "8 pods must be spread over topology.kubernetes.io/zone (maxSkew 1), and only 6 of 8 fit "
        "now: b has 1 and room for 2 more."
    )
    assert first(unit) == "spread-constraints"
    assert values(finding, "fewest by topology.kubernetes.io/zone") == ["b"]


def test_a_zone_without_free_capacity() -> None:
    nodes = room_of(in_zone("a0", "a"), in_zone("b0", "b", used=8))
    unit = gang(4, ONE_CORE, nodes, needs=spread(), labels=LABELS, text=SAYS)
    assert found("spread-constraints", unit).message == (
        "4 pods must be spread over topology.kubernetes.io/zone (maxSkew 1), and only 1 of 4 "
        "fits now: b has none and no room."
    )


def test_a_cordoned_zone_holds_them_back_for_good_until_it_is_uncordoned() -> None:
    nodes = room_of(in_zone("a0", "a"), replace(in_zone("b0", "b"), unschedulable=True))
    unit = gang(4, ONE_CORE, nodes, needs=spread(), labels=LABELS, text=SAYS)
    finding = found("spread-constraints", unit)
    assert finding.health is Health.BLOCKED
    assert "only 1 of 4 fits on empty nodes" in finding.message
    assert finding.advice_texts[0].startswith("Uncordon node b0: ")


def test_nodes_without_the_label() -> None:
    unit = gang(2, ONE_CORE, room_of(big("a"), big("b")), needs=spread(), labels=LABELS, text=SAYS)
    finding = found("spread-constraints", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "2 pods must be spread over topology.kubernetes.io/zone (maxSkew 1), and none fits "
        "on empty nodes: no node with room for one has that label."
    )


def test_too_few_zones() -> None:
    nodes = room_of(in_zone("a0", "a"), in_zone("b0", "b"))
    needs = spread(min_domains=3, max_skew=2)
    unit = gang(6, ONE_CORE, nodes, needs=needs, labels=LABELS, text=SAYS)
    finding = found("spread-constraints", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "6 pods must be spread over topology.kubernetes.io/zone (maxSkew 2), and only 4 of 6 "
        "fit on empty nodes: 2 of at least 3 values (minDomains) exist."
    )


def test_pods_that_do_not_match_their_own_selector() -> None:
    nodes = room_of(in_zone("a0", "a", even=2), in_zone("b0", "b", used=7))
    unit = gang(2, ONE_CORE, nodes, needs=spread(), text=SAYS)
    assert found("spread-constraints", unit).message == (
        "2 pods must be spread over topology.kubernetes.io/zone (maxSkew 1), and only 1 of 2 fits "
        "now: 1 of 2 values has too many of the pods that it counts."
    )


def both() -> dict[str, Any]:
    """By zone and by host, as people ask for it."""
    spreads = (Spread(ZONE, EVEN), Spread(HOSTNAME, EVEN))
    needs = PodConstraints(spreads=spreads, spread_keys=(HOSTNAME, ZONE))
    return {"needs": needs, "labels": LABELS, "text": SAYS}


def test_two_that_no_placing_meets_together() -> None:
    """(2 1 | 2): a third on b0 is two more than on a1, a fourth in zone a two more than in b."""
    nodes = room_of(in_zone("a0", "a"), in_zone("a1", "a"), in_zone("b0", "b"))
    finding = found("spread-constraints", gang(6, ONE_CORE, nodes, **both()))
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "6 pods must be spread over topology.kubernetes.io/zone (maxSkew 1) and "
        "kubernetes.io/hostname (maxSkew 1), and at most 5 of 6 fit on empty nodes."
    )


def test_a_full_zone_makes_one_of_two_constraints_unsatisfiable() -> None:
    nodes = room_of(in_zone("a0", "a"), in_zone("b0", "b", used=8))
    finding = found("spread-constraints", gang(4, ONE_CORE, nodes, **both()))
    assert finding.health is Health.WAITING
    assert finding.message.endswith("and at most 1 of 4 fits now.")


def test_two_satisfiable_constraints_are_left_to_the_scheduler() -> None:
    """Some order of placing ends with all, and whether the scheduler's does is not claimed."""
    nodes = room_of(in_zone("a0", "a"), in_zone("b0", "b"))
    finding = found("spread-constraints", gang(4, ONE_CORE, nodes, **both()))
    assert finding.health is Health.WAITING
    assert (
        "topology spread constraints are not met on 2 nodes (by kubernetes.io/hostname and "
        in finding.message
    )


def test_the_table_names_two_uncomputed_constraints() -> None:
    nodes = room_of(in_zone("a0", "a"), in_zone("b0", "b"))
    (row,) = fit_rows(gang(4, ONE_CORE, nodes, **both()))
    assert row.unsupported == ("spread constraints",)


def test_a_node_name_has_a_reference() -> None:
    nodes = room_of(big("a"), big("b", used=8))
    unit = plain(4, ONE_CORE, nodes, needs=spread(HOSTNAME), labels=LABELS, text=SAYS)
    finding = found("spread-constraints", unit)
    (item,) = [item for item in finding.evidence if item.label == f"fewest by {HOSTNAME}"]
    assert item.value == "b"
    assert item.source is not None
    assert (item.source.kind, item.source.name) == ("Node", "b")


def test_members_with_a_node_are_among_those_that_count() -> None:
    nodes = room_of(in_zone("a0", "a", even=2), in_zone("b0", "b", even=2))
    fits = plain(6, ONE_CORE, nodes, on=("a0", "b0"), needs=spread(), labels=LABELS, text=SAYS)
    assert fits.placing is not None
    assert fits.placing.assessment is not None
    assert fits.placing.assessment.now.answer == "yes"


def test_nominated_pods_may_count_later() -> None:
    """Own members that are nominated are placed anew with the others."""
    a, b = in_zone("a0", "a"), in_zone("b0", "b", used=8)
    held = replace(a, now=Requested(a.now.amounts, 1, matched_terms={EVEN.of_nominated: 1}))
    needs: dict[str, Any] = {"needs": spread(), "labels": LABELS, "text": SAYS}
    unit = gang(4, ONE_CORE, room_of(held, b), **needs)
    assert unit.placing is not None
    assert unit.placing.assessment is not None
    assert unit.placing.assessment.now.but_for == ("spread constraints",)
    own = gang(1, ONE_CORE, room_of(held, b), **needs, nominated_node="a0")
    assert own.placing is not None
    assert own.placing.assessment is not None
    assert own.placing.assessment.now.answer == "yes"


def test_capacity_is_to_be_freed_in_the_full_zone() -> None:
    """With 3 pods in zone b the other 5 of 8 are too many in zone a; with 4 in each all are placed."""
    nodes = room_of(in_zone("a0", "a"), in_zone("b0", "b", used=5))
    unit = gang(8, ONE_CORE, nodes, needs=spread(), labels=LABELS, text=SAYS)
    finding = found("spread-constraints", unit)
    assert "and only 7 of 8 fit now" in finding.message
    assert "Wait for 1 CPU on node b0 to become free: then all 8 pods fit." in finding.advice_texts
    # A removed pod could be one of the counted pods.
    nodes = room_of(in_zone("a0", "a"), in_zone("b0", "b", used=7, even=1))
    unit = gang(8, ONE_CORE, nodes, needs=spread(), labels=LABELS, text=SAYS)
    assert not any("Free" in text for text in found("spread-constraints", unit).advice_texts)


def test_the_table_counts_the_spread_limit() -> None:
    nodes = room_of(in_zone("a0", "a", even=1), in_zone("b0", "b", used=8))
    unit = gang(4, ONE_CORE, nodes, needs=spread(), labels=LABELS, text=SAYS)
    (row,) = fit_rows(unit)
    assert (row.fits_now, row.fits_empty, row.open_nodes) == (0, 16, 0)
    assert [(item.label, item.nodes, item.examples) for item in row.saturated] == [
        ("cpu", 1, ("b0",)),
        ("topology spread", 1, ("a0",)),
    ]
    assert row.unsupported == ()


# Twins


def test_twin_with_spread_and_a_shortage() -> None:
    nodes = room_of(in_zone("a0", "a", used=7), in_zone("b0", "b", used=7))
    unit = gang(4, ONE_CORE, nodes, needs=spread(), labels=LABELS, text=SAYS)
    assert first(unit) == "insufficient-resources"


def test_twin_with_two_undecidable_shapes() -> None:
    nodes = room_of(in_zone("a0", "a"), in_zone("b0", "b", used=8))
    two = ask(cpu="2")
    unit = mixed(nodes, ("w", 2, ONE_CORE, spread()), ("d", 1, two, PodConstraints()), text=SAYS)
    assert unit.placing is not None
    assert unit.placing.assessment is not None
    assert unit.placing.assessment.now.but_for == ("spread constraints",)
    # The scheduler's text decides then.
    assert first(unit) == "spread-constraints"
