"""Emptying the tables of a test that commits: the audit refuses it, so its guard is lifted meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db import connection

from gangboard.store.audit_guard import guard, guard_head
from gangboard.store.models import AuditHead

_LIFT = {
    "store_auditentry": {
        "sqlite": ("audit_no_update", "audit_no_delete", "audit_no_replace"),
        "postgresql": ("audit_no_change", "audit_no_truncate"),
    },
    "store_audithead": {
        "sqlite": ("audit_head_update", "audit_head_delete", "audit_head_insert"),
        "postgresql": ("audit_head_change", "audit_head_truncate"),
    },
}


def lift_guard() -> None:
    """Drop the triggers, as a database superuser can."""
    with connection.cursor() as cursor:
        for table, triggers in _LIFT.items():
            on = f" ON {table}" if connection.vendor == "postgresql" else ""
            for name in triggers[connection.vendor]:
                cursor.execute(f"DROP TRIGGER {name}{on}")


def emptied_with_the_audit(empty: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return the same emptying that goes for the audit too, which is then as the tables were made."""

    @wraps(empty)
    def emptied(case: Any) -> None:
        lift_guard()
        empty(case)
        AuditHead.objects.create()
        guard(connection)
        guard_head(connection)

    return emptied
