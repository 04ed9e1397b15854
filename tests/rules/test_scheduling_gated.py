"""`scheduling-gated`."""

from typing import Any

from gangboard.domain.health import Health
from gangboard.facts.unit import Unit
from tests.domain_objects import a_condition, a_group, a_job, a_pod, ago, an_entry
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in

SAID = a_condition(
    "PodScheduled", "False", reason="SchedulingGated", message=texts.GATED, since=ago(90)
)


def gated(*gates: str, quorum: int = 2, **free: Any) -> Unit:
    job = a_job("train", group_name="ring")
    item = a_pod("train-0", of=job, group="ring", gates=gates, scheduled=SAID)
    return unit_of(
        job, a_group("ring", quorum=quorum), item, a_pod("train-1", of=job, group="ring", **free)
    )


def test_gates_are_named() -> None:
    unit = gated("kueue.x-k8s.io/topology", "example.com/data-ready")
    finding = require_finding("scheduling-gated", unit)
    assert finding.health is Health.WAITING
    assert values_in(finding.message) == "1 2 example.com/data-ready kueue.x-k8s.io/topology"
    assert finding.since == ago(90)
    assert first_code(unit) == "scheduling-gated"


def test_a_gate_of_one_pod_of_two() -> None:
    unit = gated("example.com/gate", gates=("example.com/gate",), scheduled=SAID)
    assert require_finding("scheduling-gated", unit).message == (
        "2 of 2 pods wait for scheduling gate example.com/gate."
    )


def test_the_controller_of_the_gate_is_named() -> None:
    (advice,) = require_finding("scheduling-gated", gated("example.com/data-ready")).advice_texts
    assert advice == (
        "Check the controller of example.com: it removes the gate, the scheduler never does."
    )
    (advice,) = require_finding("scheduling-gated", gated("later")).advice_texts
    assert advice.startswith("Check the controller that set the gate: ")


def test_an_ungated_gang_is_unschedulable() -> None:
    unit = gated(text=texts.GPU_SHORT)
    assert evaluate("scheduling-gated", unit) is None
    assert first_code(unit) == "unschedulable"


def test_a_gang_at_its_quorum() -> None:
    unit = gated("example.com/gate", quorum=1, on="n0")
    assert evaluate("scheduling-gated", unit) is None
    assert first_code(unit) == "resizing"


def test_a_refused_pod_is_the_closer_cause_without_a_group() -> None:
    """One pod is gated, and two others are refused permanently, so the gate is not the cause."""
    job = a_job("train", pods=3)
    gate = a_pod("train-0", of=job, gates=("example.com/gate",), scheduled=SAID)
    rest = [a_pod(f"train-{n}", of=job, text=texts.GPU_SHORT) for n in (1, 2)]
    unit = unit_of(job, gate, *rest)
    assert evaluate("scheduling-gated", unit) is None
    assert first_code(unit) == "unschedulable"
    assert require_finding("unschedulable", unit).message.startswith(
        "The scheduler cannot place 2 pods: "
    )
    untried = [a_pod(f"train-{n}", of=job) for n in (1, 2)]
    assert first_code(unit_of(job, gate, *untried)) == "scheduling-gated"


def admitted(gate: str, seconds_ago: float, **entry: Any) -> Unit:
    """A pod with that gate, whose owner was admitted at that time."""
    job = a_job("train", pods=1, queue="lq")
    item = a_pod("train-0", of=job, gates=(gate,), scheduled=SAID, created_at=ago(3600))
    defaults = {"admitted": True, "admitted_at": ago(seconds_ago), **entry}
    return unit_of(job, item, an_entry(job, queue="lq", **defaults))


def test_a_queue_that_admitted_its_pods_and_does_not_let_them_go() -> None:
    finding = require_finding("scheduling-gated", admitted("kueue.x-k8s.io/admission", 2400))
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "1 1 kueue.x-k8s.io/admission 2"
    assert len(finding.advice) == 1


def test_gates_that_a_queue_may_still_remove_or_has_not_set() -> None:
    """Near misses: admitted a minute ago; not admitted; another's gate; a node that is being
    replaced; a pod that was made just now."""
    young = require_finding("scheduling-gated", admitted("kueue.x-k8s.io/admission", 60))
    assert (young.health, young.recheck_at) == (Health.WAITING, ago(-60))
    waits = admitted("kueue.x-k8s.io/admission", 0, admitted=False, admitted_at=None)
    rest = admitted("example.com/gate", 2400)
    replaced = admitted("kueue.x-k8s.io/topology", 2400, failed_nodes=("n2",))
    job = a_job("train", pods=1, queue="lq")
    objects = a_pod("train-0", of=job, gates=("kueue.x-k8s.io/topology",), created_at=ago(30))
    entry = an_entry(job, queue="lq", admitted=True, admitted_at=ago(2400))
    for unit in (waits, rest, replaced, unit_of(job, objects, entry)):
        assert require_finding("scheduling-gated", unit).health is Health.WAITING
