"""`restarting`: the owner restarts its Jobs, or a Job retries its pods, until all are ready.

JobSet v0.12 reports `RestartingJobSet` until all Jobs are ready. Older versions only count restarts. A Job also
counts a deleted pod as failed (observed on 1.37.0). If a replacement cannot be placed, the rules of stage
placement decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from gangboard.domain.advice import AdvisedStep
from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.text import label, out_of, quote, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import Restart, restart_under_way
from gangboard.facts.containers import common_exit
from gangboard.facts.findings import unit_finding
from gangboard.facts.grace_periods import next_recheck
from gangboard.facts.lost_members import has_refused_members
from gangboard.facts.scheduler_text import has_rejected_pods
from gangboard.facts.state_since import ending_announced_since
from gangboard.facts.unit import Unit, failing_jobs, has_ready_quorum, is_formed, lacks_nodes
from gangboard.plugins.rule import UnitRule

_NO_RETRIES_LEFT = "BackoffLimitExceeded"
"""The Job controller's reason if no retry is left. Its text adds nothing to that."""


def find(unit: Unit) -> Finding | None:
    """Return a finding while the unit restarts, or while its owner has not reacted to a failure."""
    failing = failing_jobs(unit)
    if failing:
        return _failing_finding(unit, failing[0])
    restart = restart_under_way(unit)
    if restart is None:
        return None
    if _has_other_finding(unit):
        return None
    ready = out_of(len(unit.ready), unit.wanted, "pod")
    verb = "is" if len(unit.ready) == 1 else "are"
    return unit_finding(
        RULE,
        unit,
        f"{restart.text}{_job_text(unit, restart)}: {ready} {verb} ready.",
        advice=_advice(unit.pods),
        evidence=(Evidence(restart.word.lower(), restart.text, restart.source),),
        recheck_at=next_recheck(unit),
        since=_restarting_since(unit.owner),
    )


def _has_other_finding(unit: Unit) -> bool:
    """Return whether another rule reports missing members: at formation, at placement, or as the size."""
    if not has_refused_members(unit):
        return False
    is_refused_by_scheduler = has_rejected_pods(unit)
    has_earlier_stage = is_refused_by_scheduler or not is_formed(unit)
    return has_ready_quorum(unit) or (lacks_nodes(unit) and has_earlier_stage)


def _job_text(unit: Unit, restart: Restart) -> str:
    """Return ` of Job train-0` if the gang has several Jobs."""
    return f" of {label(restart.source)}" if len(unit.gang.jobs) > 1 else ""


def _failing_finding(unit: Unit, job: Owner) -> Finding:
    """Return the finding about a child Job that has failed, or is about to, before its owner has reacted."""
    finish = job.finish
    reason = finish.reason if finish is not None else job.ending
    text = finish.message if finish is not None else ""
    verb = "failed" if finish is not None else "is failing"
    message = f"{label(job.meta.ref)} {verb}" + (f" ({reason})" if reason else "")
    if reason == _NO_RETRIES_LEFT:
        message = f"{label(job.meta.ref)} has no retries left"
    elif text:
        message = f"{message}: {quote(text)}"
    owner = unit.owner
    restarts = (
        f" Restarts so far: {_restart_count(owner)}." if owner.max_restarts is not None else ""
    )
    return unit_finding(
        RULE,
        unit,
        f"{sentence(message)}{restarts}",
        advice=_advice(pod for pod in unit.pods if _is_pod_of(pod, job)),
        evidence=(Evidence("reason", ": ".join(filter(None, (reason, text))), job.meta.ref),),
        since=finish.at if finish is not None else ending_announced_since(job),
    )


def _restarting_since(owner: Owner) -> datetime | None:
    """Return when the owner began to restart its Jobs. Only JobSet v0.12 reports it."""
    return next(
        (
            condition.since
            for condition in owner.conditions
            if condition.type.startswith("Restarting") and condition.is_true
        ),
        None,
    )


def _restart_count(owner: Owner) -> str:
    """Return `1 of 3`, or `5 (2 of 3 counted)` if some restarts do not count."""
    counted = f"{owner.counted_restarts} of {owner.max_restarts}"
    if owner.restarts <= owner.counted_restarts:
        return counted
    return f"{owner.restarts} ({counted} counted)"


def _is_pod_of(pod: Pod, job: Owner) -> bool:
    controller = pod.meta.controller
    return controller is not None and controller.uid == job.meta.ref.uid


def _advice(pods: Iterable[Pod]) -> tuple[AdvisedStep, ...]:
    """Return the step that shows why its pods fail, if one of those pods still exists."""
    common = common_exit(pods)
    return common.advice if common is not None else ()


RULE = UnitRule("restarting", Stage.RUN, "Restarting", 10, find, health=Health.DEGRADED)
