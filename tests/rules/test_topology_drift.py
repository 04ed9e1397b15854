"""`topology-drift`: the nodes that a queue assigned, and the nodes on which the pods are."""

from typing import Any

import pytest

from gangboard.domain.health import Health
from gangboard.domain.queue import AssignedNodes
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit
from tests.domain_objects import Made, a_job, a_node, a_pod, an_entry
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in

LABEL = "kueue.x-k8s.io/podset"
ASSIGNED = (AssignedNodes(LABEL, "main", {"n1": 2, "n2": 2}),)
JOB = a_job("train", pods=4, queue="gpu-lq")
NODES = [a_node(f"n{number}") for number in range(1, 5)]


def on(*nodes: str, pod_set: str = "main", **fields: Any) -> list[Made]:
    return [
        a_pod(f"train-{index}", of=JOB, on=node, labels={LABEL: pod_set}, ready=True, **fields)
        for index, node in enumerate(nodes)
    ]


def unit(*pods: Made, **entry: Any) -> Unit:
    defaults = {"assigned": ASSIGNED, "admitted": True, "has_quota": True, **entry}
    return unit_of(JOB, an_entry(JOB, **defaults), *pods, *NODES)


def test_pods_on_nodes_that_were_not_assigned() -> None:
    finding = require_finding("topology-drift", unit(*on("n1", "n1", "n3", "n4")))
    assert finding.health is Health.DEGRADED
    assert values_in(finding.message) == "2 n3 n4"
    entry = an_entry(JOB)
    assert finding.evidence == (
        Evidence("assigned to pods main", "2 on n1, 2 on n2", entry.meta.ref),
    )
    assert values_in(*finding.advice_texts) == "gpu-lq"


def test_more_on_a_node_than_were_assigned_to_it() -> None:
    finding = require_finding("topology-drift", unit(*on("n1", "n1", "n1", "n2")))
    assert finding.message == "It runs, but 1 pod is on n1, where Kueue did not assign it."


@pytest.mark.parametrize(
    ("pods", "entry"),
    [
        (on("n1", "n1", "n2", "n2"), {}),
        (on("n2", "n1", "n2", "n1"), {}),
        (on("n3", "n3", "n3", "n3", pod_set="another"), {}),
        (on("n3", "n3", "n3", "n3"), {"assigned": ()}),
        (on("n3", "n3", "n3", "n3"), {"admitted": False}),
        (on("n3", "n3", "n3"), {}),
    ],
)
def test_pods_on_their_assigned_nodes_have_no_drift(
    pods: list[Made], entry: dict[str, Any]
) -> None:
    assert evaluate("topology-drift", unit(*pods, **entry)) is None


def test_drift_precedes_running() -> None:
    assert first_code(unit(*on("n1", "n1", "n3", "n4"))) == "topology-drift"
    assert first_code(unit(*on("n1", "n1", "n2", "n2"))) == "running"
