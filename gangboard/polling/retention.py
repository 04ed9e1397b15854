"""What is kept how long."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from gangboard.store.bulk_statements import delete_in_batches
from gangboard.store.cluster_trials import delete_old_trials
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
from gangboard.store.verdict_spans import delete_old_spans

GONE_GANGS = timedelta(hours=1)
"""How long all of a deleted gang is kept: every open page has noticed by then. Later an outline is left."""
OVER = timedelta(days=1)
"""Links and tokens that let nobody in any more: long enough to see in the tables why."""


MESSAGES = timedelta(days=30)
"""How long deliveries that are over are kept, and rules about one gang that have told it."""
FEED_DAYS = timedelta(days=RETENTION_DAYS, hours=1)
"""An hour more than readers are told: a transaction may end long after the time of its event."""


def clean_up() -> None:
    """Outline gangs that are long gone; drop old verdicts with their gangs, outages and curves, dead processes, and what has let people in.

    That is sessions, links and tokens whose time is over, trials of clusters, and old counts of attempts. A verdict
    that still holds is kept, however old it is. Each in pieces, so that no poll waits for it long.
    """
    now = timezone.now()
    trim_deleted_gangs(gone_for=GONE_GANGS)
    delete_expired_sessions(ended_before=now)
    delete_in_batches(SignInLink.objects.filter(expires_at__lt=now - OVER))
    delete_in_batches(AccessToken.objects.filter(expires_at__lt=now - OVER))
    delete_in_batches(Attempts.objects.filter(ends_at__lte=now))
    delete_old_trials()
    delete_dead_heartbeats()
    oldest = now - timedelta(days=settings.HISTORY_DAYS)
    delete_old_events(before=now - FEED_DAYS)
    delete_old_spans(ended_before=oldest)
    delete_in_batches(Gang.objects.filter(gone_at__lt=oldest))
    delete_in_batches(Outage.objects.filter(ended_at__lt=oldest))
    delete_in_batches(Delivery.objects.filter(finished_at__lt=now - MESSAGES))
    delete_in_batches(Rule.objects.filter(ended_at__lt=now - MESSAGES))
    delete_in_batches(RuleMark.objects.filter(at__lt=oldest))
    delete_old_points(now)
