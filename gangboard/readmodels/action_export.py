"""The record of actions as a file: CSV for spreadsheets, JSON lines for programs.

JSON lines have the fields of the API's Action.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from gangboard.readmodels.action_rows import ActionRow, AuditRow, StepRow
from gangboard.readmodels.csv_lines import time_text, write_csv

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


def csv_lines(rows: Iterable[ActionRow]) -> Iterator[str]:
    """Yield the lines of a CSV file (RFC 4180), the heading first; no cell is a formula."""
    return write_csv(rows, COLUMNS)


def audit_csv_lines(rows: Iterable[AuditRow]) -> Iterator[str]:
    """Yield the lines of the audit as a CSV file, as `csv_lines` does."""
    return write_csv(rows, AUDIT_COLUMNS)


def audit_json_lines(rows: Iterable[AuditRow]) -> Iterator[str]:
    """Yield one line for each line of the audit."""
    for row in rows:
        said = {column: getattr(row, column) for column in AUDIT_COLUMNS}
        yield json.dumps({**said, "at": time_text(row.at)}, ensure_ascii=False) + "\n"


def json_lines(rows: Iterable[ActionRow]) -> Iterator[str]:
    """Yield one line for each action, with the fields of the API's Action."""
    for row in rows:
        yield json.dumps(action_document(row), ensure_ascii=False) + "\n"


def action_document(row: ActionRow) -> dict[str, Any]:
    """Return one action as the API writes it: empty words are null, times end in Z."""
    return {
        "id": row.id,
        "verb": row.verb,
        "button": row.button,
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
        "ended": None
        if row.ended is None
        else {
            "by": row.ended.by,
            "at": time_text(row.ended.at),
            "action_id": row.ended.action_id,
        },
        "until": time_text(row.until),
        "batch": row.batch or None,
        "requested_at": time_text(row.requested_at),
        "sent_at": time_text(row.sent_at),
        "applied_at": time_text(row.applied_at),
        "finished_at": time_text(row.finished_at),
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
        "at": time_text(step.at),
    }
