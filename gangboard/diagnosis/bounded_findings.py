"""Findings that fit into a row. Cut texts and lists say how much is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from gangboard.domain.text import count
from gangboard.domain.verdict import NAMED_IN_ADVICE, Evidence, Finding

MOST_CHARACTERS = 4_000
"""Limit for one text of a finding."""
MOST_EVIDENCE = 50
"""Facts of the gang's own namespace behind one finding."""
MOST_TOGETHER = 200_000
"""Bytes of all findings of a gang, roughly: their characters, and `_FRAME` for each finding and fact."""
_FRAME = 200
"""Bytes that names, times and references of a finding or fact take."""


def bounded_finding(finding: Finding, namespace: str) -> Finding:
    """Return the finding with texts and evidence cut where they are long; `namespace` is the gang's.

    Evidence from another namespace, or from none, is kept: its names are taken out by it for viewers who may
    not see them.
    """
    is_long = (
        len(finding.evidence) > MOST_EVIDENCE or max(map(len, _texts(finding))) > MOST_CHARACTERS
    )
    if not is_long:
        return finding
    own = [item for item in finding.evidence if _is_own(item, namespace)]
    left_out = set(map(id, own[MOST_EVIDENCE:]))
    evidence = [
        replace(item, value=cut_text(item.value))
        for item in finding.evidence
        if id(item) not in left_out
    ]
    if left_out:
        evidence.append(Evidence("not shown", f"{len(left_out):,} more like these"))
    return replace(
        finding,
        message=cut_text(finding.message),
        advice=tuple(replace(step, text=cut_text(step.text)) for step in finding.advice),
        evidence=tuple(evidence),
    )


def _is_own(item: Evidence, namespace: str) -> bool:
    if item.label == NAMED_IN_ADVICE:
        return False
    return item.source is None or item.source.namespace == namespace


def _texts(finding: Finding) -> list[str]:
    return [finding.message, *finding.advice_texts, *[item.value for item in finding.evidence]]


def cut_text(text: str) -> str:
    """Return the text, cut after a word: half a name could not be taken out for who may not see it."""
    if len(text) <= MOST_CHARACTERS:
        return text
    kept = text[:MOST_CHARACTERS].rpartition(" ")[0]
    return f"{kept}… ({len(text) - len(kept):,} more characters)"


def first_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the first findings that a row can carry, and one that says how many more there are."""
    left, kept = MOST_TOGETHER, 0
    for finding in findings:
        left -= sum(map(len, _texts(finding))) + _FRAME * (1 + len(finding.evidence))
        if left < 0 and kept:
            break
        kept += 1
    if kept == len(findings):
        return tuple(findings)
    rest = len(findings) - kept
    more = replace(
        findings[kept],
        message=f"{count(rest, 'more finding')} about other parts of it, of this kind or less severe.",
        unit="",
        advice=(),
        evidence=(),
    )
    return (*islice(findings, kept), more)


def findings_of_jobs(
    by_unit: Mapping[str, Finding], findings: Sequence[Finding], told: Sequence[Finding]
) -> dict[str, Finding]:
    """Return what the rows of Jobs say, by unit: of a finding that is not told only its health.

    Its evidence stands in the finding itself, not with each Job that it is about.
    """
    shown = {finding.message for finding in told}
    left_out = {one.message for one in findings} - shown if len(told) < len(findings) else set()
    return {
        name: replace(
            finding,
            message="" if finding.message in left_out else finding.message,
            advice=(),
            evidence=(),
        )
        for name, finding in by_unit.items()
    }
