"""`crash-loop`: a container ends with an error again and again.

It waits with `CrashLoopBackOff`, or it has ended with an error after earlier restarts. With `restartPolicy:
OnFailure` each restart counts against the Job's backoffLimit (observed on 1.37.0), so the Job can fail soon.
"""

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

# One restart can be an accident. The kubelet itself reports CrashLoopBackOff after the first.
_MIN_RESTARTS = 2


def _has_problem(container: Container) -> bool:
    if container.init or container.ready:
        return False
    if container.state == "waiting":
        return container.reason == CRASH_LOOP
    failed = container.state == "terminated" and container.exit_code not in (None, 0)
    return failed and container.restarts >= _MIN_RESTARTS


def find(unit: Unit) -> Finding | None:
    """Return a finding while a container of the unit keeps crashing."""
    problem = find_container_problem(unit, _has_problem)
    if problem is None:
        return None
    worst = problem.worst
    last_exit = last_exit_text(worst)
    exit_text = f", last {last_exit}" if last_exit else ""
    return unit_finding(
        RULE,
        unit,
        f"{problem.where} keeps crashing: {count(worst.restarts, 'restart')}{exit_text}.",
        health=container_health(unit),
        advice=crash_advice(problem),
        evidence=container_evidence(problem),
    )


RULE = UnitRule("crash-loop", Stage.START, "Crash loop", 40, find, health=Health.DEGRADED)
