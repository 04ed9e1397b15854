"""Deletes of many rows, in batches: a transaction for each."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.sessions.models import Session
from django.db import models

from gangboard.store.models import SessionRecord

DELETE_BATCH = 500
"""Rows of one transaction: a poll that wants to write waits for no more than that."""

RECORDS_KEPT = timedelta(days=1)
"""A form that a person sends after the end of their session is kept for that person (`web.kept_forms`)."""


def delete_in_batches(rows: models.QuerySet[Any]) -> int:
    """Delete all rows of a query, a transaction for each DELETE_BATCH rows; return how many."""
    deleted = 0
    while True:
        keys = list(rows.values_list("pk", flat=True)[:DELETE_BATCH])
        rows.model._default_manager.filter(pk__in=keys).delete()  # Django's way
        deleted += len(keys)
        if len(keys) < DELETE_BATCH:
            return deleted


def delete_expired_sessions(*, ended_before: datetime) -> int:
    """Delete the sessions that expired before a moment, and their records a day later; return how many sessions."""
    oldest = ended_before - RECORDS_KEPT
    delete_in_batches(SessionRecord.objects.filter(ends_at__lt=oldest).order_by("ends_at"))
    return delete_in_batches(
        Session.objects.filter(expire_date__lt=ended_before).order_by("expire_date")
    )
