"""The finding about a Job of Volcano that starts without the tasks that wait for others.

All tasks have one PodGroup, so the other task is in the same unit, and its own stages come first. If the quorum needs the
waiting tasks, `quorum-deadlock` is found earlier.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import Finding
from gangboard.facts.attempts import restart_under_way
from gangboard.facts.dependencies import waiting_roles
from gangboard.facts.dependency_finding import dependency_finding
from gangboard.facts.unit import Unit, has_ready_quorum
from gangboard.plugins.rule import UnitRule


def _find_waiting_task(unit: Unit) -> Finding | None:
    """Return a finding while pods of another task start."""
    if not unit.placed or has_ready_quorum(unit) or restart_under_way(unit) is not None:
        return None
    waits = waiting_roles(unit)
    return dependency_finding(WAITING_TASK, unit, waits) if waits else None


WAITING_TASK = UnitRule(
    "dependency-waiting",
    Stage.START,
    "Waits for another part",
    85,
    _find_waiting_task,
    health=Health.WAITING,
)
