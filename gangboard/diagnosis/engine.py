"""Judges a gang: from its objects to one verdict, in the order in which the reader sees it here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gangboard.diagnosis.findings import GangFindings, UnitFinding, gang_findings
from gangboard.diagnosis.gang_mode import gang_mode_of, group_domains
from gangboard.diagnosis.gang_units import units_of
from gangboard.diagnosis.job_states import job_states
from gangboard.diagnosis.members import (
    count_members,
    member_states,
    priority_of,
    priority_value_of,
    remember,
    request_texts,
    restarts_of,
)
from gangboard.diagnosis.merged_units import (
    fit_table_units,
    merge_units_placed_together,
    merge_waiting_workers,
)
from gangboard.diagnosis.rule_runner import (
    Arithmetic,
    additional_findings,
    evaluate_unit,
    first_finding,
    rules_for,
    with_placing,
)
from gangboard.domain.verdict import Finding, Verdict
from gangboard.facts.gang import Gang
from gangboard.facts.scheduler_text import retry_due
from gangboard.facts.unit import Unit
from gangboard.placement.unit_placement import fit_rows, placing_of
from gangboard.plugins import reasons


@dataclass(frozen=True, slots=True)
class _Judged:
    """The units of a gang with their findings."""

    units: tuple[Unit, ...]
    findings: Sequence[UnitFinding]
    """Merged units have one finding for all their parts."""
    by_unit: Mapping[str, Finding] = field(default_factory=dict)
    """The finding about each unit by itself, by the unit's name."""
    additional: Sequence[Finding] = ()
    fit_units: Sequence[Unit] = ()
    """The units of the node-fit table."""


def assess(gang: Gang, *, arithmetic: Arithmetic = placing_of) -> Verdict:
    """Return the verdict on a gang, with everything that explains it.

    1. The first gang rule with a finding decides about the whole gang.
    2. Without one, each unit gets its own finding (`_judge_units`).
    3. The gang shows the finding about its worst unit first.

    A rule that crashes becomes a finding `not-observed`, and the other rules run all the same. `arithmetic`
    can be another implementation of the placement arithmetic, to compare both.
    """
    crashes: list[Finding] = []
    units = units_of(gang)
    of_gang = first_finding(reasons.gang_rules(), gang, crashes)
    if of_gang is not None:
        judged = _Judged(units, [UnitFinding(of_gang)], fit_units=units)
    else:
        judged = _judge_units(gang, units, arithmetic, crashes)
    unit_findings = [*judged.findings, *map(UnitFinding, crashes)]
    findings = gang_findings(gang, unit_findings, judged.by_unit, judged.additional)
    return _verdict(gang, judged, findings)


def _judge_units(
    gang: Gang, units: Sequence[Unit], arithmetic: Arithmetic, crashes: list[Finding]
) -> _Judged:
    """Return the units with their findings.

    Arithmetic comes first, because rules read its result for members that wait for a node. Each unit then gets
    the finding of the first override rule that has one, else of the first rule of the first stage. Units that
    wait for the same nodes are judged together at last.
    """
    placed = tuple(with_placing(unit, arithmetic, crashes) for unit in units)
    rules = [(unit, rules_for(unit)) for unit in placed]
    own = [evaluate_unit(unit, of_unit, crashes) for unit, of_unit in rules]
    additional = [
        finding
        for unit, of_unit in rules
        for finding in additional_findings(unit, of_unit, crashes)
    ]
    findings, workers = merge_waiting_workers(gang, own, arithmetic, crashes)
    findings, together = merge_units_placed_together(gang, findings, arithmetic, crashes)
    return _Judged(
        units=placed,
        findings=findings,
        by_unit={unit.name: of_unit.finding for unit, of_unit in zip(placed, own, strict=True)},
        additional=additional,
        fit_units=fit_table_units(placed, together if workers is None else (*together, workers)),
    )


def _verdict(gang: Gang, judged: _Judged, findings: GangFindings) -> Verdict:
    """Return the verdict with what pages show besides the findings."""
    units = judged.units
    dues = (*(finding.recheck_at for finding in findings.every), *map(retry_due, units))
    restarts, max_restarts = restarts_of(gang.owner)
    return Verdict(
        finding=findings.shown[0],
        findings=findings.shown,
        requests=request_texts(gang),
        priority=priority_of(gang),
        priority_value=priority_value_of(gang),
        restarts=restarts,
        max_restarts=max_restarts,
        memory=remember(gang, units),
        pods=member_states(gang),
        members=count_members(gang, units),
        jobs=job_states(gang, units, findings.of_jobs),
        groups=tuple(dict.fromkeys(group.meta.ref for group in (*gang.workloads, *gang.groups))),
        recheck_at=min((due for due in dues if due is not None), default=None),
        fit=tuple(row for unit in judged.fit_units for row in fit_rows(unit)),
        gang_mode=gang_mode_of(gang, units),
        domains=group_domains(gang),
    )
