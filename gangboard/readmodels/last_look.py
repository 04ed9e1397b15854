"""What was seen of a gang before its cluster fell silent: told as that, never as how it is now."""

from __future__ import annotations

from dataclasses import replace

from gangboard.domain.health import Health
from gangboard.readmodels.findings import FindingRow
from gangboard.readmodels.members import MemberRow
from gangboard.readmodels.state_labels import face_of


def finding_then(row: FindingRow) -> FindingRow:
    """Return what was found last: it is not known to hold, so no step follows from it."""
    return replace(
        row,
        health=Health.UNKNOWN.value,
        face=face_of(Health.UNKNOWN),
        message=f"At the last look: {row.message}",
        advice=(),
        since=None,
        past=True,
    )


def member_then(row: MemberRow) -> MemberRow:
    """Return a pod as it was seen last: where it was is told, how it is nobody knows."""
    return replace(
        row,
        health=Health.UNKNOWN.value,
        face=face_of(Health.UNKNOWN),
        label=f"last seen {row.label}",
        since=None,
    )
