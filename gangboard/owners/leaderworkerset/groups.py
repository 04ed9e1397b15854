"""Reasons of the LeaderWorkerSet condition `WorkloadSchedulingReady`, about the groups of its pods.

Source: KEP-666 (kubernetes-sigs/lws#979) and its code (lws#982). No release has it yet.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import Condition, find_condition
from gangboard.domain.text import label, quote, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule

_CONDITION = "WorkloadSchedulingReady"
_NOT_MADE = "The groups of {name} cannot be created"
_SENTENCES = {
    "APINotAvailable": "The cluster serves no API for the groups of {name}",
    "WorkloadCreateFailed": "The Workload of {name} cannot be created",
    "PodGroupCreateFailed": "A PodGroup of {name} cannot be created",
    "PodGroupCleanupBlocked": "A new PodGroup of {name} waits until the former one is deleted",
    "InvalidSchedulingConfiguration": "{name} requests groups that cannot be created",
    "ParentWorkloadNotReady": "{name} waits for the Workload of its parent",
}
"""Reason → beginning of the sentence. The controller's message follows."""


def find_not_made(unit: Unit) -> Finding | None:
    """Return a finding while groups are missing, for any reason without a specific rule."""
    condition = _refusal(unit)
    if condition is None or condition.reason in _SPECIFIC_RULES:
        return None
    return _finding(unit, condition, NOT_MADE)


def find_blocked(unit: Unit) -> Finding | None:
    """Return a finding while a former group blocks the new one."""
    return _find_by_rule(unit, BLOCKED)


def find_invalid(unit: Unit) -> Finding | None:
    """Return a finding if no group can express the requested policy."""
    return _find_by_rule(unit, INVALID)


def find_waiting(unit: Unit) -> Finding | None:
    """Return a finding while the Workload of a parent is not ready."""
    return _find_by_rule(unit, WAITING)


def _find_by_rule(unit: Unit, rule: UnitRule) -> Finding | None:
    condition = _refusal(unit)
    if condition is None or _SPECIFIC_RULES.get(condition.reason) is not rule:
        return None
    return _finding(unit, condition, rule)


def _refusal(unit: Unit) -> Condition | None:
    """Return the condition if it is False and the unit without a group has missing or unplaced members."""
    condition = find_condition(unit.owner.conditions, _CONDITION)
    if condition is None or not condition.is_false or unit.group is not None:
        return None
    return condition if unit.missing or unit.unplaced else None


def _finding(unit: Unit, condition: Condition, rule: UnitRule) -> Finding:
    ref = unit.owner.meta.ref
    cause = _SENTENCES.get(condition.reason, _NOT_MADE).format(name=label(ref))
    text = f"{cause}: {quote(condition.message)}" if condition.message else cause
    return unit_finding(
        rule,
        unit,
        sentence(text),
        evidence=(Evidence(f"{_CONDITION}: {condition.reason}", condition.message, ref),),
        since=condition.since,
        named=False,
    )


NOT_MADE = UnitRule(
    "group-creation-failed",
    Stage.FORMATION,
    "Group not created",
    32,
    find_not_made,
    health=Health.BLOCKED,
)
BLOCKED = UnitRule(
    "podgroup-terminating",
    Stage.FORMATION,
    "PodGroup terminating",
    32,
    find_blocked,
    health=Health.BLOCKED,
)
INVALID = UnitRule(
    "group-not-expressible",
    Stage.FORMATION,
    "Group cannot be expressed",
    20,
    find_invalid,
    health=Health.BLOCKED,
)
WAITING = UnitRule(
    "dependency-waiting",
    Stage.FORMATION,
    "Waits for another part",
    32,
    find_waiting,
    health=Health.WAITING,
)
_SPECIFIC_RULES = {
    "PodGroupCleanupBlocked": BLOCKED,
    "InvalidSchedulingConfiguration": INVALID,
    "ParentWorkloadNotReady": WAITING,
}
RULES = NOT_MADE, BLOCKED, INVALID, WAITING
