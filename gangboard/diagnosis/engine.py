"""The engine: one verdict from the objects of a gang. The functions stand in the order in which they run."""

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
from gangboard.diagnosis.node_requests import node_requests_of
from gangboard.diagnosis.rule_runner import (
    Arithmetic,
    additional_findings,
    evaluate_unit,
    first_finding,
    rules_for,
    with_placing,
)
from gangboard.domain.verdict import Finding, NodeRequests, Verdict
from gangboard.facts.gang import Gang
from gangboard.facts.overdue_pods import stuck_due
from gangboard.facts.scheduler_text import retry_due
from gangboard.facts.unit import Unit
from gangboard.placement.unit_placement import fit_rows, placing_of
from gangboard.plugins import reasons


@dataclass(frozen=True, slots=True)
class _Assessment:
    """The units of a gang with their findings."""

    units: tuple[Unit, ...]
    findings: Sequence[UnitFinding]
    """Merged units share one finding."""
    by_unit: Mapping[str, Finding] = field(default_factory=dict)
    """Unit name → the finding about that unit alone."""
    additional: Sequence[Finding] = ()
    fit_units: Sequence[Unit] = ()
    """The units of the node-fit table."""
    node_requests: NodeRequests | None = None


def assess(gang: Gang, *, arithmetic: Arithmetic = placing_of) -> Verdict:
    """Return the verdict on a gang, with everything that explains it.

    1. The first gang rule with a finding decides about the whole gang.
    2. Without one, each unit gets its own finding (`_assess_units`).
    3. The gang shows the finding about its worst unit first.

    A rule that crashes becomes a finding `not-observed`, and the other rules still run. `arithmetic` can be
    another implementation of the placement arithmetic, to compare both.
    """
    crashes: list[Finding] = []
    units = units_of(gang)
    gang_finding = first_finding(reasons.gang_rules(), gang, crashes)
    if gang_finding is not None:
        assessed = _Assessment(units, [UnitFinding(gang_finding)], fit_units=units)
    else:
        assessed = _assess_units(gang, units, arithmetic, crashes)
    unit_findings = [*assessed.findings, *map(UnitFinding, crashes)]
    findings = gang_findings(gang, unit_findings, assessed.by_unit, assessed.additional)
    return _verdict(gang, assessed, findings)


def _assess_units(
    gang: Gang, units: Sequence[Unit], arithmetic: Arithmetic, crashes: list[Finding]
) -> _Assessment:
    """Return the units with their findings.

    Arithmetic comes first, because rules read its result for members that wait for a node. Each unit then gets
    the finding of the first override rule that has one, else of the first rule of the first stage. Finally,
    units that wait for the same nodes are assessed together.
    """
    placed = tuple(with_placing(unit, arithmetic, crashes) for unit in units)
    rules = [(unit, rules_for(unit)) for unit in placed]
    own = [evaluate_unit(unit, unit_rules, crashes) for unit, unit_rules in rules]
    additional = [
        finding
        for unit, unit_rules in rules
        for finding in additional_findings(unit, unit_rules, crashes)
    ]
    findings, workers = merge_waiting_workers(gang, own, arithmetic, crashes)
    findings, together = merge_units_placed_together(gang, findings, arithmetic, crashes)
    return _Assessment(
        units=placed,
        findings=findings,
        by_unit={unit.name: result.finding for unit, result in zip(placed, own, strict=True)},
        additional=additional,
        fit_units=fit_table_units(placed, together if workers is None else (*together, workers)),
        node_requests=node_requests_of(own),
    )


def _verdict(gang: Gang, assessed: _Assessment, findings: GangFindings) -> Verdict:
    """Return the verdict with what pages show besides the findings."""
    units = assessed.units
    dues = (
        *(finding.recheck_at for finding in findings.all_findings),
        *map(retry_due, units),
        *map(stuck_due, units),
    )
    restarts, max_restarts = restarts_of(gang.owner)
    return Verdict(
        finding=findings.row_findings[0],
        findings=findings.row_findings,
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
        fit=tuple(row for unit in assessed.fit_units for row in fit_rows(unit)),
        gang_mode=gang_mode_of(gang, units),
        domains=group_domains(gang),
        node_requests=assessed.node_requests,
    )
