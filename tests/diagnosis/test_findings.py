"""Findings that are too long for a row: the cut is visible, and redaction still removes every name."""

from __future__ import annotations

from gangboard.diagnosis.findings import (
    MAX_EVIDENCE,
    bounded_finding,
    cut_text,
    first_findings,
)
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import Evidence, Finding


def finding(message: str = "It waits.", *evidence: Evidence) -> Finding:
    return Finding("paused", Health.WAITING, Stage.RUN, "Paused", message, evidence=evidence)


def fact(name: str, namespace: str = "team-a") -> Evidence:
    return Evidence(
        "spec.parallelism", "0", ObjectRef("batch", "Job", namespace, name, f"uid-{name}")
    )


def test_a_short_finding_is_left_as_it_is() -> None:
    item = finding("It waits.", *(fact(f"j{index}") for index in range(MAX_EVIDENCE)))
    assert bounded_finding(item, "team-a") is item


def test_evidence_beyond_the_limit_is_counted_and_hidden_names_are_kept() -> None:
    """A viewer who may not see `beta` and nodes is not told them: redaction reads the references."""
    foreign = [fact(f"v{index}", "beta") for index in range(60)] + [fact("node-1", "")]
    own = [fact(f"j{index}") for index in range(80)]
    evidence = bounded_finding(finding("It waits.", *own, *foreign), "team-a").evidence
    assert set(foreign) <= set(evidence)
    assert set(own) & set(evidence) == set(own[:MAX_EVIDENCE])
    assert (evidence[-1].label, evidence[-1].value) == ("not shown", "30 more like these")


def test_a_long_text_is_cut_after_a_word_and_the_rest_counted() -> None:
    text = "x" * 3_990 + " beta/secret-job is in the way"
    assert cut_text(text) == "x" * 3_990 + "… (30 more characters)"
    assert cut_text("y" * 5_000) == "… (5,000 more characters)"
    assert bounded_finding(finding(text), "team-a").message == cut_text(text)


def test_further_findings_are_counted() -> None:
    findings = first_findings([finding(f"{index} " + "x" * 50_000) for index in range(10)])
    assert [item.message[:2] for item in findings[:-1]] == ["0 ", "1 ", "2 "]
    assert findings[-1].message == (
        "7 more findings about other parts of it, of this kind or less severe."
    )


def test_the_first_finding_is_always_included() -> None:
    assert len(first_findings([finding("x" * 500_000)])) == 1
