"""The record of actions as a file: CSV for spreadsheets, JSON lines for programs.

Names, reasons and messages are written by strangers, and a spreadsheet runs what looks like a
formula: such cells begin with an apostrophe (OWASP ASVS 1.2.10). JSON lines have the fields of the
API's Action.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from gangboard.readmodels.action_rows import ActionRow, AuditRow, StepRow

COLUMNS = (
    "id",
    "requested_at",
    "finished_at",
    "actor",
    "via",
    "verb",
    "cluster",
    "namespace",
    "api_group",
    "kind",
    "name",
    "uid",
    "state",
    "lever",
    "reason",
    "message",
    "reverted_by",
    "held_seconds",
    "until",
    "forced",
    "batch",
)
_FORMULA = frozenset("=+-@|%\t\r\n\0＝＋－＠")
"""What a cell may not begin with; the wide ones are read as formulas by some programs too."""


AUDIT_COLUMNS = (
    "number",
    "at",
    "event",
    "actor",
    "source",
    "cluster",
    "namespace",
    "object_name",
    "sentence",
    "action_id",
    "digest",
)


class _Echo:
    """A file that returns what is written to it: csv writes lines, we want them one by one."""

    def write(self, text: str) -> str:
        return text


def csv_lines(rows: Iterable[ActionRow]) -> Iterator[str]:
    """Yield the lines of a CSV file (RFC 4180), the heading first; no cell is a formula."""
    return _csv(rows, COLUMNS)


def audit_csv_lines(rows: Iterable[AuditRow]) -> Iterator[str]:
    """Yield the lines of the audit as a CSV file, as `csv_lines` does."""
    return _csv(rows, AUDIT_COLUMNS)


def audit_json_lines(rows: Iterable[AuditRow]) -> Iterator[str]:
    """Yield one line for each line of the audit."""
    for row in rows:
        said = {column: getattr(row, column) for column in AUDIT_COLUMNS}
        yield json.dumps({**said, "at": _time(row.at)}, ensure_ascii=False) + "\n"


def _csv(rows: Iterable[object], columns: tuple[str, ...]) -> Iterator[str]:
    writer = csv.writer(_Echo(), quoting=csv.QUOTE_ALL)
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow([_cell(getattr(row, column)) for column in columns])


def json_lines(rows: Iterable[ActionRow]) -> Iterator[str]:
    """Yield one line for each action, with the fields of the API's Action."""
    for row in rows:
        yield json.dumps(action_document(row), ensure_ascii=False) + "\n"


def action_document(row: ActionRow) -> dict[str, Any]:
    """Return one action as the API writes it: empty words are null, times end in Z."""
    return {
        "id": row.id,
        "verb": row.verb,
        "target": {
            "cluster": row.cluster,
            "api_group": row.api_group,
            "kind": row.kind,
            "namespace": row.namespace,
            "name": row.name,
            "uid": row.uid,
            "generation": row.generation,
        },
        "gang_id": row.gang_id or None,
        "state": row.state,
        "final": row.is_final,
        "label": row.label,
        "lever": row.lever or None,
        "reason": row.reason,
        "actor": row.actor,
        "via": row.via,
        "forced": row.forced,
        "message": row.message,
        "warnings": list(row.warnings),
        "reactions": list(row.reactions),
        "before": dict(row.before),
        "after": dict(row.after),
        "steps": [_step_document(step) for step in row.steps],
        "reverted_by": row.reverted_by or None,
        "held_seconds": row.held_seconds,
        "until": _time(row.until),
        "batch": row.batch or None,
        "requested_at": _time(row.requested_at),
        "sent_at": _time(row.sent_at),
        "applied_at": _time(row.applied_at),
        "finished_at": _time(row.finished_at),
    }


def _step_document(step: StepRow) -> dict[str, Any]:
    return {
        "name": step.name,
        "method": step.method,
        "path": step.path,
        "patch": step.patch,
        "dry_run": step.dry_run,
        "state": step.state,
        "result": step.result or None,
        "at": _time(step.at),
    }


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return _time(value) or ""
    if isinstance(value, float):
        return str(value)
    text = str(value)
    return f"'{text}" if text.lstrip()[:1] in _FORMULA or text[:1] in _FORMULA else text


def _time(at: datetime | None) -> str | None:
    """Return a moment as RFC 3339 in UTC, with a Z, as the API writes it."""
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")
