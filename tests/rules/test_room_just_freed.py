"""Members that have fitted for a short time: the scheduler needs a moment to notice.

It tries them again when pods leave and nodes come, after a backoff of up to 10 s. Before that the sentence does
not say that it misses the place.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.health import Health
from gangboard.domain.pod_constraints import PodConstraints
from gangboard.domain.verdict import UnitMemory, Verdict
from gangboard.facts.scheduler_text import retry_due
from gangboard.facts.unit import Unit
from tests.domain_objects import (
    NOW,
    a_group,
    a_job,
    a_pod,
    ago,
    an_event,
    facts_of,
    placed,
    requests,
)
from tests.placement.making import GPU, node
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding
from tests.rules.waiting_gangs import (
    capacity_of,
    evidence_values,
    fitting_for,
    gang,
    mixed_gang,
    pod_requests,
    refused_again,
    ungrouped_gang,
    with_placement,
)

TWO = (node("n0"), node("n1"))
PIECES = (node("n0", gpu=8, used=3), node("n1", gpu=8, used=5))


def two_of_four() -> Unit:
    return gang(2, pod_requests(4), capacity_of(*TWO))


def of_two_shapes(room: ClusterCapacity | None = None) -> Unit:
    shapes = (
        ("large", 1, pod_requests(5), PodConstraints()),
        ("small", 1, pod_requests(3), PodConstraints()),
    )
    return mixed_gang(room or capacity_of(*PIECES), *shapes)


@pytest.mark.parametrize("seconds", [None, 0, 29])
@pytest.mark.parametrize("unit", [two_of_four(), of_two_shapes()], ids=["equal", "mixed"])
def test_the_scheduler_is_given_the_time_to_try_again(unit: Unit, seconds: float | None) -> None:
    fresh = unfit_before(unit) if seconds is None else fitting_for(unit, seconds)
    finding = require_finding("insufficient-resources", fresh)
    assert first_code(fresh) == "insufficient-resources"
    assert finding.health is Health.WAITING
    assert finding.message == (
        "2 pods would fit now, but no new attempt by the scheduler has been seen."
    )
    assert finding.advice_texts == ()
    assert set(evidence_values(finding, "would fit on")) == {"n0", "n1"}
    assert evaluate("fragmented", fresh) is None
    assert retry_due(fresh) == NOW + timedelta(seconds=30 - (seconds or 0))


def unfit_before(unit: Unit) -> Unit:
    """The unit, of which is remembered that it did not fit."""
    return replace(unit, memory=UnitMemory(created_since=ago(600)))


def test_an_old_refusal_at_first_sight_is_believed() -> None:
    """gangboard has not observed a lack of room, so a plugin may refuse the pods even with free nodes."""
    unit = two_of_four()
    assert unit.memory == UnitMemory()
    assert first_code(unit) == "unschedulable"
    assert first_code(refused_again(unit, 5)) == "insufficient-resources"


def test_the_scheduler_may_miss_a_placement_later() -> None:
    """It may also be slow. The sentence does not claim an attempt, because none was observed."""
    equal, several = fitting_for(two_of_four(), 30), fitting_for(of_two_shapes(), 30)
    assert first_code(equal) == "unschedulable"
    refused = require_finding("unschedulable", equal)
    assert refused.message == (
        "The scheduler could not place 2 pods: 4 Insufficient nvidia.com/gpu; by gangboard's "
        "count they fit now."
    )
    assert evidence_values(refused, "tried since there is room") == ["not seen"]
    assert evidence_values(require_finding("fragmented", several), "tried since there is room") == [
        "not seen"
    ]
    assert first_code(several) == "fragmented"
    assert require_finding("fragmented", several).message == (
        "2 pods would fit together now, but the scheduler tries them one by one and can miss "
        "this placement."
    )
    assert retry_due(equal) is None


@pytest.mark.parametrize("seconds", [10, 3600])
def test_a_scheduler_that_refused_them_since_does_miss_it(seconds: float) -> None:
    equal, several = fitting_for(two_of_four(), seconds), fitting_for(of_two_shapes(), seconds)
    refused = require_finding("unschedulable", refused_again(equal, 5))
    assert refused.message.startswith("The scheduler cannot place 2 pods: ")
    assert refused.message.endswith("; by gangboard's count they fit now.")
    assert evidence_values(refused, "tried since there is room") == []
    missed = require_finding("fragmented", refused_again(several, 5))
    assert missed.message.endswith("tries them one by one and missed this placement.")


def test_part_of_the_members_is_enough() -> None:
    unit = gang(3, pod_requests(4), capacity_of(*TWO), quorum=2)
    assert require_finding("insufficient-resources", fitting_for(unit, 3)).message == (
        "At least 2 of 3 pods would fit now, but no new attempt by the scheduler has been seen."
    )


def test_a_refusal_since_then_needs_no_patience() -> None:
    assert first_code(refused_again(fitting_for(of_two_shapes(), 10), 5)) == "fragmented"
    assert (
        first_code(refused_again(fitting_for(of_two_shapes(), 10), 15)) == "insufficient-resources"
    )


@pytest.mark.parametrize(("reporter", "code"), [("", "fragmented"), ("karpenter", "")])
def test_an_event_is_evidence_of_a_refusal(reporter: str, code: str) -> None:
    """The condition keeps its time while it stays False; Karpenter's event is no attempt."""
    unit = fitting_for(of_two_shapes(), 10)
    pod = unit.pods[0]
    event = an_event(pod, "FailedScheduling", last_seen=ago(2), reporter=reporter)
    assert first_code(with_placement(replace(unit, events=(event,)))) == (
        code or "insufficient-resources"
    )
    of_old = replace(event, regarding=a_pod("gone").meta.ref)
    assert first_code(with_placement(replace(unit, events=(of_old,)))) == "insufficient-resources"


def test_node_causes_of_the_scheduler_keep_their_code_only() -> None:
    text = "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules."
    unit = gang(2, pod_requests(4), capacity_of(*TWO), text=text)
    finding = require_finding("pod-anti-affinity", fitting_for(unit, 1))
    assert (first_code(fitting_for(unit, 1)), finding.health) == (
        "pod-anti-affinity",
        Health.WAITING,
    )
    assert finding.message.startswith("2 pods would fit now, ")
    assert (
        "does not fit on any node"
        in require_finding("pod-anti-affinity", fitting_for(unit, 60)).message
    )


def test_a_partly_placed_gang_fits_now() -> None:
    unit = fitting_for(
        ungrouped_gang(2, pod_requests(4), capacity_of(*TWO, node("n2", used=4)), on=("n2",)), 1
    )
    assert require_finding("partly-placed", unit).message == (
        "1 pod would fit now, but no new attempt by the scheduler has been seen; 1 of 2 pods "
        "is placed."
    )


# From one look to the next


def look(room: ClusterCapacity, memory: Any = None, *, later: float = 0, **facts: Any) -> Verdict:
    job = a_job("train", pods=2, group_name="ring")
    group = a_group("ring", quorum=2, placed=placed("False", texts.GROUP_SHORT))
    ask_of: dict[str, Any] = {
        "of": job,
        "group": group,
        "requests": requests(gpu="4"),
        "text": texts.GPU_SHORT,
    }
    pods = [a_pod(f"train-{index}", **ask_of) for index in range(2)]
    defaults = {
        "room": room,
        "memory": memory or {},
        "now": NOW + timedelta(seconds=later),
        **facts,
    }
    return assess(facts_of(job, group, *pods, **defaults))


FULL = capacity_of(*(node(f"n{index}", used=4) for index in range(2)))
FREE = capacity_of(*TWO)


def test_the_time_since_when_a_gang_fits_is_remembered() -> None:
    full = look(FULL)
    assert (full.finding.code, full.memory["train"].fits_since) == ("insufficient-resources", None)
    freed = look(FREE, full.memory, later=100)
    assert freed.memory["train"].fits_since == NOW + timedelta(seconds=100)
    assert freed.finding.code == "insufficient-resources"
    assert freed.recheck_at == NOW + timedelta(seconds=130)
    still = look(FREE, freed.memory, later=120)
    assert still.memory == freed.memory
    assert (still.finding.message, still.recheck_at) == (freed.finding.message, freed.recheck_at)
    missed = look(FREE, still.memory, later=130)
    assert missed.finding.code == "unschedulable"
    assert "by gangboard's count they fit now" in missed.finding.message
    assert look(FULL, still.memory, later=125).memory["train"].fits_since is None


def test_temporarily_unobserved_nodes_change_nothing() -> None:
    freed = look(FREE, look(FULL, later=-10).memory)
    hidden = look(ClusterCapacity(why="nodes: not read yet"), freed.memory, later=40)
    assert hidden.memory["train"].fits_since == NOW
    assert look(FREE, hidden.memory, later=50).finding.code == "unschedulable"


def test_a_gang_without_a_refusal_needs_no_reassessment() -> None:
    job = a_job("train", pods=1)
    pod = a_pod("train-0", of=job, requests=requests(gpu="4"), created_at=ago(3))
    verdict = assess(facts_of(job, pod, room=FREE))
    assert verdict.memory["train"].fits_since == NOW
    assert verdict.finding.code == "starting"
    assert GPU in verdict.fit[0].requests
    assert verdict.recheck_at != NOW + timedelta(seconds=30)
