"""Reading `status.conditions`."""

from __future__ import annotations

from tests.controlplane.client import Json


def status_of(result: Json, condition: str) -> str | None:
    """Return "True", "False" or "Unknown", or None where the object has no such condition."""
    conditions = result.get("status", {}).get("conditions") or []  # null in the first moment
    return next((c["status"] for c in conditions if c["type"] == condition), None)


def is_true(result: Json, condition: str) -> bool:
    """Return True if the condition exists and is True."""
    return status_of(result, condition) == "True"
