"""Housekeeping: how long rows are kept."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from gangboard.store.bulk_statements import delete_in_batches
from gangboard.store.checks import delete_old_checks
from gangboard.store.cluster_trials import delete_old_trials
from gangboard.store.evictions import delete_old_evictions
from gangboard.store.feed import RETENTION_DAYS, delete_old_events
from gangboard.store.gangs import trim_deleted_gangs
from gangboard.store.heartbeats import delete_dead_heartbeats
from gangboard.store.models import (
    AccessToken,
    Attempts,
    Delivery,
    Gang,
    Outage,
    Rule,
    RuleMark,
    SignInLink,
)
from gangboard.store.sessions import delete_expired_sessions
from gangboard.store.trends import delete_old_points
from gangboard.store.usage import delete_old_usage
from gangboard.store.verdict_spans import delete_old_spans

DELETED_GANGS = timedelta(hours=1)
"""How long a deleted gang keeps all of its data. Every open page has been updated by then. Later only an outline stays."""
EXPIRED_ACCESS = timedelta(days=1)
"""How long expired links and tokens are kept, so that the tables can show why one was refused."""


DELIVERIES = timedelta(days=30)
"""How long finished deliveries, and rules about one gang that have ended, are kept."""
FEED_DAYS = timedelta(days=RETENTION_DAYS, hours=1)
"""An hour more than the documented time, because a transaction may end long after the time of its event."""


def clean_up() -> None:
    """Delete expired rows, and reduce gangs that were deleted long ago to an outline.

    Expired rows are old verdicts with their gangs, evictions, outages, accelerator time, trends, deliveries, the heartbeats of dead processes,
    trials, checks, sessions, links, tokens and counts of attempts. A verdict that still holds is kept, whatever its age. Rows
    are deleted in batches, so that no poll has to wait long.
    """
    now = timezone.now()
    trim_deleted_gangs(gone_for=DELETED_GANGS)
    delete_expired_sessions(ended_before=now)
    delete_in_batches(SignInLink.objects.filter(expires_at__lt=now - EXPIRED_ACCESS))
    delete_in_batches(AccessToken.objects.filter(expires_at__lt=now - EXPIRED_ACCESS))
    delete_in_batches(Attempts.objects.filter(ends_at__lte=now))
    delete_old_trials()
    delete_old_checks()
    delete_dead_heartbeats()
    oldest = now - timedelta(days=settings.HISTORY_DAYS)
    delete_old_events(before=now - FEED_DAYS)
    delete_old_spans(ended_before=oldest)
    delete_in_batches(Gang.objects.filter(gone_at__lt=oldest))
    delete_old_evictions(before=oldest)
    # Outages are the gaps of the accelerator time, so they are kept as long.
    oldest_usage = now - timedelta(days=max(settings.USAGE_DAYS, settings.HISTORY_DAYS))
    delete_old_usage(before=oldest_usage)
    delete_in_batches(Outage.objects.filter(ended_at__lt=oldest_usage))
    delete_in_batches(Delivery.objects.filter(finished_at__lt=now - DELIVERIES))
    delete_in_batches(Rule.objects.filter(ended_at__lt=now - DELIVERIES))
    delete_in_batches(RuleMark.objects.filter(at__lt=oldest))
    delete_old_points(now)
