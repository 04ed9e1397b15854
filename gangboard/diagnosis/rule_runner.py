"""Rule runner: runs rules on a gang or a unit. A rule that crashes becomes a finding and does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from gangboard.diagnosis.findings import UnitFinding, bounded_finding
from gangboard.domain.advice import AdvisedStep
from gangboard.domain.capacity import PlacementRequest
from gangboard.domain.health import Health, Stage
from gangboard.domain.placement_result import PlacementResult
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.gang import NO_ALERT, Gang
from gangboard.facts.unit import Unit
from gangboard.plugins import reasons, registry
from gangboard.plugins.rule import GangRule, UnitRule

Subject = TypeVar("Subject", Gang, Unit)
Arithmetic = Callable[[Unit], PlacementResult | None]


class UnitRules(NamedTuple):
    """The rules that apply to a unit, in order."""

    overrides: list[UnitRule]
    stages: list[UnitRule]
    additional: list[UnitRule]


def rules_for(unit: Unit) -> UnitRules:
    """Return the rules that apply to a unit."""
    ref, is_queued = unit.owner.meta.ref, unit.gang.is_any_queued
    has_use_alert = unit.gang.use_alert is not NO_ALERT
    is_grouped = unit.group is not None or bool(unit.group_name)
    grouping = _grouping_api_of(unit) if is_grouped else ""
    rules = UnitRules([], [], [])
    for rule in reasons.unit_rules_for(ref.group, ref.kind, grouping):
        if (
            (rule.for_waiting_units and not unit.unplaced)
            or (rule.for_queued_units and not is_queued)
            or (rule.for_use_alerts and not has_use_alert)
        ):
            continue
        if rule.is_additional:
            rules.additional.append(rule)
        elif rule.overrides:
            rules.overrides.append(rule)
        else:
            rules.stages.append(rule)
    return rules


def _grouping_api_of(unit: Unit) -> str:
    """Return the API group of the unit's group, or of a group without an object that its pods name."""
    if unit.group is not None or not unit.group_name:
        return unit.group.meta.ref.group if unit.group is not None else ""
    named = (pod.group_kind.partition(".")[2] for pod in unit.current if not pod.ignores_group)
    return next((group for group in named if group in registry.groups_without_objects()), "")


def with_placing(unit: Unit, arithmetic: Arithmetic, crashes: list[Finding]) -> Unit:
    """Return the unit with the placement result of its waiting members."""
    try:
        placing = arithmetic(unit)
    # A defect in the arithmetic must not hide the findings of the rules.
    except Exception as error:  # noqa: BLE001
        crashes.append(_crash_finding("The arithmetic of placement", Stage.PLACEMENT, unit, error))
        placing = PlacementResult(
            PlacementRequest(()), why="a defect of gangboard in the arithmetic"
        )
    return unit if placing is None else replace(unit, placing=placing)


def evaluate_unit(unit: Unit, rules: UnitRules, crashes: list[Finding]) -> UnitFinding:
    """Return the finding about a unit, with the evidence that the owner's kind adds."""
    unit_finding = _evaluate(unit, rules, crashes)
    ref = unit.owner.meta.ref
    kind = registry.owner_kind(ref.group, ref.kind)
    added = kind.evidence(unit) if kind is not None else ()
    if not added:
        return unit_finding
    evidence = tuple(dict.fromkeys((*unit_finding.finding.evidence, *added)))
    return replace(unit_finding, finding=replace(unit_finding.finding, evidence=evidence))


def _evaluate(unit: Unit, rules: UnitRules, crashes: list[Finding]) -> UnitFinding:
    reason = first_finding(rules.stages, unit, crashes)
    loss = first_finding(rules.overrides, unit, crashes)
    if loss is None:
        return UnitFinding(reason or _unexplained_finding(unit), unit)
    if reason is None or reason.stage is Stage.RUN:
        return UnitFinding(loss, unit)
    # A loss without advice takes the advice of the reason, because that brings the member back.
    return UnitFinding(replace(loss, advice=loss.advice or reason.advice), unit, (reason,))


def additional_findings(unit: Unit, rules: UnitRules, crashes: list[Finding]) -> Iterator[Finding]:
    """Yield the findings of rules that never decide about a unit."""
    for rule in rules.additional:
        finding = first_finding([rule], unit, crashes)
        if finding is not None:
            yield finding


def first_finding(
    rules: Sequence[GangRule] | Sequence[UnitRule], subject: Subject, crashes: list[Finding]
) -> Finding | None:
    """Return the finding of the first rule that has one. A rule that crashes adds to `crashes`."""
    for rule in rules:
        find: Callable[..., Finding | None] = rule.find
        try:
            finding = find(subject)
        # A defect in one rule must not hide the findings of the others.
        except Exception as error:  # noqa: BLE001
            crashes.append(_crash_finding(f"The rule {rule.code}", rule.stage, subject, error))
            continue
        if finding is not None:
            owner = subject.owner.meta.ref
            return bounded_finding(finding, owner.namespace)
    return None


def _crash_finding(
    subject_text: str, stage: Stage, subject: Gang | Unit, error: Exception
) -> Finding:
    unit = subject.name if isinstance(subject, Unit) else ""
    about = f" of {unit}" if unit else ""
    return Finding(
        code="not-observed",
        health=Health.UNKNOWN,
        stage=stage,
        title="Not observed",
        message=f"{subject_text}{about} ended in a defect of gangboard, so what it would say is not known.",
        unit=unit,
        advice=(AdvisedStep("Report this defect of gangboard with the evidence."),),
        evidence=(Evidence("defect", f"{type(error).__name__}: {error}"),),
    )


def _unexplained_finding(unit: Unit) -> Finding:
    """Return the finding about a unit without a finding of any rule. It never looks healthy."""
    return Finding(
        code="not-observed",
        health=Health.UNKNOWN,
        stage=Stage.RUN,
        title="Not observed",
        message=f"gangboard knows no reason that fits {unit.noun} {unit.name}: "
        f"{len(unit.ready)} of {unit.wanted} pods are ready.",
        unit=unit.name,
    )
