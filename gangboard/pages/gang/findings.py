"""Rows of findings, and the last findings and pods of a silent cluster or a deleted gang."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import NAMED_IN_ADVICE, Finding
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.members import MemberRow
from gangboard.readmodels.state_labels import Face, face_of, past_face

GLANCE = 32
"""Maximum length of evidence that people can take in at a glance."""


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One fact behind a sentence."""

    label: str = shown("Fact")
    value: str = shown("Value")
    source: ObjectRef | None = shown(
        "Source", "Where it was read; null when the caller may not see that."
    )

    @property
    def is_long(self) -> bool:
        """Whether it is longer than a number or a name."""
        return len(self.value) > GLANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRow:
    """One of the findings about a gang."""

    code: str = shown("Code")
    health: str = shown("Health", choices=Health)
    stage: str = shown("Stage", choices=Stage)
    title: str = shown("Reason")
    message: str = shown("Why")
    unit: str = shown(
        "About", "The group or Job that it is about; null: the whole gang.", empty_is_null=True
    )
    advice: tuple[str, ...] = shown("Next steps")
    evidence: tuple[EvidenceRow, ...] = shown("Evidence")
    since: datetime | None = shown("Since")
    face: Face
    symptom: bool
    is_past: bool = False
    """True for the last known finding of a cluster that does not answer now."""
    until: datetime | None = None
    """When its gang was deleted, or None for an existing gang."""


def finding_row(finding: Finding, advice: Iterable[str] | None = None) -> FindingRow:
    """Return the row of a finding that the caller has already redacted.

    `advice` replaces the advice of the rule.
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


def last_known_finding(row: FindingRow) -> FindingRow:
    """Return the last known finding. It may be outdated, so it carries no advice."""
    return replace(
        row,
        health=Health.UNKNOWN.value,
        face=face_of(Health.UNKNOWN),
        message=f"Last known: {row.message}",
        advice=(),
        since=None,
        is_past=True,
    )


def last_known_member(row: MemberRow) -> MemberRow:
    """Return the last known pod, on its last node and with unknown health."""
    return replace(
        row,
        health=Health.UNKNOWN.value,
        face=face_of(Health.UNKNOWN),
        label=f"last seen {row.label}",
        since=None,
        is_past=True,
    )


def deleted_finding(row: FindingRow, gone_at: datetime) -> FindingRow:
    """Return a finding about a gang that was deleted at `gone_at`. It carries no advice."""
    return replace(row, face=past_face(row.face), advice=(), until=gone_at)


def deleted_member(row: MemberRow) -> MemberRow:
    """Return a pod of a deleted gang, in its last state and on its last node."""
    return replace(row, face=past_face(row.face), label=f"last seen {row.label}", is_past=True)
