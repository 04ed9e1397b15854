"""Deleting what nobody asks for any more, some rows at a time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.sessions.models import Session
from django.db import models

FORGOTTEN_AT_ONCE = 500
"""Rows of one transaction: a poll that wants to write waits for no more than that."""


def forget(rows: models.QuerySet[Any]) -> int:
    """Delete all rows of a query, a transaction for each FORGOTTEN_AT_ONCE; return how many."""
    forgotten = 0
    while True:
        keys = list(rows.values_list("pk", flat=True)[:FORGOTTEN_AT_ONCE])
        rows.model._default_manager.filter(pk__in=keys).delete()  # Django's way
        forgotten += len(keys)
        if len(keys) < FORGOTTEN_AT_ONCE:
            return forgotten


def forget_sessions(*, ended_before: datetime) -> int:
    """Delete the sessions whose time was over before a moment; return how many."""
    return forget(Session.objects.filter(expire_date__lt=ended_before).order_by("expire_date"))
