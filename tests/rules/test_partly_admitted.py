"""`partly-admitted`."""

from typing import Any

from gangboard.diagnosis.engine import assess
from gangboard.domain.health import Health
from gangboard.domain.verdict import Verdict
from tests.domain_objects import a_job, an_entry, facts_of, pods_of
from tests.sentence_values import values_in


def verdict(**entry: Any) -> Verdict:
    job = a_job("sweep", pods=3, queue="lq")
    admitted = an_entry(job, queue="lq", admitted=True, **entry)
    return assess(facts_of(job, admitted, *pods_of(job, 3, on="n0")))


def test_a_gang_runs_with_fewer_pods_than_requested() -> None:
    running, beside = verdict(admitted_pods=3, asked_pods=5).findings
    assert (running.code, running.health) == ("running", Health.RUNNING)
    assert beside.code == "partly-admitted"
    assert values_in(beside.message) == "3 5"


def test_a_fully_admitted_gang_runs() -> None:
    assert [finding.code for finding in verdict().findings] == ["running"]
