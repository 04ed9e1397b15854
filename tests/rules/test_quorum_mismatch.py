"""`quorum-mismatch`."""

from __future__ import annotations

from gangboard.diagnosis.engine import assess
from gangboard.domain.health import Health
from gangboard.domain.owner import RequestedSize
from gangboard.domain.verdict import Verdict
from tests.domain_objects import NOW, a_group, a_jobset, a_role, as_trainjob, child_jobs, pods_of
from tests.gangs import assemble
from tests.sentence_values import values_in

FIELD = "spec.trainer.numNodes"


def judged(quorum: int, asked: int | None, *, ready: int = 3) -> Verdict:
    """A group that all pods of the only part name."""
    role = a_role("node", pods=3, asked=None if asked is None else RequestedSize(asked, FIELD))
    owner = as_trainjob(a_jobset("run", role))
    (job,) = child_jobs(owner)
    group = a_group("ring", quorum=quorum)
    pods = pods_of(job, ready, on="n0", group="ring")
    return assess(assemble(owner, (job, group, *pods), now=NOW, gang_api_version="v1beta1"))


def codes(verdict: Verdict) -> list[str]:
    return [finding.code for finding in verdict.findings]


def test_a_smaller_quorum_is_reported_next_to_the_main_reason() -> None:
    verdict = judged(2, 3)
    assert codes(verdict) == ["running", "quorum-mismatch"]
    aside = verdict.findings[1]
    assert aside.health is Health.RUNNING
    assert values_in(aside.message) == "3 spec.trainer.numNodes 2"
    assert codes(judged(2, 3, ready=2))[1:] == ["quorum-mismatch"]


def test_a_quorum_of_all_pods_matches_the_request() -> None:
    assert codes(judged(3, 3)) == ["running"]


def test_a_lower_quorum_without_a_request_is_intended() -> None:
    assert codes(judged(2, None)) == ["running"]
