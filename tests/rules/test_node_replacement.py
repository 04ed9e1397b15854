"""`node-replacement`."""

from gangboard.diagnosis.engine import assess
from tests.domain_objects import a_job, an_entry, facts_of, pods_of


def codes(*failed: str) -> list[str]:
    job = a_job("moe", pods=2, queue="lq")
    entry = an_entry(job, admitted=True, failed_nodes=failed)
    return [
        finding.code for finding in assess(facts_of(job, entry, *pods_of(job, 2, on="n0"))).findings
    ]


def test_a_failed_node_is_named() -> None:
    assert codes("n3") == ["running", "node-replacement"]
    assert codes() == ["running"]
