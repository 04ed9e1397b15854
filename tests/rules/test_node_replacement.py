"""`node-replacement`."""

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.verdict import Finding
from tests.domain_objects import a_job, an_entry, facts_of, pods_of


def findings(*failed: str) -> tuple[Finding, ...]:
    job = a_job("moe", pods=2, queue="lq")
    entry = an_entry(job, admitted=True, failed_nodes=failed)
    return assess(facts_of(job, entry, *pods_of(job, 2, on="n0"))).findings


def test_a_failed_node_is_named() -> None:
    assert [finding.code for finding in findings("n3")] == ["running", "node-replacement"]
    assert [finding.code for finding in findings()] == ["running"]


@pytest.mark.parametrize(
    ("failed", "consequence"),
    [
        (("n3",), "evicts the gang if none is free or another node fails"),
        (("n3", "n4"), "about to evict the whole gang"),
    ],
)
def test_the_eviction_of_the_whole_gang_is_announced(
    failed: tuple[str, ...], consequence: str
) -> None:
    replacement = findings(*failed)[1]
    assert consequence in replacement.message
    assert [(item.label, item.value) for item in replacement.evidence] == [
        ("failed nodes", " and ".join(failed))
    ]
