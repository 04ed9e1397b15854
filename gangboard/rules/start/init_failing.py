"""`init-failing`: an init container ends with an error again and again, so the main containers never start."""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Container
from gangboard.domain.text import count
from gangboard.domain.verdict import Finding
from gangboard.facts.containers import (
    CRASH_LOOP,
    container_evidence,
    container_health,
    crash_advice,
    find_container_problem,
    last_exit_text,
)
from gangboard.facts.findings import unit_finding
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule


def _has_problem(container: Container) -> bool:
    if not container.init or container.ready:
        return False
    if container.state == "waiting":
        return container.reason == CRASH_LOOP
    return container.state == "terminated" and container.exit_code not in (None, 0)


def find(unit: Unit) -> Finding | None:
    """Return a finding while an init container of the unit fails."""
    problem = find_container_problem(unit, _has_problem)
    if problem is None:
        return None
    worst = problem.worst
    last_exit = last_exit_text(worst)
    message = f"Init container {problem.name} of {count(problem.pods, 'pod')} keeps failing"
    if not worst.restarts:
        message = f"Init container {problem.name} of {count(problem.pods, 'pod')} failed"
    restarts = f": {count(worst.restarts, 'restart')}" if worst.restarts else ""
    exit_text = (
        f", last {last_exit}" if last_exit and restarts else f": {last_exit}" if last_exit else ""
    )
    return unit_finding(
        RULE,
        unit,
        f"{message}{restarts}{exit_text}.",
        health=container_health(unit),
        advice=crash_advice(problem),
        evidence=container_evidence(problem),
    )


RULE = UnitRule(
    "init-failing", Stage.START, "Init container fails", 30, find, health=Health.DEGRADED
)
