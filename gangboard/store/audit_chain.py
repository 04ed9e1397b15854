"""The hash chain of the audit: each row has the hash of the row before it and of its own content.

Whoever changes or removes a row behind the product's back has to write all later rows anew, and
whoever has noted a later head sees that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

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
"""What a row says; all of its columns but its own key and the hash."""


def digest_of(previous: str, row: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a row, in hex: of the hash before it and the canonical JSON of FIELDS.

    Canonical: keys in order, no blanks, ASCII, the time in UTC with six digits of a second.
    """
    said = {name: _plain(row[name]) for name in FIELDS}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return value
