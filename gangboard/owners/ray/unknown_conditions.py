"""Conditions of KubeRay with an unknown reason, which are reported as errors with their text.

Known reasons are those of KubeRay 1.6.2 (raycluster_types.go, rayservice_types.go, constant.go).
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import Condition, find_condition
from gangboard.domain.owner import Owner
from gangboard.domain.text import label, out_of, quote, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.unit import Unit, is_formed
from gangboard.owners.ray.reasons import CREATION_FAILURES, cluster_of
from gangboard.plugins.rule import UnitRule

_KNOWN_REASONS = {
    "RayClusterProvisioned": frozenset({"", "RayClusterPodsProvisioning", "Unknown"}),
    "Ready": frozenset(
        {"", "Initializing", "InitializingTimeout", "ValidationFailed", "ZeroServeEndpoints"}
    ),
}
"""Condition that is False before all pods are ready → known reasons: normal starts, or reasons of other rules."""


def find_failure(unit: Unit) -> Finding | None:
    """Return a finding while pods are missing and KubeRay reports a failure other than pod creation."""
    cluster = cluster_of(unit)
    failure = find_condition(cluster.conditions, "ReplicaFailure") if cluster is not None else None
    if cluster is None or failure is None or not failure.is_true:
        return None
    if failure.reason in CREATION_FAILURES or is_formed(unit) or not unit.missing:
        return None
    live = len(unit.current) + unit.succeeded
    exist = f"{out_of(live, unit.wanted, 'pod')} {'exists' if live == 1 else 'exist'}"
    text = _text(failure)
    return unit_finding(
        FAILED,
        unit,
        sentence(f"{exist}, and KubeRay failed ({quote(failure.reason)}): {text}"),
        evidence=(
            Evidence(f"ReplicaFailure: {failure.reason}", failure.message, cluster.meta.ref),
            Evidence("pods", f"{live} of {unit.wanted}"),
        ),
        since=failure.since,
    )


def find_unmade(unit: Unit) -> Finding | None:
    """Return a finding while pods are missing and the Ray object is not ready for an unknown reason."""
    return _find(UNMADE, unit) if unit.missing else None


def find_unready(unit: Unit) -> Finding | None:
    """Return a finding while pods are unready and the Ray object is not ready for an unknown reason."""
    return None if unit.missing or unit.is_full else _find(UNREADY, unit)


def _find(rule: UnitRule, unit: Unit) -> Finding | None:
    unknown = _find_unknown_condition(unit)
    if unknown is None:
        return None
    owner, condition = unknown
    ref = owner.meta.ref
    cause = f"KubeRay says that {label(ref)} is not ready ({quote(condition.reason)})"
    return unit_finding(
        rule,
        unit,
        sentence(f"{cause}: {_text(condition)}"),
        health=Health.DEGRADED if unit.gang.ready else None,
        evidence=(Evidence(f"{condition.type}: {condition.reason}", condition.message, ref),),
        since=condition.since,
        named=False,
    )


def _find_unknown_condition(unit: Unit) -> tuple[Owner, Condition] | None:
    """Return the object that is not ready for an unknown reason, with its condition."""
    cluster = cluster_of(unit)
    for owner in filter(None, (unit.owner, cluster)):
        for name, known in _KNOWN_REASONS.items():
            condition = find_condition(owner.conditions, name)
            if condition is not None and condition.is_false and condition.reason not in known:
                return owner, condition
    return None


def _text(condition: Condition) -> str:
    """Return the message of a condition without its first line, which repeats the reason."""
    return quote(condition.message.removeprefix(condition.reason).strip() or condition.reason)


FAILED = UnitRule(
    "pods-not-created", Stage.FORMATION, "Pods not created", 60, find_failure, health=Health.BLOCKED
)
UNMADE = UnitRule(
    "objects-not-made",
    Stage.FORMATION,
    "Objects not created",
    69,
    find_unmade,
    health=Health.BLOCKED,
)
UNREADY = UnitRule(
    "objects-not-made",
    Stage.START,
    "Objects not created",
    86,
    find_unready,
    health=Health.BLOCKED,
)
RULES = FAILED, UNMADE, UNREADY
