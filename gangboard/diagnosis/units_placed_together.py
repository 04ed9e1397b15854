"""Units that one grouping object places together and that wait for nodes: one finding about all of them.

The scheduler places all of them or none, so the question is whether there is room for what all of them need.
Each unit keeps its own finding in its row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gangboard.diagnosis.ungrouped_workers import (
    MOST_KINDS,
    is_decided,
    merge_units,
    retold,
)
from gangboard.diagnosis.unit_findings import (
    HEALTH_RANKS,
    Arithmetic,
    UnitFinding,
    first,
    with_placing,
)
from gangboard.domain.group import Group
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Finding
from gangboard.facts.gang import GangFacts, Unit
from gangboard.plugins import registry
from gangboard.plugins.rule import UnitRule


def merge_units_placed_together(
    facts: GangFacts,
    unit_findings: list[UnitFinding],
    arithmetic: Arithmetic,
    crashes: list[Finding],
) -> tuple[list[UnitFinding], tuple[Unit, ...]]:
    """Merge the units of each grouping object that wait for nodes.

    Return the findings, and the merged units whose finding replaces those of their parts. A grouping object is
    left as it is where arithmetic cannot decide about the whole, or where a part by itself is worse off.
    """
    rules = [rule for rule in registry.unit_rules() if rule.of_room]
    wholes: list[Unit] = []
    for name, units in _units_by_object(facts, unit_findings).items():
        whole = _whole(facts, name, units)
        if whole is None:
            continue
        whole = with_placing(whole, arithmetic, crashes)
        told = first(rules, whole, crashes) if is_decided(whole) else None
        merged = _merged(unit_findings, units, whole, told, rules, crashes) if told else None
        if merged is not None:
            unit_findings = merged
            wholes.append(whole)
    return unit_findings, tuple(wholes)


def _units_by_object(
    facts: GangFacts, unit_findings: Sequence[UnitFinding]
) -> dict[str, list[Unit]]:
    """Return name of a grouping object → the units that it places, each with its pods of that object alone."""
    ref = facts.owner.meta.ref
    kind = registry.owner_kind(ref.group, ref.kind)
    found: dict[str, list[Unit]] = defaultdict(list)
    if kind is None or not kind.overrides("placed_with"):
        return found
    for one in unit_findings:
        if one.unit is None:
            continue
        names = {kind.placed_with(pod) for pod in one.unit.current}
        if "" in names:
            continue
        for name in names:
            part = one.unit if len(names) == 1 else _part_of(one.unit, name, kind.placed_with)
            found[name].append(part)
    return found


def _part_of(unit: Unit, name: str, placed_with: Callable[[Pod], str]) -> Unit:
    """Return a unit with its pods of one grouping object, and with the minimum that this object has for it."""
    pods = tuple(pod for pod in unit.pods if placed_with(pod) == name)
    minima = (
        template.quorum
        for group in unit.facts.groups
        if group.name == name
        for template in group.templates
        if template.name == unit.name and template.quorum is not None
    )
    least = next(minima, unit.needed)
    return replace(unit, pods=pods, desired=len(pods), quorum=min(least, len(pods)))


def _whole(facts: GangFacts, name: str, units: Sequence[Unit]) -> Unit | None:
    """Return the units of a grouping object as one, with as many waiting pods as they need.

    None where fewer than two of them wait, where a topology constraint is on any of them, which arithmetic
    about the whole would not keep, and where their scheduler has one group for all of them.
    """
    waiting = [unit for unit in units if any(_lacking(unit))]
    if len(waiting) < 2 or any(unit.foreign_pods for unit in units):
        return None
    if any(group.topology_keys for group in _groups(facts, name, units)):
        return None
    kinds = {
        (frozenset(pod.requests.items()), pod.needs) for unit in units for pod in unit.unplaced
    }
    if len(kinds) > MOST_KINDS:
        return None
    pods = {unit.name: (*unit.placed, *_lacking(unit)) for unit in units}
    parts = [
        replace(unit, pods=pods[unit.name], desired=len(pods[unit.name]), held=0) for unit in units
    ]
    return merge_units(facts, parts)


def _lacking(unit: Unit) -> Iterator[Pod]:
    """Yield the waiting pods that a unit needs to be placed: those up to its quorum."""
    if unit.placing is not None:
        free = [pod for pod in unit.unplaced if not pod.gates]
        yield from free[: max(0, unit.needed - len(unit.placed))]


def _groups(facts: GangFacts, name: str, units: Sequence[Unit]) -> Iterator[Group]:
    """Yield the groups that say how units are placed, and what these say of their parts by templates."""
    names = {name, *(unit.group_name for unit in units)}
    above = {unit.group.parent_name for unit in units if unit.group is not None}
    for group in facts.groups:
        if group.name in names | above:
            yield group
            yield from (
                replace(group, topology_keys=part.topology_keys) for part in group.templates
            )


def _merged(
    unit_findings: Sequence[UnitFinding],
    units: Sequence[Unit],
    whole: Unit,
    told: Finding,
    rules: Sequence[UnitRule],
    crashes: list[Finding],
) -> list[UnitFinding] | None:
    """Return the findings with `told` in place of those about the room of single units; None where it is no better."""
    codes = frozenset(rule.code for rule in rules)
    names = {unit.name for unit in units}
    found: list[UnitFinding] = []
    own: list[Finding] = []
    for one in unit_findings:
        is_part = one.unit is not None and one.unit.name in names
        if one.unit is not None and is_part and one.finding.code in codes:
            own.append(one.finding)
        elif one.unit is not None and is_part and any(each.code in codes for each in one.behind):
            found.append(retold(one.unit, whole, told, crashes))
        else:
            found.append(one)
    if not own or any(HEALTH_RANKS[each.health] < HEALTH_RANKS[told.health] for each in own):
        return None
    behind = tuple(replace(each, advice=()) for each in own)
    return [*found, UnitFinding(replace(told, unit=""), whole, behind)]
