"""`mutual-deadlock`: two Jobs placed pod by pod, each with half of the nodes."""

from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.capacity import ClusterCapacity, PodSet, Requested, RunningGang
from gangboard.domain.health import Health
from gangboard.domain.objects import ObjectRef
from gangboard.domain.pod_constraints import PodConstraints
from gangboard.facts.unit import Unit
from gangboard.placement.members import shape_of
from tests.domain_objects import a_job
from tests.placement.making import GPU, node
from tests.rules.evaluation import first_code, require_finding
from tests.rules.waiting_gangs import capacity_of, evidence_values, pod_requests, ungrouped_gang
from tests.sentence_values import values_in

OWN = a_job("train").meta.ref
OTHER = ObjectRef("batch", "Job", "team-b", "eval", "uid-eval")


def resident(
    ref: ObjectRef,
    *nodes: str,
    waits: int,
    is_whole: bool = False,
    also: tuple[str, ...] = (),
    **fields: Any,
) -> RunningGang:
    loads = {name: Requested({GPU: 4}, 1) for name in nodes}
    pod_set = PodSet(shape_of("eval", pod_requests(4), PodConstraints(), also), waits)
    defaults = {"priority": 0, "is_whole": is_whole, "waits": (pod_set,) if waits else (), **fields}
    return RunningGang(ref.uid, ref, loads=loads, **defaults)


def halves(
    *,
    nodes: int = 4,
    own: RunningGang | None = None,
    other: RunningGang | None = None,
    used: tuple[str, ...] = (),
) -> Unit:
    """`train` has n0 and n1 and wants two more; `eval` has n2 and n3 and wants two more."""
    own = own or resident(OWN, "n0", "n1", waits=2)
    rival = other or resident(OTHER, "n2", "n3", waits=2)
    taken = {*own.loads, *rival.loads, *used}
    room = capacity_of(
        *(node(f"n{index}", used=4 if f"n{index}" in taken else 0) for index in range(nodes)),
        running_gangs=(own, rival),
    )
    return ungrouped_gang(4, pod_requests(4), room, on=("n0", "n1"))


def test_each_gang_holds_capacity_the_other_needs() -> None:
    unit = halves()
    finding = require_finding("mutual-deadlock", unit)
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "team-a/train 2 4 team-b/eval 2 4"
    both = [
        item.source for item in finding.evidence if item.label == "holds nodes while incomplete"
    ]
    assert both == [OWN, OTHER]
    assert evidence_values(finding, "scheduler says")
    assert first_code(unit) == "mutual-deadlock"


def test_a_whole_gang_is_no_deadlock() -> None:
    complete = resident(OTHER, "n2", "n3", waits=0, is_whole=True)
    assert first_code(halves(other=complete)) == "partly-placed"


def test_the_cause_of_the_other_gang_is_unknown() -> None:
    assert first_code(halves(other=resident(OTHER, "n2", "n3", waits=0))) == "partly-placed"


def test_the_other_gang_needs_more_than_this_gang_holds() -> None:
    """It would not fit either if this one let go: not a matter of the two."""
    assert first_code(halves(other=resident(OTHER, "n2", "n3", waits=3))) == "partly-placed"


def test_the_end_of_a_third_gang_helps() -> None:
    """A complete gang uses two more nodes. When it ends, one of the two fits."""
    assert first_code(halves(nodes=6, used=("n4", "n5"))) == "partly-placed"


def test_unobserved_nodes_prove_no_deadlock() -> None:
    unit = halves()
    blind = ClusterCapacity(
        why="pods: not read yet", running_gangs=unit.gang.cluster.room.running_gangs
    )
    assert first_code(ungrouped_gang(4, pod_requests(4), blind, on=("n0", "n1"))) == "partly-placed"
    assert first_code(replace(unit, placing=None)) == "partly-placed"


SUSPEND_OTHER = (
    ("Suspend team-b/eval until team-a/train runs: it fits once team-b/eval releases its nodes."),
)
SUSPEND_OWN = (
    ("Suspend team-a/train until team-b/eval runs: it fits once team-a/train releases its nodes."),
)
SUSPEND_EITHER = (*SUSPEND_OTHER, *SUSPEND_OWN)


@pytest.mark.parametrize(
    ("own", "other", "advice"),
    [
        ({}, {}, SUSPEND_EITHER),
        ({"priority": 5}, {"priority": 5}, SUSPEND_EITHER),
        # No gang is suspended for a gang of lower priority.
        ({}, {"priority": 5}, SUSPEND_OWN),
        ({"priority": 5}, {}, SUSPEND_OTHER),
        # If the manager of the gang reverts a suspend, its pods only start again.
        ({}, {"suspendable": False}, SUSPEND_OWN),
        ({"suspendable": False}, {}, SUSPEND_OTHER),
        ({"suspendable": False}, {"suspendable": False}, ()),
        ({"suspendable": False}, {"priority": 5}, ()),
        ({"priority": 5}, {"suspendable": False}, ()),
    ],
)
def test_which_of_the_two_is_to_let_go(
    own: dict[str, Any], other: dict[str, Any], advice: tuple[str, ...]
) -> None:
    unit = halves(
        own=resident(OWN, "n0", "n1", waits=2, **own),
        other=resident(OTHER, "n2", "n3", waits=2, **other),
    )
    finding = require_finding("mutual-deadlock", unit)
    assert finding.advice_texts == advice
    # Each step names the only gang that it stops, for its button and its cost.
    stopped = {SUSPEND_OTHER[0]: OTHER, SUSPEND_OWN[0]: OWN}
    assert [step.objects for step in finding.advice] == [(stopped[text],) for text in advice]


def test_terminating_pods_hold_no_capacity() -> None:
    """Pods of `eval` are being deleted, and those that take their place wait: no deadlock."""
    terminating = resident(OTHER, "n2", "n3", waits=2, by_suspending={})
    assert first_code(halves(other=terminating)) == "partly-placed"
    half = resident(OTHER, "n2", "n3", waits=2, by_suspending={"n2": Requested({GPU: 4}, 1)})
    assert first_code(halves(other=half)) == "partly-placed"
    own = resident(OWN, "n0", "n1", waits=2, by_suspending={})
    assert first_code(halves(own=own)) == "partly-placed"


def test_only_permanent_pods_count_in_a_deadlock() -> None:
    """A third pod of `eval` leaves n4, which is not enough for either of the two."""
    stays = {"n2": Requested({GPU: 4}, 1), "n3": Requested({GPU: 4}, 1)}
    terminating = resident(OTHER, "n2", "n3", "n4", waits=2, by_suspending=stays)
    finding = require_finding("mutual-deadlock", halves(nodes=5, other=terminating))
    assert "train (2 of 4 pods) and team-b/eval (2 of 4 pods) hold" in finding.message


def test_other_jobs_of_the_gang_are_waiting() -> None:
    """`train` has two pods more that wait, in another Job: 2 hold a node, 2 + 2 wait."""
    finding = require_finding("mutual-deadlock", halves(own=resident(OWN, "n0", "n1", waits=4)))
    assert "train (2 of 6 pods) and team-b/eval (2 of 4 pods) hold" in finding.message


def test_the_topology_of_the_other_gang_is_unknown() -> None:
    bound = resident(OTHER, "n2", "n3", waits=2, also=("topology of its group",))
    assert first_code(halves(other=bound)) == "partly-placed"
