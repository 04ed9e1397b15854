"""What is said of a cluster of which nothing has been heard for too long.

Without the code of a problem nobody has asked it: no poll worker runs, or none has a slot for it. Then
it is never said that it does not answer.
"""

from __future__ import annotations

from datetime import UTC, datetime


def has_not(problem: str) -> str:
    """Return what there was none of since its last sign."""
    return "has not answered" if problem else "has not been read"


def has_not_once(problem: str) -> str:
    """Return what there was none of, of a cluster without any sign yet."""
    return "has never answered" if problem else "has not been read yet"


def does_not(problem: str) -> str:
    """Return what is the matter while it is silent."""
    return "does not answer" if problem else "is not being read"


def why_closed(cluster: str, contact_at: datetime | None, problem: str) -> str:
    """Return why nothing can be asked for in a cluster that is silent.

    A time, not an age: it stands in texts that no clock moves on.
    """
    if contact_at is None:
        return f"Cluster {cluster} {has_not_once(problem)}."
    since = contact_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"Cluster {cluster} {has_not(problem)} since {since}."
