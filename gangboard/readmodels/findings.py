"""Findings as they are printed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import NAMED_IN_ADVICE, Finding
from gangboard.readmodels.printable import printable
from gangboard.readmodels.state_labels import Face, face_of

GLANCE = 32
"""Characters of evidence that can be taken in at a glance."""


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One fact behind a sentence."""

    label: str
    value: str
    source: ObjectRef | None
    """None when it has none, or one that the viewer may not see."""

    @property
    def is_long(self) -> bool:
        """Whether it is a text to read, not a number or name to see at a glance."""
        return len(self.value) > GLANCE


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One of the findings about a gang; the first decided its verdict."""

    code: str
    health: str
    face: Face
    stage: str
    title: str
    message: str
    unit: str
    advice: tuple[str, ...]
    evidence: tuple[EvidenceRow, ...]
    symptom: bool
    since: datetime | None
    past: bool = False
    """It is of the last look: its cluster does not answer now."""


def finding_row(finding: Finding, advice: Iterable[str] | None = None) -> FindingRow:
    """Return the finding; names that its reader may not see are taken out before.

    `advice` are its sentences in their order; without it they stand as the rule gave them.
    """
    return FindingRow(
        code=printable(finding.code),
        health=finding.health.value,
        face=face_of(finding.health),
        stage=finding.stage.value,
        title=printable(finding.title),
        message=printable(finding.message),
        unit=printable(finding.unit),
        advice=tuple(map(printable, finding.advice_texts if advice is None else advice)),
        evidence=tuple(
            EvidenceRow(printable(item.label), printable(item.value), item.source)
            for item in finding.evidence
            if item.label != NAMED_IN_ADVICE
        ),
        symptom=finding.symptom,
        since=finding.since,
    )
