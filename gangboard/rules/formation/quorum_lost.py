"""`quorum-lost`: a member waits that can never be placed, because the group cannot be full again.

Finished pods do not count for the quorum, held ones do not exist. So a replacement waits for ever,
without a condition, on a PodGroup that stays True, while others may still run: k/k#142330, and
observed on 1.37.0 with one Job of a shared group held (real-control-plane.md §3). Only for groups
of Kubernetes itself: other schedulers count finished members.
"""

from __future__ import annotations

from gangboard.domain.advice import AdviceKind, AdvisedStep, ChangeMethod
from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Owner
from gangboard.domain.text import count, label, names, plural
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.job_holds import resume_step
from gangboard.facts.queue_sentences import pods_awaiting_admission
from gangboard.facts.unit import Unit, live_count
from gangboard.placement.advice.change_methods import ChangedObject, change_method
from gangboard.plugins.rule import UnitRule

_CORE = "scheduling.k8s.io"
# Versions in which `gang.minCount` can be changed (1.37); lowering it there lets the replacement
# through at once (observed on 1.37.0). In 1.36 a PodGroup is immutable.
_MUTABLE = ("v1", "v1beta1", "v1alpha3")


def find(unit: Unit) -> Finding | None:
    """Return a finding while a member waits and the quorum lacks done, failed or held ones."""
    group = unit.group
    if unit.quorum is None or group is None or group.meta.ref.group != _CORE:
        return None
    done = unit.succeeded
    waiting = [pod for pod in unit.unplaced if not pod.gates]
    if not waiting or not (done or unit.held or unit.given_up):
        return None
    others = sum(pod.is_live and not pod.is_terminating for pod in unit.foreign_pods)
    possible = max(len(unit.current), unit.expected_pods) + pods_awaiting_admission(unit) + others
    if possible >= unit.quorum or live_count(unit) >= unit.quorum:
        return None
    return unit_finding(
        RULE,
        unit,
        _message(unit, len(waiting), possible, done),
        advice=_advice(unit, possible),
        evidence=(
            Evidence("quorum", str(unit.quorum), group.meta.ref),
            Evidence("live pods", str(live_count(unit)), group.meta.ref),
            Evidence("waits", waiting[0].meta.ref.name, waiting[0].meta.ref),
        ),
    )


def _message(unit: Unit, waiting: int, possible: int, done: int) -> str:
    gone = []
    if done:
        gone.append(f"{done} {'has' if done == 1 else 'have'} succeeded")
    failed = unit.given_up
    if failed:
        gone.append(f"{failed} failed for good (backoffLimitPerIndex)")
    if unit.held:
        jobs = [job.meta.ref.name for job in _suspended(unit)]
        whose = f"Job{'' if len(jobs) == 1 else 's'} {names(jobs)}" if jobs else "Jobs"
        gone.append(f"{unit.held} of suspended {whose} {plural(unit.held, 'stay')} away")
    return (
        f"{count(waiting, 'pod')} can never start: the group needs {unit.quorum} live pods and can "
        f"have only {possible}; {' and '.join(gone)}."
    )


def _suspended(unit: Unit) -> list[Owner]:
    return [job for job in unit.jobs if job.suspended and job.finish is None]


def _advice(unit: Unit, possible: int) -> list[AdvisedStep | str]:
    found: list[AdvisedStep | str] = []
    held = _suspended(unit)
    if held and possible + unit.held >= (unit.quorum or 0):
        found.append(resume_step(unit.gang, held, "."))
    group = unit.group
    if group is not None and group.meta.api_version in _MUTABLE and group.meta.controller is None:
        found.append(
            f"Lower minCount of PodGroup {group.meta.ref.name} to {possible} ({ChangeMethod.IN_PLACE})."
        )
    elif possible and _is_quorum_of_job(unit):
        found.append(
            f"Set minCount of {label(unit.jobs[0].meta.ref)} to {possible} ({ChangeMethod.IN_PLACE})."
        )
    return found


def _is_quorum_of_job(unit: Unit) -> bool:
    """Whether the quorum stands, or could, in the spec of its only Job, and can be changed there."""
    asked = unit.jobs[0].gang_request if len(unit.jobs) == 1 else None
    if asked is None or asked.quorum is None:
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
