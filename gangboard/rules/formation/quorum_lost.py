"""`quorum-lost`: a waiting member can never be placed, because the group can no longer reach its quorum.

Finished pods do not count for the quorum, and held pods do not exist. A replacement therefore waits forever
without a condition, on a PodGroup that stays True, while others may still run. See k/k#142330; observed on
1.37.0 with one held Job of a shared group (real-control-plane.md §3). The rule covers only groups of Kubernetes
itself, because other schedulers count finished members.
"""

from __future__ import annotations

from gangboard.domain.advice import AdviceKind, AdvisedStep, ChangeMethod
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.text import count, label, names, plural
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.copied_commands import patch_command
from gangboard.facts.findings import unit_finding
from gangboard.facts.job_holds import resume_step
from gangboard.facts.queue_sentences import pods_awaiting_admission
from gangboard.facts.unit import Unit, live_count
from gangboard.placement.advice.change_methods import ChangedObject, change_method
from gangboard.plugins.rule import UnitRule

_CORE = "scheduling.k8s.io"
_IMMUTABLE = ("v1alpha1", "v1alpha2")
"""API versions of 1.35 and 1.36, in which a group cannot be changed. Since 1.37 `gang.minCount` is mutable.

A lower value admits the replacement at once (observed on 1.37.0)."""


def find(unit: Unit) -> Finding | None:
    """Return a finding while a member waits and succeeded, failed or held members are missing for the quorum."""
    group = unit.group
    if unit.quorum is None or group is None or group.meta.ref.group != _CORE:
        return None
    succeeded = unit.succeeded
    waiting = [pod for pod in unit.unplaced if not pod.gates]
    if not waiting or not (succeeded or unit.held or unit.given_up):
        return None
    foreign_pods = sum(pod.is_live and not pod.is_terminating for pod in unit.foreign_pods)
    possible = (
        max(len(unit.current), unit.expected_pods) + pods_awaiting_admission(unit) + foreign_pods
    )
    if possible >= unit.quorum or live_count(unit) >= unit.quorum:
        return None
    return unit_finding(
        RULE,
        unit,
        _message(unit, len(waiting), possible, succeeded),
        advice=_advice(unit, possible),
        evidence=(
            Evidence("quorum", str(unit.quorum), group.meta.ref),
            Evidence("live pods", str(live_count(unit)), group.meta.ref),
            Evidence("waits", waiting[0].meta.ref.name, waiting[0].meta.ref),
        ),
    )


def _message(unit: Unit, waiting: int, possible: int, succeeded: int) -> str:
    losses = []
    if succeeded:
        losses.append(f"{succeeded} {'has' if succeeded == 1 else 'have'} succeeded")
    failed = unit.given_up
    if failed:
        losses.append(f"{failed} failed for good (backoffLimitPerIndex)")
    if unit.held:
        jobs = [job.meta.ref.name for job in _suspended(unit)]
        owners = f"Job{'' if len(jobs) == 1 else 's'} {names(jobs)}" if jobs else "Jobs"
        losses.append(f"{unit.held} {plural(unit.held, 'belong')} to suspended {owners}")
    return (
        f"{count(waiting, 'pod')} can never start: the group needs {unit.quorum} live pods and can "
        f"have only {possible}; {' and '.join(losses)}."
    )


def _suspended(unit: Unit) -> list[Owner]:
    return [job for job in unit.jobs if job.suspended and job.finish is None]


def _advice(unit: Unit, possible: int) -> list[AdvisedStep | str]:
    steps: list[AdvisedStep | str] = []
    held = _suspended(unit)
    if held and possible + unit.held >= (unit.quorum or 0):
        steps.append(resume_step(unit.gang, held, "."))
    group = unit.group
    is_mutable = group is not None and group.meta.api_version not in _IMMUTABLE
    if group is not None and is_mutable and group.meta.controller is None:
        steps.append(_set_quorum(unit, "Lower", group.meta.ref, possible))
    elif possible and _is_set_by_job(unit):
        steps.append(_set_quorum(unit, "Set", unit.jobs[0].meta.ref, possible))
    return steps


def _set_quorum(unit: Unit, verb: str, ref: ObjectRef, quorum: int) -> AdvisedStep:
    return AdvisedStep(
        f"{verb} minCount of {label(ref)} to {quorum} ({ChangeMethod.IN_PLACE}).",
        AdviceKind.QUORUM,
        patch_command(unit.gang.traits_of(ref), ref, {"minCount": quorum}),
    )


def _is_set_by_job(unit: Unit) -> bool:
    """Return whether the spec of the only Job sets the quorum, or can set it, and can be changed in place."""
    request = unit.jobs[0].gang_request if len(unit.jobs) == 1 else None
    if request is None or request.quorum is None:
        return False
    method = change_method(AdviceKind.QUORUM, ChangedObject.GANG_JOB, unit.gang.cluster.kubernetes)
    return method is ChangeMethod.IN_PLACE


RULE = UnitRule(
    "quorum-lost",
    Stage.FORMATION,
    "Quorum lost",
    10,
    find,
    overrides=True,
    health=Health.BLOCKED,
)
