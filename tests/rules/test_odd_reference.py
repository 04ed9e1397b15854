"""`odd-reference`: the sentence. `tests/diagnosis/test_bad_references.py` tests the detection."""

from __future__ import annotations

from gangboard.domain.health import Health
from tests.domain_objects import a_job, pods_of
from tests.rules.evaluation import evaluate, require_finding, unit_of

JOB = a_job("train")
ODD = "Job train names itself as its owner, which says nothing."


def test_it_is_told_in_a_word() -> None:
    finding = require_finding(
        "odd-reference", unit_of(JOB, facts={"odd_references": (ODD, "And more.")})
    )
    assert (finding.message, finding.health) == (f"{ODD} And more.", Health.RUNNING)


def test_nothing_is_odd() -> None:
    assert evaluate("odd-reference", unit_of(JOB, *pods_of(JOB, 2, on="n0"))) is None
