"""Findings about gated pods, which wait for their PodGang, its groups, a base PodGang or the operator."""

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
    """Return a finding while gated pods name a group that was not created for their PodGang.

    A backend creates the Workload, then the groups. After that, Grove removes the gates.
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
    plan = next(
        (workload for workload in unit.gang.workloads if _is_made_for(workload, podgang)), None
    )
    created_text = f"only {label(plan.meta.ref)}" if plan is not None else "not even a Workload"
    return unit_finding(
        GROUP_MISSING,
        unit,
        f"{wait}: {created_text} was created for {name}.",
        advice=(f"Check {_OPERATOR}: it creates the groups of {name}.",),
        evidence=(Evidence("PodGang", podgang.meta.ref.name, podgang.meta.ref),),
        since=newest,
        named=False,
    )


def _is_made_for(group: Group, podgang: Group) -> bool:
    ref = group.controller_ref
    named = ref is not None and ref == (*PODGANGS, podgang.meta.ref.name)
    return named or podgang.meta.ref.uid in group.meta.owner_uids


def find_unready(unit: Unit) -> Finding | None:
    """Return a finding while gated members wait for a PodGang that does not exist or is incomplete.

    Its groups are created once it is complete, so missing groups are not reported earlier.
    """
    return _find_gated(unit, NOT_READY)


def find_gated(unit: Unit) -> Finding | None:
    """Return a finding while gated members wait although their PodGang is complete.

    Grove removes the gate once the PodGang lists the pods. If the PodGang follows a base PodGang, each PodClique of the
    base must also have enough scheduled pods (podclique/components/pod/syncflow.go).
    """
    return _find_gated(unit, GATED)


def _find_gated(unit: Unit, rule: UnitRule) -> Finding | None:
    gated = [pod for pod in unit.unplaced if pod.gates]
    if not gated or not lacks_nodes(unit) or any(set(pod.gates) != {_GATE} for pod in gated):
        return None
    waits = [(pods, _find_awaited(unit, pods)) for pods in _by_podgang(gated)]
    # Pods of an incomplete PodGang are closer to the cause than pods of a complete one.
    unready = [wait for wait in waits if wait[1].rule is NOT_READY]
    reported = unready or waits
    if (NOT_READY if unready else GATED) is not rule:
        return None
    return _gated_finding(unit, rule, reported)


def _by_podgang(gated: Sequence[Pod]) -> list[list[Pod]]:
    """Return gated pods by the PodGang and the base PodGang that they name."""
    pods_by_podgang: dict[tuple[str, str], list[Pod]] = defaultdict(list)
    for pod in gated:
        key = pod.labels.get(PODGANG_LABEL, ""), pod.labels.get(_BASE_LABEL, "")
        pods_by_podgang[key].append(pod)
    return [pods_by_podgang[key] for key in sorted(pods_by_podgang)]


def _gated_finding(
    unit: Unit, rule: UnitRule, waits: Sequence[tuple[Sequence[Pod], _AwaitedPodGang]]
) -> Finding:
    """Return the finding about gated pods, with the PodGang that each set of pods waits for."""
    gated = [pod for pods, _ in waits for pod in pods]
    by_operator = [pods for pods, awaited in waits if awaited.is_due_to_operator]
    due = max(
        ((newest_creation(tuple(pods)) or unit.now) + CREATION_GRACE for pods in by_operator),
        default=unit.now,
    )
    is_stuck = bool(by_operator) and due <= unit.now
    since = [pod.scheduled.since for pod in gated if pod.scheduled and pod.scheduled.since]
    texts = [
        f"{out_of(len(pods), len(unit.current), 'pod')} {plural(len(pods), 'wait')} for {awaited.text}"
        for pods, awaited in waits
    ]
    return unit_finding(
        rule,
        unit,
        f"{'; '.join(texts)}.",
        health=Health.BLOCKED if is_stuck else None,
        advice=(f"Check {_OPERATOR}: only it removes the gate {_GATE}.",) if is_stuck else (),
        evidence=(
            *(line for _, awaited in waits for line in awaited.evidence),
            *(
                Evidence("spec.schedulingGates", names(pod.gates), pod.meta.ref)
                for pod in gated[:1]
            ),
        ),
        recheck_at=due if by_operator and not is_stuck else None,
        since=min(since, default=None),
    )


class _AwaitedPodGang(NamedTuple):
    """The PodGang, or the step of the operator, that gated pods wait for."""

    text: str
    is_due_to_operator: bool
    """True if only the operator can end the wait, because neither pods nor capacity are missing."""
    evidence: tuple[Evidence, ...] = ()
    is_complete: bool = False
    """True if the PodGang exists with all its pods."""

    @property
    def rule(self) -> UnitRule:
        """The rule that reports the wait."""
        return GATED if self.is_complete else NOT_READY


def _find_awaited(unit: Unit, gated: Sequence[Pod]) -> _AwaitedPodGang:
    name, base_name = (gated[0].labels.get(key, "") for key in (PODGANG_LABEL, _BASE_LABEL))
    podgang = podgang_named(unit, name)
    if podgang is None:
        return _AwaitedPodGang(
            f"PodGang {name}, which does not exist" if name else "a PodGang", True
        )
    ref = podgang.meta.ref
    missing = [
        template.name for template in podgang.templates if clique_named(unit, template.name) is None
    ]
    if missing:
        text = f"{label(ref)}, which names PodClique {names(missing)} that does not exist"
        return _AwaitedPodGang(
            text, True, (Evidence("spec.podgroups[].name", names(missing), ref),)
        )
    initialized = find_condition(podgang.conditions, "Initialized")
    if initialized is None or not initialized.is_true:
        cliques = {template.name for template in podgang.templates}
        pods = sum(pod.labels.get(CLIQUE_LABEL) in cliques for pod in unit.gang.pods if pod.is_live)
        size = sum(role.pods for role in unit.owner.roles if role.name in cliques)
        evidence = (Evidence("Initialized", initialized.message, ref),) if initialized else ()
        exist = "exists" if pods == 1 else "exist"
        return _AwaitedPodGang(
            f"{label(ref)}, of which {out_of(pods, size, 'pod')} {exist}", pods >= size, evidence
        )
    listed = {member for template in podgang.templates for member in template.members}
    if all(pod.meta.ref.name not in listed for pod in gated):
        pronoun = "it" if len(gated) == 1 else "them"
        number = Evidence("spec.podgroups[].podReferences", str(len(listed)), ref)
        return _AwaitedPodGang(f"{label(ref)} to list {pronoun}", True, (number,), is_complete=True)
    unmet = _find_unmet_base(unit, base_name) if base_name else None
    return unmet or _AwaitedPodGang(
        f"{_OPERATOR}: {label(ref)} is complete", True, is_complete=True
    )


def _find_unmet_base(unit: Unit, name: str) -> _AwaitedPodGang | None:
    """Return the unmet condition of a base PodGang that others wait for. None: all are met."""
    base = podgang_named(unit, name)
    if base is None:
        return _AwaitedPodGang(f"base PodGang {name}, which does not exist", True, is_complete=True)
    for template in base.templates:
        clique = clique_named(unit, template.name)
        if clique is None:
            text = f"base PodGang {name}, which names PodClique {template.name} that does not exist"
            named = (Evidence("spec.podgroups[].name", template.name, base.meta.ref),)
            return _AwaitedPodGang(text, True, named, is_complete=True)
        scheduled, needed = int(clique.detail["scheduled"]), template.quorum or 0
        if scheduled < needed:
            return _AwaitedPodGang(
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
