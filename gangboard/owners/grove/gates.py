"""What gated pods wait for: that their PodGang is complete, groups that are made of it, a base PodGang, the operator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from gangboard.domain.group import Group, label_of_group
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import find_condition
from gangboard.domain.pod import Pod
from gangboard.domain.text import count, label, names, out_of, plural
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import starting_finding, unit_finding
from gangboard.facts.grace_periods import COUNT_GRACE, CREATION_GRACE, newest_creation
from gangboard.facts.unit import Unit, lacks_nodes
from gangboard.owners.grove.failures import (
    PODGANGS,
    clique_named,
    podgang_named,
    podgangs_of,
)
from gangboard.owners.grove.wire import CLIQUE_LABEL, PODGANG_LABEL
from gangboard.plugins.rule import UnitRule

_BASE_LABEL = "grove.io/base-podgang"
_GATE = "grove.io/podgang-pending-creation"
_OPERATOR = "the Grove operator"


def find_missing_group(unit: Unit) -> Finding | None:
    """Return a finding while gated pods name a group that was not made of their PodGang.

    A backend makes the Workload, then the groups, and only then the gates go.
    """
    podgangs = podgangs_of(unit)
    gated = [pod for pod in unit.unplaced if _GATE in pod.gates]
    if not unit.group_name or unit.group is not None or not gated or not podgangs:
        return None
    if unit.gang.cluster.groups_unobserved or not unit.gang.cluster.gang_api_version:
        return None
    podgang = podgang_named(unit, gated[0].labels.get(PODGANG_LABEL, "")) or podgangs[0]
    number, name = len(gated), label(podgang.meta.ref)
    wait = f"{count(number, 'pod')} {plural(number, 'wait')} for {label_of_group(unit.group_name)}"
    newest = newest_creation(tuple(gated))
    if newest is not None and newest + COUNT_GRACE > unit.now:
        due = newest + COUNT_GRACE
        return starting_finding(GROUP_MISSING, unit, f"{wait}.", recheck_at=due)
    plan = next((workload for workload in unit.gang.workloads if _is_of(workload, podgang)), None)
    made = f"only {label(plan.meta.ref)}" if plan is not None else "not even a Workload"
    return unit_finding(
        GROUP_MISSING,
        unit,
        f"{wait}: of {name} {made} was made.",
        advice=(f"Look at {_OPERATOR}: it makes the groups of {name}.",),
        evidence=(Evidence("PodGang", podgang.meta.ref.name, podgang.meta.ref),),
        since=newest,
        named=False,
    )


def _is_of(group: Group, podgang: Group) -> bool:
    ref = group.controller_ref
    named = ref is not None and ref == (*PODGANGS, podgang.meta.ref.name)
    return named or podgang.meta.ref.uid in group.meta.owner_uids


def find_unready(unit: Unit) -> Finding | None:
    """Return a finding while gated members wait for a PodGang that is not there, or not complete.

    Its groups are made of it when it is, so that they are missing is no news before.
    """
    return _find_gated(unit, NOT_READY)


def find_gated(unit: Unit) -> Finding | None:
    """Return a finding while gated members wait although their PodGang is complete.

    Grove takes its gate away when their PodGang lists them; where that follows a base PodGang, when each
    PodClique of that one has enough scheduled pods (podclique/components/pod/syncflow.go).
    """
    return _find_gated(unit, GATED)


def _find_gated(unit: Unit, rule: UnitRule) -> Finding | None:
    gated = [pod for pod in unit.unplaced if pod.gates]
    if not gated or not lacks_nodes(unit) or any(set(pod.gates) != {_GATE} for pod in gated):
        return None
    parts = [(pods, _awaited(unit, pods)) for pods in _by_podgang(gated)]
    # A pod whose PodGang is not complete is nearer to the cause than one behind a complete PodGang.
    unready = [one for one in parts if one[1].rule is NOT_READY]
    told = unready or parts
    if (NOT_READY if unready else GATED) is not rule:
        return None
    return _gated_finding(unit, rule, told)


def _by_podgang(gated: Sequence[Pod]) -> list[list[Pod]]:
    """Return gated pods by the PodGang and the base PodGang that they name."""
    found: dict[tuple[str, str], list[Pod]] = defaultdict(list)
    for pod in gated:
        key = pod.labels.get(PODGANG_LABEL, ""), pod.labels.get(_BASE_LABEL, "")
        found[key].append(pod)
    return [found[key] for key in sorted(found)]


def _gated_finding(
    unit: Unit, rule: UnitRule, parts: Sequence[tuple[Sequence[Pod], _Awaited]]
) -> Finding:
    """Return the finding about gated pods, each part with the PodGang that it waits for."""
    gated = [pod for pods, _ in parts for pod in pods]
    by_operator = [pods for pods, awaited in parts if awaited.by_operator]
    due = max(
        ((newest_creation(tuple(pods)) or unit.now) + CREATION_GRACE for pods in by_operator),
        default=unit.now,
    )
    is_stuck = bool(by_operator) and due <= unit.now
    since = [pod.scheduled.since for pod in gated if pod.scheduled and pod.scheduled.since]
    waits = [
        f"{out_of(len(pods), len(unit.current), 'pod')} {plural(len(pods), 'wait')} for {awaited.what}"
        for pods, awaited in parts
    ]
    return unit_finding(
        rule,
        unit,
        f"{'; '.join(waits)}.",
        health=Health.BLOCKED if is_stuck else None,
        advice=(f"Look at {_OPERATOR}: only it removes the gate {_GATE}.",) if is_stuck else (),
        evidence=(
            *(line for _, awaited in parts for line in awaited.evidence),
            *(
                Evidence("spec.schedulingGates", names(pod.gates), pod.meta.ref)
                for pod in gated[:1]
            ),
        ),
        recheck_at=due if by_operator and not is_stuck else None,
        since=min(since, default=None),
    )


class _Awaited(NamedTuple):
    """What gated pods wait for."""

    what: str
    by_operator: bool
    """Nobody but the operator can make it come: pods, and room for them, are not what lacks."""
    evidence: tuple[Evidence, ...] = ()
    is_complete: bool = False
    """Their PodGang is there, with all its pods."""

    @property
    def rule(self) -> UnitRule:
        """As which reason it is told."""
        return GATED if self.is_complete else NOT_READY


def _awaited(unit: Unit, gated: Sequence[Pod]) -> _Awaited:
    name, base_name = (gated[0].labels.get(key, "") for key in (PODGANG_LABEL, _BASE_LABEL))
    podgang = podgang_named(unit, name)
    if podgang is None:
        return _Awaited(f"PodGang {name}, which does not exist" if name else "a PodGang", True)
    ref = podgang.meta.ref
    gone = [part.name for part in podgang.templates if clique_named(unit, part.name) is None]
    if gone:
        what = f"{label(ref)}, which names PodClique {names(gone)} that does not exist"
        return _Awaited(what, True, (Evidence("spec.podgroups[].name", names(gone), ref),))
    initialized = find_condition(podgang.conditions, "Initialized")
    if initialized is None or not initialized.is_true:
        there = {part.name for part in podgang.templates}
        pods = sum(one.labels.get(CLIQUE_LABEL) in there for one in unit.gang.pods if one.is_live)
        size = sum(role.pods for role in unit.owner.roles if role.name in there)
        said = (Evidence("Initialized", initialized.message, ref),) if initialized else ()
        exist = "exists" if pods == 1 else "exist"
        return _Awaited(
            f"{label(ref)}, of which {out_of(pods, size, 'pod')} {exist}", pods >= size, said
        )
    listed = {member for part in podgang.templates for member in part.members}
    if all(one.meta.ref.name not in listed for one in gated):
        they = "it" if len(gated) == 1 else "them"
        number = Evidence("spec.podgroups[].podReferences", str(len(listed)), ref)
        return _Awaited(f"{label(ref)} to list {they}", True, (number,), is_complete=True)
    short = _short_of_base(unit, base_name) if base_name else None
    return short or _Awaited(f"{_OPERATOR}: {label(ref)} is complete", True, is_complete=True)


def _short_of_base(unit: Unit, name: str) -> _Awaited | None:
    """Return what a base PodGang lacks before others follow it; None where it has it all."""
    base = podgang_named(unit, name)
    if base is None:
        return _Awaited(f"base PodGang {name}, which does not exist", True, is_complete=True)
    for part in base.templates:
        clique = clique_named(unit, part.name)
        if clique is None:
            what = f"base PodGang {name}, which names PodClique {part.name} that does not exist"
            named = (Evidence("spec.podgroups[].name", part.name, base.meta.ref),)
            return _Awaited(what, True, named, is_complete=True)
        scheduled, needed = int(clique.detail["scheduled"]), part.quorum or 0
        if scheduled < needed:
            return _Awaited(
                f"base PodGang {name}: {label(clique.meta.ref)} has {scheduled} of "
                f"{count(needed, 'pod')} placed",
                False,
                (
                    Evidence("status.scheduledReplicas", str(scheduled), clique.meta.ref),
                    Evidence("spec.podgroups[].minReplicas", str(needed), base.meta.ref),
                ),
                is_complete=True,
            )
    return None


NOT_READY = UnitRule(
    "scheduling-gated", Stage.FORMATION, "Scheduling gates", 38, find_unready, health=Health.WAITING
)
GROUP_MISSING = UnitRule(
    "podgroup-missing",
    Stage.FORMATION,
    "PodGroup missing",
    39,
    find_missing_group,
    health=Health.BLOCKED,
)
GATED = UnitRule(
    "scheduling-gated", Stage.PLACEMENT, "Scheduling gates", 5, find_gated, health=Health.WAITING
)
RULES = NOT_READY, GROUP_MISSING, GATED
