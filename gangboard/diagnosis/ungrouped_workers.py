"""Workers without a group that wait for nodes: one finding about all of them.

The scheduler places their pods one by one, and the person asks about the gang: whether there is room for
all that wait. What is true of each worker by itself stands in its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gangboard.diagnosis.unit_findings import (
    HEALTH_RANKS,
    Arithmetic,
    UnitFinding,
    evaluate_unit,
    first,
    rules_for,
    with_placing,
)
from gangboard.domain.group import Policy
from gangboard.domain.health import Stage
from gangboard.domain.placement_result import PlacementCause
from gangboard.domain.verdict import Finding
from gangboard.facts.gang import Gang
from gangboard.facts.unit import Unit
from gangboard.plugins import reasons

_OPEN = frozenset({PlacementCause.FITS, PlacementCause.TOO_FEW_PODS, PlacementCause.CANNOT_TELL})
"""Answers that do not prove that the waiting members find no room."""
_YOUNG = "starting"
"""The code of pods, too, that nobody has had the time to try."""
MOST_KINDS = 16
"""Kinds of pods that are searched together; with more of them each worker is told for itself."""


def merge_waiting_workers(
    gang: Gang,
    unit_findings: list[UnitFinding],
    arithmetic: Arithmetic,
    crashes: list[Finding],
) -> tuple[list[UnitFinding], Unit | None]:
    """Merge several workers without a group that wait for nodes: return the findings, and these as one unit.

    One finding is about all of them. What each was told for itself is behind it, without advice: that
    is about the whole. A loss stays what it is, and its reason is that of the whole. Where the whole
    cannot be decided, or one by itself is worse off, each is told for itself (None).
    """
    rules = [rule for rule in reasons.unit_rules() if rule.of_room]
    codes = frozenset(rule.code for rule in rules)
    short = {one.unit.name for one in unit_findings if one.unit and _lacks_room(one, codes)}
    if len(short) < 2:
        return unit_findings, None
    whole = merge_units(gang, _workers(unit_findings, short))
    kinds = {(frozenset(pod.requests.items()), pod.needs) for pod in whole.unplaced}
    if len(kinds) > MOST_KINDS:
        return unit_findings, None
    whole = with_placing(whole, arithmetic, crashes)
    told = first(rules, whole, crashes) if is_decided(whole) else None
    if told is None:
        return unit_findings, None
    told = replace(told, unit="")
    found: list[UnitFinding] = []
    own: list[tuple[Unit, Finding]] = []
    for one in unit_findings:
        if one.unit is None or one.unit.name not in short:
            found.append(one)
        elif one.finding.code in codes:
            own.append((one.unit, one.finding))
        else:
            found.append(retold(one.unit, whole, told, crashes))
    if any(HEALTH_RANKS[finding.health] < HEALTH_RANKS[told.health] for _, finding in own):
        return unit_findings, None
    if own:
        behind = tuple(replace(finding, advice=()) for _, finding in own)
        found.append(UnitFinding(told, merge_units(gang, [unit for unit, _ in own]), behind))
    return found, whole


def fit_table_units(units: Sequence[Unit], wholes: Sequence[Unit]) -> tuple[Unit, ...]:
    """Return the units whose waiting members the node-fit table is about: each of `wholes` in place of its parts."""
    waiting = {pod.meta.ref.uid for whole in wholes for pod in whole.unplaced}
    others = [
        unit for unit in units if not any(pod.meta.ref.uid in waiting for pod in unit.unplaced)
    ]
    return (*others, *wholes)


def merge_units(gang: Gang, units: Sequence[Unit]) -> Unit:
    """Return some units without a quorum as one, under the name of the owner."""
    foreign_pods = {pod.meta.ref.uid: pod for unit in units for pod in unit.foreign_pods}
    roles = {role.name: role for unit in units for role in unit.roles}
    return Unit(
        gang=gang,
        name=gang.owner.meta.ref.name,
        noun=gang.owner.meta.ref.kind,
        desired=sum(unit.desired for unit in units),
        quorum=None,
        jobs=tuple(job for unit in units for job in unit.jobs),
        roles=tuple(roles.values()),
        pods=tuple(pod for unit in units for pod in unit.pods),
        foreign_pods=tuple(foreign_pods.values()),
        held=sum(unit.held for unit in units),
        missing_jobs=tuple(name for unit in units for name in unit.missing_jobs),
        events=gang.events,
    )


def _lacks_room(unit_finding: UnitFinding, codes: frozenset[str]) -> bool:
    """Whether a worker waits for nodes, from the beginning or after a loss."""
    unit = unit_finding.unit
    if unit is None or unit.placing is None or not _is_placed_alone(unit):
        return False
    return any(one.code in codes for one in (unit_finding.finding, *unit_finding.behind))


def _is_placed_alone(unit: Unit) -> bool:
    """Whether its pods are placed one by one, wherever those of other units are."""
    if unit.quorum is not None:
        return False
    group = unit.group
    if group is None:
        return not unit.group_name
    return group.policy is Policy.BASIC and not (group.topology_keys or group.parent_name)


def _workers(unit_findings: Sequence[UnitFinding], short: set[str]) -> list[Unit]:
    """Return all workers without a group but those whose pods wait for something else than room."""
    return [
        one.unit
        for one in unit_findings
        if one.unit is not None
        and _is_placed_alone(one.unit)
        and (
            one.unit.name in short
            or one.unit.placing is None
            or one.finding.stage is not Stage.PLACEMENT
            or one.finding.code == _YOUNG
        )
    ]


def is_decided(unit: Unit) -> bool:
    """Whether it is proven that its waiting members do not all find room now."""
    assessment = unit.placing.assessment if unit.placing is not None else None
    return assessment is not None and assessment.cause not in _OPEN


def retold(unit: Unit, whole: Unit, told: Finding, crashes: list[Finding]) -> UnitFinding:
    """Return what is said of a loss whose members are kept away together with those of others."""
    part = replace(unit, together=whole)
    again = evaluate_unit(part, rules_for(part), crashes)
    return UnitFinding(again.finding, unit, (told,))
