"""Emptying the tables of a test that commits: the audit refuses it, so its guard is lifted meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db import connection

from gangboard.store.audit_guard import guard

_LIFT = {
    "sqlite": ("audit_no_update", "audit_no_delete", "audit_no_replace"),
    "postgresql": ("audit_no_change", "audit_no_truncate"),
}


def lift_guard() -> None:
    """Take the triggers away, as somebody with all rights on the database can."""
    on = " ON store_auditentry" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        for name in _LIFT[connection.vendor]:
            cursor.execute(f"DROP TRIGGER {name}{on}")


def emptied_with_the_audit(empty: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return the same emptying that goes for the audit too."""

    @wraps(empty)
    def emptied(case: Any) -> None:
        lift_guard()
        empty(case)
        guard(connection)

    return emptied
