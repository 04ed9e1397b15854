"""Ending sessions of one's own, for the page and for the API."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase

from gangboard.store import sessions
from gangboard.store.access import Viewer


def end_session(*, viewer: Viewer, session_id: int) -> bool:
    """End a session of the viewer; return False when they have none of that id."""
    user = User.objects.get(pk=viewer.user_id)
    return sessions.end_session(session_id, user=user, by=viewer.name)


def end_other_sessions(*, viewer: Viewer, keep: SessionBase) -> int:
    """End all sessions of the viewer but one; return how many."""
    user = User.objects.get(pk=viewer.user_id)
    return sessions.end_sessions(user, by=viewer.name, keep=keep)
