"""What the rules find about one unit, and the findings that explain it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from gangboard.diagnosis.bounded_findings import bounded_finding
from gangboard.domain.advice import AdvisedStep
from gangboard.domain.capacity import PlacementRequest
from gangboard.domain.health import Health, Stage
from gangboard.domain.placing import Placing
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.gang import GangFacts, Unit
from gangboard.plugins import registry
from gangboard.plugins.rule import GangRule, UnitRule

Subject = TypeVar("Subject", GangFacts, Unit)
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


def evaluate_unit(unit: Unit, crashes: list[Finding]) -> UnitFinding:
    """Return the finding about one unit, with what the objects of its owner's kind say of it."""
    found = _evaluate(unit, crashes)
    ref = unit.owner.meta.ref
    kind = registry.owner_kind(ref.group, ref.kind)
    said = kind.evidence(unit) if kind is not None else ()
    evidence = tuple(dict.fromkeys((*found.finding.evidence, *said)))
    return replace(found, finding=replace(found.finding, evidence=evidence)) if said else found


def _rules_for(unit: Unit) -> tuple[UnitRule, ...]:
    ref = unit.owner.meta.ref
    return registry.unit_rules_for(ref.group, ref.kind, _grouping_of(unit))


def _grouping_of(unit: Unit) -> str:
    """Return the API group of the unit's group, or of what its pods name where that has no object; else empty."""
    if unit.group is not None or not unit.group_name:
        return unit.group.meta.ref.group if unit.group is not None else ""
    named = (pod.group_kind.partition(".")[2] for pod in unit.current if not pod.ignores_group)
    return next((group for group in named if group in registry.groups_without_objects()), "")


def _evaluate(unit: Unit, crashes: list[Finding]) -> UnitFinding:
    rules = [rule for rule in _rules_for(unit) if not rule.aside]
    reason = first([rule for rule in rules if not rule.overrides], unit, crashes)
    lost = first([rule for rule in rules if rule.overrides], unit, crashes)
    if lost is None:
        return UnitFinding(reason or _unexplained(unit), unit)
    if reason is None or reason.stage is Stage.RUN:
        return UnitFinding(lost, unit)
    # What brings the member back is the next step, also where the loss itself suggests none.
    return UnitFinding(replace(lost, advice=lost.advice or reason.advice), unit, (reason,))


def asides(unit: Unit, crashes: list[Finding]) -> Iterator[Finding]:
    """Yield what is told of a unit beside the finding about it."""
    for rule in _rules_for(unit):
        finding = first([rule], unit, crashes) if rule.aside else None
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


def _crash(what: str, stage: Stage, subject: GangFacts | Unit, error: Exception) -> Finding:
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
