"""What the rules find about one unit, and the findings that explain it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from gangboard.diagnosis.bounded_findings import bounded_finding
from gangboard.domain.advice import AdvisedStep
from gangboard.domain.capacity import PlacementRequest
from gangboard.domain.health import Health, Stage
from gangboard.domain.placement_result import Placing
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.gang import Gang
from gangboard.facts.unit import Unit
from gangboard.plugins import reasons, registry
from gangboard.plugins.rule import GangRule, UnitRule

Subject = TypeVar("Subject", Gang, Unit)
Arithmetic = Callable[[Unit], Placing | None]

# Worst first; 4 is for symptoms. What could not be looked at must never look better than it may be,
# so it stands before all that goes well.
HEALTH_RANKS = {
    Health.FAILED: 0,
    Health.BLOCKED: 1,
    Health.DEGRADED: 2,
    Health.WAITING: 3,
    Health.UNKNOWN: 5,
    Health.STARTING: 6,
    Health.SUSPENDED: 7,
    Health.RUNNING: 8,
    Health.SUCCEEDED: 9,
}


@dataclass(frozen=True, slots=True)
class UnitFinding:
    """A finding about a unit, with the findings that explain it."""

    finding: Finding
    unit: Unit | None = None
    behind: tuple[Finding, ...] = ()
    """Why a member that was lost does not come back: shown next, never ranked on its own."""


def with_placing(unit: Unit, arithmetic: Arithmetic, crashes: list[Finding]) -> Unit:
    """Return the unit with what arithmetic says of its members that wait for a node."""
    try:
        found = arithmetic(unit)
    # As with a rule: a defect in the arithmetic must not silence what else is known.
    except Exception as error:  # noqa: BLE001
        crashes.append(_crash("The arithmetic of placement", Stage.PLACEMENT, unit, error))
        found = Placing(PlacementRequest(()), why="a defect of gangboard in the arithmetic")
    return unit if found is None else replace(unit, placing=found)


def evaluate_unit(unit: Unit, rules: UnitRules, crashes: list[Finding]) -> UnitFinding:
    """Return the finding about one unit, with what the objects of its owner's kind say of it."""
    found = _evaluate(unit, rules, crashes)
    ref = unit.owner.meta.ref
    kind = registry.owner_kind(ref.group, ref.kind)
    said = kind.evidence(unit) if kind is not None else ()
    if not said:
        return found
    evidence = tuple(dict.fromkeys((*found.finding.evidence, *said)))
    return replace(found, finding=replace(found.finding, evidence=evidence))


class UnitRules(NamedTuple):
    """The rules that can find something of one unit, in order."""

    overrides: list[UnitRule]
    stages: list[UnitRule]
    asides: list[UnitRule]


def rules_for(unit: Unit) -> UnitRules:
    """Return the rules that can find something of a unit."""
    ref, is_queued = unit.owner.meta.ref, unit.gang.is_any_queued
    is_grouped = unit.group is not None or bool(unit.group_name)
    grouping = _grouping_of(unit) if is_grouped else ""
    rules = UnitRules([], [], [])
    for rule in reasons.unit_rules_for(ref.group, ref.kind, grouping):
        if (rule.of_waiting and not unit.unplaced) or (rule.of_queued and not is_queued):
            continue
        if rule.aside:
            rules.asides.append(rule)
        elif rule.overrides:
            rules.overrides.append(rule)
        else:
            rules.stages.append(rule)
    return rules


def _grouping_of(unit: Unit) -> str:
    """Return the API group of the unit's group, or of what its pods name where that has no object; else empty."""
    if unit.group is not None or not unit.group_name:
        return unit.group.meta.ref.group if unit.group is not None else ""
    named = (pod.group_kind.partition(".")[2] for pod in unit.current if not pod.ignores_group)
    return next((group for group in named if group in registry.groups_without_objects()), "")


def _evaluate(unit: Unit, rules: UnitRules, crashes: list[Finding]) -> UnitFinding:
    reason = first(rules.stages, unit, crashes)
    lost = first(rules.overrides, unit, crashes)
    if lost is None:
        return UnitFinding(reason or _unexplained(unit), unit)
    if reason is None or reason.stage is Stage.RUN:
        return UnitFinding(lost, unit)
    # What brings the member back is the next step, also where the loss itself suggests none.
    return UnitFinding(replace(lost, advice=lost.advice or reason.advice), unit, (reason,))


def asides(unit: Unit, rules: UnitRules, crashes: list[Finding]) -> Iterator[Finding]:
    """Yield what is told of a unit beside the finding about it."""
    for rule in rules.asides:
        finding = first([rule], unit, crashes)
        if finding is not None:
            yield finding


def first(
    rules: Sequence[GangRule] | Sequence[UnitRule], subject: Subject, crashes: list[Finding]
) -> Finding | None:
    """Return what the first rule finds that finds something; one that breaks is among `crashes`."""
    for rule in rules:
        find: Callable[..., Finding | None] = rule.find
        try:
            finding = find(subject)
        # A defect in one rule must not silence all others; what it says is what is recorded.
        except Exception as error:  # noqa: BLE001
            crashes.append(_crash(f"The rule {rule.code}", rule.stage, subject, error))
            continue
        if finding is not None:
            owner = subject.owner.meta.ref
            return bounded_finding(finding, owner.namespace)
    return None


def _crash(what: str, stage: Stage, subject: Gang | Unit, error: Exception) -> Finding:
    unit = subject.name if isinstance(subject, Unit) else ""
    about = f" of {unit}" if unit else ""
    return Finding(
        code="not-observed",
        health=Health.UNKNOWN,
        stage=stage,
        title="Not observed",
        message=f"{what}{about} ended in a defect of gangboard, so what it would say is not known.",
        unit=unit,
        advice=(AdvisedStep("Report this defect of gangboard with the evidence."),),
        evidence=(Evidence("defect", f"{type(error).__name__}: {error}"),),
    )


def _unexplained(unit: Unit) -> Finding:
    """Return what is said when no rule has a word: never nothing, never that all is well."""
    return Finding(
        code="not-observed",
        health=Health.UNKNOWN,
        stage=Stage.RUN,
        title="Not observed",
        message=f"gangboard knows no reason that fits {unit.noun} {unit.name}: "
        f"{len(unit.ready)} of {unit.wanted} pods are ready.",
        unit=unit.name,
    )
