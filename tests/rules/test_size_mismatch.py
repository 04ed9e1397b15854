"""`size-mismatch`."""

from __future__ import annotations

from gangboard.domain.health import Health
from gangboard.domain.owner import RequestedSize
from gangboard.facts.unit import Unit
from tests.domain_objects import a_jobset, a_role, as_trainjob, child_jobs, pods_of
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in

FIELD = "spec.trainer.numNodes"


def running(asked: RequestedSize | None, *, pods: int = 2) -> Unit:
    owner = as_trainjob(a_jobset("run", a_role("node", pods=pods, asked=asked)))
    (job,) = child_jobs(owner)
    return unit_of(owner, job, *pods_of(job, pods, on="n0"))


def test_a_gang_smaller_than_requested_is_degraded() -> None:
    unit = running(RequestedSize(3, FIELD))
    finding = require_finding("size-mismatch", unit)
    assert finding.health is Health.DEGRADED
    assert values_in(finding.message) == "3 spec.trainer.numNodes 2"
    assert first_code(unit) == "size-mismatch"


def test_the_cause_and_the_remedy_are_shown_if_known() -> None:
    asked = RequestedSize(3, FIELD, "runtime plain labels no part as its trainer", ("Label it.",))
    finding = require_finding("size-mismatch", running(asked))
    assert finding.message.endswith("has 2.")
    assert finding.evidence[-1].value == "runtime plain labels no part as its trainer"
    assert finding.advice_texts == ("Label it.",)


def test_a_gang_of_the_requested_size_runs() -> None:
    unit = running(RequestedSize(2, FIELD))
    assert evaluate("size-mismatch", unit) is None
    assert first_code(unit) == "running"


def test_only_requested_sizes_are_compared() -> None:
    assert first_code(running(None)) == "running"


def test_a_cause_of_waiting_precedes_the_size() -> None:
    owner = a_jobset("run", a_role("node", asked=RequestedSize(3, FIELD)))
    assert first_code(unit_of(owner, *child_jobs(owner))) == "pods-not-created"
