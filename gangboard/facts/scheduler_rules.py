"""Reasons that several schedulers with groups of their own share: code, title and place among all others.

Each file of `groups/` finds them in its own way; by these a reason is called the same and comes at the same point.
"""

from __future__ import annotations

from collections.abc import Callable

from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import Finding
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule

Find = Callable[[Unit], Finding | None]


def queue_missing(find: Find) -> UnitRule:
    """Return the rule for a queue that does not exist."""
    return UnitRule(
        "queue-missing", Stage.ADMISSION, "Queue missing", 10, find, health=Health.BLOCKED
    )


def queue_stopped(find: Find) -> UnitRule:
    """Return the rule for a queue that lets nothing in."""
    return UnitRule(
        "queue-stopped", Stage.ADMISSION, "Queue stopped", 11, find, health=Health.BLOCKED
    )


def exceeds_quota(find: Find) -> UnitRule:
    """Return the rule for what asks for more than its queue may ever have."""
    return UnitRule(
        "exceeds-quota", Stage.ADMISSION, "Exceeds the quota", 14, find, health=Health.BLOCKED
    )


def waiting_for_quota(find: Find) -> UnitRule:
    """Return the rule for what waits until others leave its queue."""
    return UnitRule(
        "waiting-for-quota", Stage.ADMISSION, "Waits for quota", 17, find, health=Health.WAITING
    )


def no_room(find: Find, *, order: int = 80) -> UnitRule:
    """Return the rule for members for which the scheduler finds no node; below 90 it goes before that of the stock one."""
    return UnitRule(
        "unschedulable", Stage.PLACEMENT, "No room found", order, find, health=Health.WAITING
    )
