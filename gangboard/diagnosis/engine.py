"""Runs the rules over a gang and its units, and gives its one verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from gangboard.diagnosis.bounded_findings import findings_of_jobs, first_findings
from gangboard.diagnosis.counting import (
    count_members,
    priority_of,
    priority_value_of,
    remember,
    request_texts,
    restarts_of,
    weight,
)
from gangboard.diagnosis.gang_mode import gang_mode_of, group_domains
from gangboard.diagnosis.gang_units import units
from gangboard.diagnosis.job_states import job_states, member_states
from gangboard.diagnosis.running_units import RUNNING, running_finding
from gangboard.diagnosis.ungrouped_workers import fit_table_units, merge_waiting_workers
from gangboard.diagnosis.unit_findings import (
    HEALTH_RANKS,
    Arithmetic,
    UnitFinding,
    asides,
    evaluate_unit,
    first,
    rules_for,
    with_placing,
)
from gangboard.diagnosis.units_placed_together import merge_units_placed_together
from gangboard.domain.health import Stage
from gangboard.domain.queue import QueueCode
from gangboard.domain.text import natural
from gangboard.domain.verdict import Finding, Verdict
from gangboard.facts.gang import Gang
from gangboard.facts.job_holds import idle_holds
from gangboard.facts.retry import retry_due
from gangboard.placement.unit_placement import fit_rows, placing_of
from gangboard.plugins import reasons

_SYMPTOM = 4
"""A symptom waits for another unit, whose finding is nearer to the cause."""
# Codes whose sentence counts all Jobs of the gang, although each unit finds it for itself.
_OF_THE_GANG = frozenset(
    {(Stage.RUN, "job-suspended"), *((Stage.ADMISSION, code) for code in QueueCode)}
)


def assess(gang: Gang, *, arithmetic: Arithmetic = placing_of) -> Verdict:
    """Return the verdict on a gang, with everything that explains it.

    The first gang rule that finds something decides. Otherwise each unit gets the first override
    rule that finds something, else the first rule of the first stage, and the gang shows its worst
    unit; what rules tell aside comes last. Where the units decide, arithmetic comes first, for each of which a member waits for a
    node: rules only read it. Of workers without a group that wait beside each other it is about all, and so of units
    that one object places together. A rule that crashes is a finding `not-observed`; the others are asked
    all the same. `arithmetic` can be another way to the same answers, to compare them.
    """
    parts = units(gang)
    crashes: list[Finding] = []
    decided = first(reasons.gang_rules(), gang, crashes)
    if decided is None:
        parts = tuple(with_placing(unit, arithmetic, crashes) for unit in parts)
    judged = [] if decided else [(unit, rules_for(unit)) for unit in parts]
    unit_findings = [UnitFinding(decided)] if decided else []
    unit_findings += [evaluate_unit(unit, rules, crashes) for unit, rules in judged]
    by_unit = {one.unit.name: one.finding for one in unit_findings if one.unit is not None}
    beside = [found for unit, rules in judged for found in asides(unit, rules, crashes)]
    unit_findings, whole = merge_waiting_workers(gang, unit_findings, arithmetic, crashes)
    unit_findings, bundles = merge_units_placed_together(gang, unit_findings, arithmetic, crashes)
    wholes = (*bundles, *((whole,) if whole is not None else ()))
    unit_findings += [UnitFinding(crash) for crash in crashes]
    ranked = sorted(_tell_running_together(gang, unit_findings, len(parts)), key=_rank)
    found = _with_idle_holds(
        gang,
        _without_repeats(
            [
                finding
                for unit_finding in ranked
                for finding in (unit_finding.finding, *unit_finding.behind)
            ]
            + beside
        ),
    )
    findings = first_findings(found)
    dues = (*(finding.recheck_at for finding in found), *map(retry_due, parts))
    restarts, max_restarts = restarts_of(gang.owner)
    return Verdict(
        finding=findings[0],
        findings=findings,
        members=count_members(gang, parts),
        requests=request_texts(gang),
        jobs=job_states(gang, parts, findings_of_jobs(by_unit, found, findings)),
        pods=member_states(gang),
        groups=tuple(dict.fromkeys(group.meta.ref for group in (*gang.workloads, *gang.groups))),
        recheck_at=min((due for due in dues if due is not None), default=None),
        memory=remember(gang, parts),
        priority=priority_of(gang),
        priority_value=priority_value_of(gang),
        restarts=restarts,
        max_restarts=max_restarts,
        fit=tuple(row for unit in fit_table_units(parts, wholes) for row in fit_rows(unit)),
        gang_mode=gang_mode_of(gang, parts),
        domains=group_domains(gang),
    )


def _tell_running_together(
    gang: Gang, unit_findings: list[UnitFinding], total: int
) -> list[UnitFinding]:
    """Return the unit findings with one for all units that run."""
    running = [
        (one.unit, one.finding)
        for one in unit_findings
        if one.unit is not None and one.finding.code == RUNNING and not one.behind
    ]
    if not running:
        return unit_findings
    rest = [one for one in unit_findings if one.finding.code != RUNNING or one.behind]
    return [*rest, UnitFinding(running_finding(gang, running, total))]


def _rank(
    unit_finding: UnitFinding,
) -> tuple[int, bool, float, float, tuple[tuple[str, int], ...]]:
    """Return the sort key: worst health, cause before symptom, then the larger request, then the name."""
    finding = unit_finding.finding
    rank = HEALTH_RANKS[finding.health]
    if finding.symptom:
        rank = max(rank, _SYMPTOM)
    accelerators, cores = weight(unit_finding.unit) if unit_finding.unit is not None else (0, 0)
    return rank, finding.symptom, -float(accelerators), -float(cores), natural(finding.unit)


def _without_repeats(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings without those that say again what an earlier one said."""
    found: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        is_of_all = (finding.stage, finding.code) in _OF_THE_GANG
        said = finding.code, "" if is_of_all else finding.message
        first = found.get(said)
        if first is None:
            found[said] = finding
        elif first.unit != finding.unit:
            found[said] = replace(first, unit="", recheck_at=_earlier(first, finding))
    return tuple(found.values())


def _with_idle_holds(gang: Gang, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return the findings, the first with a word about Holds that keep nothing: a Job runs on."""
    idle = () if gang.owner.finish is not None else idle_holds(gang)
    if not idle:
        return findings
    first, *others = findings
    return replace(first, evidence=(*first.evidence, *idle)), *others


def _earlier(*findings: Finding) -> datetime | None:
    return min((one.recheck_at for one in findings if one.recheck_at is not None), default=None)
