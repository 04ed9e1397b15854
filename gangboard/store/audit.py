"""The audit: an append-only hash chain of who did what, when, to which object and from which address.

A worker appends one row at a time and locks the head until its transaction ends. So `audit` comes last in a
transaction, after every other row that another transaction may want to write.

Each row contains the hash of the previous row and of its own content. To change or remove a row, one must
rewrite all later rows, and a person who noted a later head notices that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction

from gangboard.logs import get_logger
from gangboard.store.models import Action, AuditEntry, AuditHead, Cluster

LONGEST_SENTENCE = 4000
_BATCH = 2000
_log = get_logger("gangboard.audit")
_LOG_NAMES = {"event": "audit_event"}
"""Log lines use the key `event` for their message, so the field gets another name."""
FIELDS = (
    "number",
    "at",
    "actor_name",
    "event",
    "action_id",
    "cluster_id",
    "cluster_name",
    "namespace",
    "object_name",
    "sentence",
    "source",
    "details",
)
"""Columns that the hash covers: all except the primary key and the hash itself."""


class AuditLostError(RuntimeError):
    """The head row, which a migration creates, is missing, so no row can be appended."""


def audit(
    event: str,
    sentence: str,
    *,
    at: datetime,
    actor: str,
    action: Action | None = None,
    cluster: Cluster | None = None,
    cluster_name: str = "",
    namespace: str = "",
    object_name: str = "",
    source: str = "",
    details: dict[str, Any] | None = None,
) -> None:
    """Append a row. Missing arguments come from the action. Raises AuditLostError.

    `source` is the client address. `object_name` is the subject, such as `Job/train-workers-0` or `User/ada`.
    """
    if action is not None:
        cluster = cluster or action.cluster
        cluster_name = cluster_name or action.cluster_name
        namespace = namespace or action.namespace
        object_name = object_name or f"{action.kind}/{action.name}"
    row: dict[str, Any] = {
        "at": at,
        "actor_name": actor[:253],
        "event": event,
        "action_id": action.pk if action is not None else None,
        "cluster_id": cluster.pk if cluster is not None else None,
        "cluster_name": cluster.name if cluster is not None else cluster_name,
        "namespace": namespace,
        "object_name": object_name[:400],
        "sentence": sentence[:LONGEST_SENTENCE],
        "source": source[:64],
        # Normalized as JSON returns it, because a tuple comes back as a list.
        "details": json.loads(json.dumps(details or {})),
    }
    with transaction.atomic():
        head = _locked_head()
        row["number"] = head.number + 1
        digest = digest_of(head.digest, row)
        AuditEntry.objects.create(**row, digest=digest)
        AuditHead.objects.filter(pk=head.pk).update(number=row["number"], digest=digest)
        if settings.AUDIT_LOG:
            # A row that is rolled back must not be logged.
            transaction.on_commit(partial(_log_row, row, digest))


def _log_row(row: dict[str, Any], digest: str) -> None:
    """Log a row for a SIEM. Numbers have no gaps, so the SIEM notices a lost line."""
    fields = {name: value for name, value in row.items() if name not in _LOG_NAMES}
    _log.info(
        "audit",
        **fields | {"at": row["at"].isoformat()},
        digest=digest,
        **{new: row[old] for old, new in _LOG_NAMES.items()},
    )


def _locked_head() -> AuditHead:
    """Return the locked head. No other transaction appends until this one ends. Raises AuditLostError."""
    # SQLite has a single writer from the beginning of its transaction.
    head = AuditHead.objects.select_for_update().first()
    if head is None:
        raise AuditLostError("the head of the audit is gone; manage.py verify_audit tells more")
    return head


@dataclass(frozen=True, slots=True)
class AuditVerification:
    """The result of a check of the whole chain."""

    rows: int
    """Number of valid rows, counted from the first."""
    digest: str
    """Hash of the last valid row."""
    broken: str = ""
    """Description of the first fault; empty if the chain is valid."""


def verify(noted: tuple[int, str] | None = None) -> AuditVerification:
    """Check the chain from its first row to its last, rows appended meanwhile included.

    `noted` is a head (number, hash) that a person kept elsewhere. The chain must still contain it.
    """
    result = _check_rows(AuditVerification(0, ""), noted)
    with transaction.atomic():
        # No transaction appends while the head is locked, so rows and head can be compared.
        heads = list(AuditHead.objects.select_for_update().order_by("pk"))
        result = _check_rows(result, noted)
    if result.broken:
        return result
    return replace(result, broken=_end_fault(result, heads, noted))


def _check_rows(result: AuditVerification, noted: tuple[int, str] | None) -> AuditVerification:
    """Check the rows after the last checked one, up to the end or the first fault."""
    if result.broken:
        return result
    rows = AuditEntry.objects.filter(number__gt=result.rows).order_by("number")
    for row in rows.values(*FIELDS, "digest").iterator(chunk_size=_BATCH):
        broken = _row_fault(row, result)
        if (
            not broken
            and noted is not None
            and noted[0] == row["number"]
            and noted[1] != row["digest"]
        ):
            broken = (
                f"Row {noted[0]} differs from the noted one: it, or one before it, was rewritten."
            )
        if broken:
            return replace(result, broken=broken)
        result = AuditVerification(row["number"], row["digest"])
    return result


def _row_fault(row: dict[str, Any], valid: AuditVerification) -> str:
    first, last = valid.rows + 1, row["number"] - 1
    if first == last:
        return f"Row {first} is missing."
    if first < last:
        return f"Rows {first} to {last} are missing."
    if digest_of(valid.digest, row) == row["digest"]:
        return ""
    before = f", or row {valid.rows} was." if valid.rows else "."
    return f"Row {row['number']} ({row['event']}, {row['at']:%Y-%m-%d %H:%M:%S} UTC) was changed{before}"


def _end_fault(
    valid: AuditVerification, heads: list[AuditHead], noted: tuple[int, str] | None
) -> str:
    if noted is not None and valid.rows < noted[0]:
        return f"The end is cut off: row {noted[0]} was noted, the last one here is {valid.rows}."
    if not heads:
        return "The head is gone, so a missing end cannot be detected."
    if len(heads) > 1:
        return f"There are {len(heads)} heads instead of one."
    (head,) = heads
    if valid.rows < head.number:
        return (
            f"The end is cut off: the head says {head.number}, the last row here is {valid.rows}."
        )
    if valid.rows > head.number:
        return f"Row {head.number + 1} was added by hand: the head says that {head.number} is the last."
    if valid.digest == head.digest:
        return ""
    if not valid.rows:
        return "The head was changed: it has a hash, and there is no row."
    return f"Row {valid.rows} is not the last one that was written: the head has another hash."


def digest_of(previous: str, row: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a row in hex: over the previous hash and the canonical JSON of FIELDS.

    Canonical means sorted keys, no blanks, ASCII, and times in UTC with six digits of a second.
    """
    fields = {name: _to_json_value(row[name]) for name in FIELDS}
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()


def _to_json_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return value
