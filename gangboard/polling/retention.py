"""What is kept how long."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now
from django.utils import timezone

from gangboard.store.heartbeats import forget_dead
from gangboard.store.history import forget_spans
from gangboard.store.models import Gang, SignInLink

GONE_GANGS = timedelta(hours=1)
"""Long enough for every open page to have noticed."""
USED_LINKS = timedelta(days=1)


def clean_up() -> None:
    """Drop gangs that are long gone, old verdicts, heartbeats of dead processes, expired sign-in links.

    A verdict that still holds is kept, however old it is.
    """
    Gang.objects.filter(gone_at__lt=Now() - GONE_GANGS).delete()
    SignInLink.objects.filter(expires_at__lt=Now() - USED_LINKS).delete()
    forget_dead()
    forget_spans(ended_before=timezone.now() - timedelta(days=settings.HISTORY_DAYS))
