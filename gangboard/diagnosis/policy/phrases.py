"""Phrases that sentences about owners and about single Jobs share."""

from __future__ import annotations

from datetime import UTC, datetime

from gangboard.domain.reading.wording import count, is_or_are


def pods_deleted(pods: int | None, grace_seconds: int) -> str:
    """Return the words for so many deleted pods; `pods` is None when nobody counts them."""
    if pods == 0:
        return "It has no pods now."
    what = "Its pods are" if pods is None else f"Its {count(pods, 'pod')} {is_or_are(pods)}"
    when = f"with up to {grace_seconds} s to end" if grace_seconds else "at once"
    return f"{what} deleted, {when}; unsaved work is lost."


def pods_made(pods: int) -> str:
    """Return the words for so many pods that are made; `pods` is 0 when nobody knows how many."""
    what = f"Its {count(pods, 'pod')} {is_or_are(pods)}" if pods else "Its pods are"
    room = "it needs" if pods == 1 else "they need"
    return f"{what} made: {room} room, may have to wait, and may get other nodes."


def moment(time: datetime) -> str:
    """Return `2026-11-21 18:00 UTC`, with seconds where they count."""
    utc = time.astimezone(UTC)
    return utc.strftime("%Y-%m-%d %H:%M:%S UTC" if utc.second else "%Y-%m-%d %H:%M UTC")
