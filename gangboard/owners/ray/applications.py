"""Findings about the applications of a RayService, from the states of Ray and the condition of KubeRay.

An application can fail to answer although all pods are ready (rayservice_controller.go).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gangboard.decode.wire import Wire, read_text
from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import ObjectRef, find_condition
from gangboard.domain.shell import command
from gangboard.domain.text import (
    all_of,
    is_or_are,
    label,
    quote,
    sentence,
    sentence_case,
)
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.unit import Unit
from gangboard.owners.ray import reasons
from gangboard.plugins.rule import UnitRule

APPLICATION = "application"  # in `detail`
_BROKEN = frozenset({"DEPLOY_FAILED", "UNHEALTHY"})
_RUNNING = "RUNNING"
_INVALID = "ValidationFailed"


class _WireApplication(Wire):
    status: str | None = None
    message: str | None = None


class WireServingCluster(Wire):
    """An active or pending RayCluster of a RayService, with its applications."""

    ray_cluster_name: str | None = None
    application_statuses: dict[str, _WireApplication] | None = None


def first_not_serving(served: WireServingCluster) -> str:
    """Return name, state and message of the first application that is not running, broken ones first."""
    texts = [
        f"{name} {state}{f': {read_text(application.message)}' if application.message else ''}"
        for name, application in sorted((served.application_statuses or {}).items())
        if (state := read_text(application.status) or "NOT_STARTED") != _RUNNING
    ]
    return min(texts, key=lambda text: not _is_broken(text), default="")


def _is_broken(application: str) -> bool:
    return any(f" {state}" in application for state in _BROKEN)


def find_not_serving(unit: Unit) -> Finding | None:
    """Return a finding if all pods are ready and KubeRay reports that no application answers."""
    service = unit.owner
    ready = find_condition(service.conditions, "Ready")
    if ready is None or ready.is_true or not reasons.is_head(unit):
        return None
    if sum(pod.is_ready for pod in unit.gang.pods) < service.desired:
        return None
    application = service.detail.get(APPLICATION, "")
    is_young = ready.reason == "Initializing" and not _is_broken(application)
    state_text = "its applications are not deployed yet" if is_young else "nothing answers"
    why = sentence(quote(application or ready.message))
    evidence = [Evidence(f"Ready: {ready.reason}", ready.message, service.meta.ref)]
    if application:
        evidence.append(Evidence("application", application, service.meta.ref))
    return _service_finding(
        NOT_SERVING,
        unit,
        f"{sentence_case(all_of(service.desired, 'pod'))} {is_or_are(service.desired)} ready, and {state_text}: {why}",
        health=Health.STARTING if is_young else None,
        advice=() if is_young else (_describe_step(service.meta.ref),),
        evidence=tuple(evidence),
        since=ready.since,
    )


def _describe_step(service: ObjectRef) -> AdvisedStep:
    """Return the first step of Ray's troubleshooting guide.

    The status has the messages of each application and deployment.
    """
    copied_command = command(
        "kubectl describe rayservices.ray.io {} -n {}", service.name, service.namespace
    )
    text = f"Read in the status of {label(service)} what each of its applications lacks."
    return AdvisedStep(text, AdviceKind.LOOK, copied_command)


def find_invalid(unit: Unit) -> Finding | None:
    """Return a finding if KubeRay rejects the spec as invalid and no longer reconciles the object."""
    ready = find_condition(unit.owner.conditions, "Ready")
    if ready is None or ready.is_true or ready.reason != _INVALID:
        return None
    return _service_finding(
        INVALID,
        unit,
        f"KubeRay finds {label(unit.owner.meta.ref)} invalid: {sentence(quote(ready.message))}",
        # Existing pods keep running, but KubeRay no longer reconciles them.
        health=Health.DEGRADED if unit.ready else None,
        evidence=(Evidence(f"Ready: {ready.reason}", ready.message, unit.owner.meta.ref),),
        since=ready.since,
    )


def _service_finding(rule: UnitRule, unit: Unit, message: str, **details: Any) -> Finding:
    """Return a finding about the whole service instead of one unit."""
    return replace(unit_finding(rule, unit, message, named=False, **details), unit="")


NOT_SERVING = UnitRule(
    "not-serving", Stage.START, "Not serving", 85, find_not_serving, health=Health.DEGRADED
)
INVALID = UnitRule(
    "objects-not-made",
    Stage.FORMATION,
    "Objects not created",
    14,
    find_invalid,
    health=Health.BLOCKED,
)
RULES = NOT_SERVING, INVALID
