"""`container-config`: the kubelet cannot create or start a container from its spec.

Examples are a missing secret or config map, a wrong mount and a missing command. The reasons are those of
`state.waiting` (pkg/kubelet/kuberuntime, pkg/kubelet/container/sync_result.go). The kubelet also writes errors
of the container runtime there, so an unknown reason counts as an error.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Container
from gangboard.domain.text import quote, sentence
from gangboard.domain.verdict import Finding
from gangboard.facts.containers import (
    BENIGN_REASONS,
    CRASH_LOOP,
    IMAGE_REASONS,
    container_evidence,
    container_health,
    error_cause,
    find_container_problem,
    missing_object_advice,
    template_error_advice,
)
from gangboard.facts.findings import unit_finding
from gangboard.facts.state_since import problem_since
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule

_REASONS = frozenset(
    {
        "CreateContainerConfigError",
        "CreateContainerError",
        "PreCreateHookError",
        "PreStartHookError",
        "PostStartHookError",
        "RunContainerError",
    }
)


_OTHER_RULES = IMAGE_REASONS | BENIGN_REASONS | {CRASH_LOOP}
"""Reasons that other rules report, or that need no rule."""


def _has_problem(container: Container) -> bool:
    return container.state == "waiting" and container.reason not in _OTHER_RULES


def find(unit: Unit) -> Finding | None:
    """Return a finding while a container of the unit cannot be created."""
    problem = find_container_problem(unit, _has_problem)
    if problem is None:
        return None
    worst = problem.worst
    text = quote(error_cause(worst.message))
    problem_text = "cannot be created" if worst.reason in _REASONS else "waits"
    if text and worst.reason not in _REASONS:
        problem_text = f"{problem_text} ({quote(worst.reason)})"
    return unit_finding(
        RULE,
        unit,
        sentence(f"{problem.where} {problem_text}: {text or quote(worst.reason)}"),
        health=container_health(unit),
        advice=_advice(worst, unit.owner.meta.ref.namespace),
        evidence=container_evidence(problem),
        since=problem_since(problem),
    )


def _advice(worst: Container, namespace: str) -> tuple[str, ...]:
    step = missing_object_advice(worst.message, namespace) or template_error_advice(
        worst.message, worst.name
    )
    return (step,) if step else ()


RULE = UnitRule(
    "container-config", Stage.START, "Container not created", 20, find, health=Health.DEGRADED
)
