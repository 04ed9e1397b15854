"""Merged units: one finding about all units that wait for the same nodes.

Two kinds of units are merged, and each unit keeps its own finding in its row:

- Workers without a group. The scheduler places their pods one by one. The user wants to know whether all of
  them fit.
- Units that one grouping object places together. The scheduler places all of them or none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from gangboard.diagnosis.findings import HEALTH_RANKS, UnitFinding
from gangboard.diagnosis.rule_runner import (
    Arithmetic,
    evaluate_unit,
    first_finding,
    rules_for,
    with_placing,
)
from gangboard.domain.group import Group, Policy
from gangboard.domain.health import Stage
from gangboard.domain.placement_result import PlacementCause
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Finding
from gangboard.facts.gang import Gang
from gangboard.facts.unit import Unit
from gangboard.plugins import reasons, registry
from gangboard.plugins.rule import UnitRule

_UNDECIDED = frozenset(
    {PlacementCause.FITS, PlacementCause.TOO_FEW_PODS, PlacementCause.CANNOT_TELL}
)
"""Causes that do not prove that the waiting members find no nodes."""
_YOUNG = "starting"
"""The code `starting` is also that of a unit whose pods the scheduler has not had time to try."""
MAX_POD_KINDS = 16
"""The largest number of different pods in a merged unit. With more, the arithmetic takes too long."""


def merge_waiting_workers(
    gang: Gang,
    unit_findings: list[UnitFinding],
    arithmetic: Arithmetic,
    crashes: list[Finding],
) -> tuple[list[UnitFinding], Unit | None]:
    """Merge workers without a group that wait for nodes. Return the findings, and the merged unit.

    The merged finding replaces those of the workers, which explain it without advice. A worker that lost
    members keeps its finding, and the merged one explains it.

    The findings stay as they are, without a merged unit, in these cases:

    - Fewer than two workers wait.
    - The arithmetic cannot decide about all of them.
    - One of them is worse off by itself.
    """
    rules = _placement_rules()
    codes = frozenset(rule.code for rule in rules)
    waiting = {
        unit_finding.unit.name
        for unit_finding in unit_findings
        if unit_finding.unit is not None and _waits_for_nodes(unit_finding, codes)
    }
    if len(waiting) < 2:
        return unit_findings, None
    merged = merge_units(gang, _workers(unit_findings, waiting))
    if _number_of_kinds(merged.unplaced) > MAX_POD_KINDS:
        return unit_findings, None
    merged, finding = _assess_merged(merged, rules, arithmetic, crashes)
    if finding is None:
        return unit_findings, None
    finding = replace(finding, unit="")
    rest, replaced = _separate(unit_findings, waiting, merged, finding, codes, crashes)
    if _is_any_worse(replaced, finding):
        return unit_findings, None
    if replaced:
        units = [worker.unit for worker in replaced if worker.unit is not None]
        rest.append(UnitFinding(finding, merge_units(gang, units), _explanations(replaced)))
    return rest, merged


def merge_units_placed_together(
    gang: Gang,
    unit_findings: list[UnitFinding],
    arithmetic: Arithmetic,
    crashes: list[Finding],
) -> tuple[list[UnitFinding], tuple[Unit, ...]]:
    """Merge the units of each grouping object that wait for nodes.

    Return the findings, and the merged units whose finding replaces those of their parts. The units of a
    grouping object stay separate if the arithmetic cannot decide about all of them, or if one is worse off by
    itself.
    """
    rules = _placement_rules()
    codes = frozenset(rule.code for rule in rules)
    merged_units: list[Unit] = []
    for name, units in _units_by_object(gang, unit_findings).items():
        merged = _merge_waiting(gang, name, units)
        if merged is None:
            continue
        merged, finding = _assess_merged(merged, rules, arithmetic, crashes)
        if finding is None:
            continue
        unit_names = {unit.name for unit in units}
        rest, replaced = _separate(unit_findings, unit_names, merged, finding, codes, crashes)
        if replaced and not _is_any_worse(replaced, finding):
            of_all = replace(finding, unit="")
            unit_findings = [*rest, UnitFinding(of_all, merged, _explanations(replaced))]
            merged_units.append(merged)
    return unit_findings, tuple(merged_units)


def fit_table_units(units: Sequence[Unit], merged: Sequence[Unit]) -> tuple[Unit, ...]:
    """Return the units of the node-fit table. Each merged unit stands in place of its parts."""
    waiting = {pod.meta.ref.uid for unit in merged for pod in unit.unplaced}
    single = [
        unit for unit in units if not any(pod.meta.ref.uid in waiting for pod in unit.unplaced)
    ]
    return (*single, *merged)


def merge_units(gang: Gang, units: Sequence[Unit]) -> Unit:
    """Return several units as one without a quorum, under the name of the owner."""
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


# The finding about a merged unit


def _placement_rules() -> list[UnitRule]:
    return [rule for rule in reasons.unit_rules() if rule.for_merged_units]


def _number_of_kinds(pods: Sequence[Pod]) -> int:
    return len({(frozenset(pod.requests.items()), pod.needs) for pod in pods})


def _assess_merged(
    merged: Unit, rules: Sequence[UnitRule], arithmetic: Arithmetic, crashes: list[Finding]
) -> tuple[Unit, Finding | None]:
    """Return a merged unit with its placement result, and the finding about it.

    The finding is None if it is not proved that the members do not all fit now.
    """
    merged = with_placing(merged, arithmetic, crashes)
    assessment = merged.placing.assessment if merged.placing is not None else None
    if assessment is None or assessment.cause in _UNDECIDED:
        return merged, None
    return merged, first_finding(rules, merged, crashes)


def _separate(
    unit_findings: Sequence[UnitFinding],
    names: Collection[str],
    merged: Unit,
    finding: Finding,
    codes: frozenset[str],
    crashes: list[Finding],
) -> tuple[list[UnitFinding], list[UnitFinding]]:
    """Return the findings that stay, and those that the merged finding replaces.

    Losses of the named units stay, and the merged finding explains them.
    """
    rest: list[UnitFinding] = []
    replaced: list[UnitFinding] = []
    for unit_finding in unit_findings:
        unit = unit_finding.unit
        if unit is None or unit.name not in names:
            rest.append(unit_finding)
        elif unit_finding.finding.code in codes:
            replaced.append(unit_finding)
        elif any(explanation.code in codes for explanation in unit_finding.behind):
            # The sentence about the loss depends on the placement of all units.
            loss = replace(unit, together=merged)
            result = evaluate_unit(loss, rules_for(loss), crashes)
            rest.append(UnitFinding(result.finding, unit, (finding,)))
        else:
            rest.append(unit_finding)
    return rest, replaced


def _is_any_worse(replaced: Sequence[UnitFinding], finding: Finding) -> bool:
    rank = HEALTH_RANKS[finding.health]
    return any(HEALTH_RANKS[unit_finding.finding.health] < rank for unit_finding in replaced)


def _explanations(replaced_findings: Sequence[UnitFinding]) -> tuple[Finding, ...]:
    return tuple(replace(unit_finding.finding, advice=()) for unit_finding in replaced_findings)


# Workers without a group


def _waits_for_nodes(unit_finding: UnitFinding, codes: frozenset[str]) -> bool:
    """Return whether a worker waits for nodes, from the beginning or after a loss."""
    unit = unit_finding.unit
    if unit is None or unit.placing is None or not _is_placed_alone(unit):
        return False
    return any(finding.code in codes for finding in (unit_finding.finding, *unit_finding.behind))


def _is_placed_alone(unit: Unit) -> bool:
    """Return whether the scheduler places the pods one by one, independently of other units."""
    if unit.quorum is not None:
        return False
    group = unit.group
    if group is None:
        return not unit.group_name
    return group.policy is Policy.BASIC and not (group.topology_keys or group.parent_name)


def _workers(unit_findings: Sequence[UnitFinding], waiting: Collection[str]) -> list[Unit]:
    """Return the workers without a group. Those whose pods wait for something else than nodes are left out."""
    return [
        unit
        for unit_finding in unit_findings
        if (unit := unit_finding.unit) is not None
        and _is_placed_alone(unit)
        and (
            unit.name in waiting
            or unit.placing is None
            or unit_finding.finding.stage is not Stage.PLACEMENT
            or unit_finding.finding.code == _YOUNG
        )
    ]


# Units of one grouping object


def _units_by_object(gang: Gang, unit_findings: Sequence[UnitFinding]) -> dict[str, list[Unit]]:
    """Return the units by the name of the grouping object that places them, each with its pods of that object."""
    ref = gang.owner.meta.ref
    kind = registry.owner_kind(ref.group, ref.kind)
    units: dict[str, list[Unit]] = defaultdict(list)
    if kind is None or not kind.overrides("placed_with"):
        return units
    for unit_finding in unit_findings:
        unit = unit_finding.unit
        if unit is None:
            continue
        names = {kind.placed_with(pod) for pod in unit.current}
        if "" in names:
            continue
        for name in names:
            is_whole = len(names) == 1
            units[name].append(unit if is_whole else _subunit(unit, name, kind.placed_with))
    return units


def _subunit(unit: Unit, name: str, placed_with: Callable[[Pod], str]) -> Unit:
    """Return the unit with only its pods of one grouping object, and with that object's minimum for it."""
    pods = tuple(pod for pod in unit.pods if placed_with(pod) == name)
    minima = (
        template.quorum
        for group in unit.gang.groups
        if group.name == name
        for template in group.templates
        if template.name == unit.name and template.quorum is not None
    )
    minimum = next(minima, unit.needed)
    return replace(unit, pods=pods, desired=len(pods), quorum=min(minimum, len(pods)))


def _merge_waiting(gang: Gang, name: str, units: Sequence[Unit]) -> Unit | None:
    """Return the units of a grouping object as one, with as many waiting pods as they need.

    Returns None in these cases:

    - Fewer than two of them wait.
    - A topology constraint applies to one of them. Arithmetic about all of them would ignore it.
    - Their scheduler has one group for all of them.
    """
    waiting = [unit for unit in units if any(_pods_to_place(unit))]
    if len(waiting) < 2 or any(unit.foreign_pods for unit in units):
        return None
    if any(group.topology_keys for group in _groups_of(gang, name, units)):
        return None
    if _number_of_kinds([pod for unit in units for pod in unit.unplaced]) > MAX_POD_KINDS:
        return None
    pods = {unit.name: (*unit.placed, *_pods_to_place(unit)) for unit in units}
    trimmed = [
        replace(unit, pods=pods[unit.name], desired=len(pods[unit.name]), held=0) for unit in units
    ]
    return merge_units(gang, trimmed)


def _pods_to_place(unit: Unit) -> Iterator[Pod]:
    """Yield the waiting pods that the unit needs up to its quorum."""
    if unit.placing is not None:
        ungated = [pod for pod in unit.unplaced if not pod.gates]
        yield from ungated[: max(0, unit.needed - len(unit.placed))]


def _groups_of(gang: Gang, name: str, units: Sequence[Unit]) -> Iterator[Group]:
    """Yield the groups that place these units, and the templates of those groups as groups."""
    names = {name, *(unit.group_name for unit in units)}
    parents = {unit.group.parent_name for unit in units if unit.group is not None}
    for group in gang.groups:
        if group.name in names | parents:
            yield group
            yield from (
                replace(group, topology_keys=template.topology_keys) for template in group.templates
            )
