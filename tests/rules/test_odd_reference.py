"""`odd-reference`: the sentence. `tests/diagnosis/test_bad_references.py` tests the detection."""

from __future__ import annotations

from gangboard.domain.health import Health
from tests.domain_objects import a_job, pods_of
from tests.rules.evaluation import evaluate, require_finding, unit_of

JOB = a_job("train")
ODD = "Job train names itself as its owner, which says nothing."


def test_an_odd_reference_is_reported() -> None:
    finding = require_finding(
        "odd-reference", unit_of(JOB, facts={"odd_references": (ODD, "And more.")})
    )
    assert (finding.message, finding.health) == (f"{ODD} And more.", Health.RUNNING)


def test_a_regular_reference_has_no_finding() -> None:
    assert evaluate("odd-reference", unit_of(JOB, *pods_of(JOB, 2, on="n0"))) is None
