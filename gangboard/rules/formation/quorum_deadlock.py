"""`quorum-deadlock`: the missing members are created only after a member of the same group runs.

The scheduler places no member of a gang below its quorum, so the member that the others wait for never starts.
Observed on 1.37.0 with JobSet v0.12.0: one PodGroup for driver and workers, workers dependsOn driver Ready. The
deadlock is permanent and the PodGroup has `status: {}` (real-control-plane.md §3). Jobs of Volcano with `dependsOn` have
one PodGroup for all tasks, and by default its quorum is all pods.
"""

from __future__ import annotations

from gangboard.domain.advice import AdviceKind, AdvisedStep, ChangeMethod
from gangboard.domain.health import Health, Stage
from gangboard.domain.text import count, is_or_are, label
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.copied_commands import patch_command
from gangboard.facts.dependencies import Waiting, held_back_pods, waiting_roles
from gangboard.facts.findings import unit_finding
from gangboard.facts.state_since import not_formed_since
from gangboard.facts.unit import Unit, live_count
from gangboard.plugins.rule import UnitRule

_IMMUTABLE = ("v1alpha1", "v1alpha2")
"""API versions of 1.35 and 1.36, in which a group cannot be changed. Since 1.37 `gang.minCount` is mutable."""


def find(unit: Unit) -> Finding | None:
    """Return a finding if the quorum needs members that are created only after another member runs."""
    inner = [wait for wait in waiting_roles(unit) if wait.on is not None and wait.on in unit.roles]
    if not inner or unit.quorum is None or unit.placed:
        return None
    foreign_pods = sum(pod.is_live for pod in unit.foreign_pods)
    possible = max(len(unit.current), unit.expected_pods - held_back_pods(unit)) + foreign_pods
    if possible >= unit.quorum:
        return None
    wait = inner[0]
    number = held_back_pods(unit) or unit.quorum - possible
    delayed = f"{count(number, 'pod')} of {wait.role.name} {is_or_are(number)}"
    message = (
        f"{delayed} created only once {wait.dependency.role} is {wait.dependency.status}, but group "
        f"{unit.group_name} needs {count(unit.quorum, 'pod')} at once."
    )
    return unit_finding(
        RULE,
        unit,
        message,
        advice=_advice(unit, wait, possible),
        evidence=_evidence(unit),
        since=not_formed_since(unit),
    )


def _advice(unit: Unit, wait: Waiting, possible: int) -> tuple[AdvisedStep | str, ...]:
    """Return the steps that end the deadlock.

    minCount can be lowered since 1.37, and the change lasts if no controller owns the PodGroup.
    """
    if unit.gang.traits.quorum_field:
        return _owner_advice(unit, possible)
    separate = f"Give {wait.dependency.role} and {wait.role.name} a PodGroup each ({ChangeMethod.RECREATE})."
    group = unit.group
    if group is None or group.meta.api_version in _IMMUTABLE or group.meta.controller is not None:
        return (separate,)
    if possible < 1:
        return (separate,)
    ref = group.meta.ref
    lower = AdvisedStep(
        f"Lower minCount of PodGroup {ref.name} to {possible} ({ChangeMethod.IN_PLACE}).",
        AdviceKind.QUORUM,
        patch_command(unit.gang.traits_of(ref), ref, {"minCount": possible}),
    )
    return (lower, separate)


def _owner_advice(unit: Unit, possible: int) -> tuple[AdvisedStep, ...]:
    """Return the step for an owner whose controller creates the group and keeps writing the quorum to it."""
    if possible < 1:
        return ()
    ref, traits = unit.owner.meta.ref, unit.gang.traits
    return (
        AdvisedStep(
            f"Lower {traits.quorum_field} of {label(ref)} to {possible} ({ChangeMethod.IN_PLACE}).",
            AdviceKind.QUORUM,
            patch_command(traits, ref, {traits.quorum_field: possible}),
        ),
    )


def _evidence(unit: Unit) -> tuple[Evidence, ...]:
    source = unit.group.meta.ref if unit.group is not None else None
    return (
        Evidence("quorum", str(unit.quorum), source),
        Evidence("live pods", str(live_count(unit)), source),
    )


RULE = UnitRule(
    "quorum-deadlock", Stage.FORMATION, "Quorum deadlock", 10, find, health=Health.BLOCKED
)
