"""What is kept how long."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now

from gangboard.store.heartbeats import forget_dead
from gangboard.store.models import Gang, SignInLink

GONE_GANGS = timedelta(hours=1)
"""Long enough for every open page to have noticed."""
USED_LINKS = timedelta(days=1)


def clean_up() -> None:
    """Drop gangs that are long gone, heartbeats of dead processes, expired sign-in links."""
    Gang.objects.filter(gone_at__lt=Now() - GONE_GANGS).delete()
    SignInLink.objects.filter(expires_at__lt=Now() - USED_LINKS).delete()
    forget_dead()
