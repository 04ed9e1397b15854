"""`restarting`: the owner restarts its Jobs, or a Job retries its pods; over when all are ready.

JobSet v0.12 says `RestartingJobSet` until all Jobs are ready, older ones only count restarts. A Job
counts a deleted pod as failed too (observed on 1.37.0). A replacement that cannot be placed is
judged at placement.
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

_SPENT = "BackoffLimitExceeded"
"""By which the Job controller says that no retry is left, and no more than that in its text."""


def find(unit: Unit) -> Finding | None:
    """Return a finding while the unit comes back, or waits for its owner's answer to a failure."""
    failing = failing_jobs(unit)
    if failing:
        return _failing(unit, failing[0])
    restart = restart_under_way(unit)
    if restart is None:
        return None
    if _has_another_word(unit):
        return None
    ready = out_of(len(unit.ready), unit.wanted, "pod")
    verb = "is" if len(unit.ready) == 1 else "are"
    return unit_finding(
        RULE,
        unit,
        f"{restart.text}{_of(unit, restart)}: {ready} {verb} ready.",
        advice=_advice(unit.pods),
        evidence=(Evidence(restart.word.lower(), restart.text, restart.source),),
        recheck_at=next_recheck(unit),
        since=_begun(unit.owner),
    )


def _has_another_word(unit: Unit) -> bool:
    """Whether members that are kept away are told of: at formation, at placement, or as its size."""
    if not has_refused_members(unit):
        return False
    is_refused_by_scheduler = has_rejected_pods(unit)
    is_told_before_run = is_refused_by_scheduler or not is_formed(unit)
    return has_ready_quorum(unit) or (lacks_nodes(unit) and is_told_before_run)


def _of(unit: Unit, restart: Restart) -> str:
    """Return ` of Job train-0` where a gang has several Jobs that could be meant."""
    return f" of {label(restart.source)}" if len(unit.gang.jobs) > 1 else ""


def _failing(unit: Unit, job: Owner) -> Finding:
    """Tell of a child Job that has failed, or is about to, before its owner has reacted."""
    finish = job.finish
    reason = finish.reason if finish is not None else job.ending
    said = finish.message if finish is not None else ""
    verb = "failed" if finish is not None else "is failing"
    message = f"{label(job.meta.ref)} {verb}" + (f" ({reason})" if reason else "")
    if reason == _SPENT:
        message = f"{label(job.meta.ref)} has no retries left"
    elif said:
        message = f"{message}: {quote(said)}"
    owner = unit.owner
    answer = f" Restarts so far: {_used(owner)}." if owner.max_restarts is not None else ""
    return unit_finding(
        RULE,
        unit,
        f"{sentence(message)}{answer}",
        advice=_advice(pod for pod in unit.pods if _is_of(pod, job)),
        evidence=(Evidence("reason", ": ".join(filter(None, (reason, said))), job.meta.ref),),
        since=finish.at if finish is not None else ending_announced_since(job),
    )


def _begun(owner: Owner) -> datetime | None:
    """Return when its owner began to restart its Jobs: only JobSet v0.12 says it."""
    return next(
        (
            one.since
            for one in owner.conditions
            if one.type.startswith("Restarting") and one.is_true
        ),
        None,
    )


def _used(owner: Owner) -> str:
    """Return `1 of 3`, or with restarts that are not counted `5 (2 of 3 counted)`."""
    counted = f"{owner.counted_restarts} of {owner.max_restarts}"
    if owner.restarts <= owner.counted_restarts:
        return counted
    return f"{owner.restarts} ({counted} counted)"


def _is_of(pod: Pod, job: Owner) -> bool:
    controller = pod.meta.controller
    return controller is not None and controller.uid == job.meta.ref.uid


def _advice(pods: Iterable[Pod]) -> tuple[AdvisedStep, ...]:
    """Return what tells why its pods fail, as long as one of those is still there."""
    ended = common_exit(pods)
    return ended.advice if ended is not None else ()


RULE = UnitRule("restarting", Stage.RUN, "Restarting", 10, find, health=Health.DEGRADED)
