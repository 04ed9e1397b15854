"""What comes of suspending or resuming one Job of a JobSet: who will react, and how.

Read from JobSet's own policies (jobset-kueue.md §2 and JobSet v0.12's controllers): it counts a Job
as suspended by `spec.suspend`, restarts by making all Jobs anew, and deletes unfinished Jobs when it
ends. What to think about before the click is in `job_warnings`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gangboard.diagnosis.policy import multi_job_consequences
from gangboard.diagnosis.policy.decision import DesiredAction
from gangboard.diagnosis.policy.gang_index import GangIndex, asks_for_pods, is_paused, seats_of
from gangboard.diagnosis.policy.phrases import moment, pods_deleted, pods_made
from gangboard.domain.action import ClusterLevers, Lever, PolicyState
from gangboard.domain.hold import Hold
from gangboard.domain.owner import FailureRule, Owner
from gangboard.domain.reading.wording import count, is_or_are, label, names

_AFTER_RESTART = {
    Lever.HOLD: "made anew suspended: the Hold stays",
    Lever.NATIVE: "made anew running: its suspension is lost",
    Lever.PARALLELISM: "made anew with the parallelism of its template: the pause is lost",
}
_ONE_JOB_ACTIONS = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")
_UNLIMITED = "AndIgnoreMaxRestarts"


def of_suspend(
    gang: GangIndex, job: Owner, lever: Lever, desired: DesiredAction
) -> tuple[str, ...]:
    """Say what will happen to the Job, and what its JobSet will do with it."""
    found = [_pods(gang, job)]
    if lever is Lever.HOLD:
        found.append(_proof(desired.levers))
        found.append(
            f"The Hold keeps it suspended while {gang.name} is restarted, or suspended and "
            f"resumed; it goes when {_parent(job)} is deleted."
        )
    if desired.until is not None:
        found.append(f"gangboard removes the Hold and resumes it at {moment(desired.until)}.")
    if gang.owner.policies is not None:
        found += _failure(gang, job, lever, desired.chosen)
    if not desired.chosen:
        found += multi_job_consequences.success(gang, (job,), lever)
    if gang.is_queued:
        found.append(_quota(gang))
    return tuple(found)


def of_resume(gang: GangIndex, job: Owner) -> tuple[str, ...]:
    """Say what a resume brings: of a Job that is suspended, or else paused."""
    wait = gang.wait_of(job)
    if wait is not None:
        return (f"{wait.why}: it starts when {wait.until}.",)
    if job.suspended and job.parallelism == 0:
        return ("It asks for no pods (parallelism 0).",)
    return (pods_made(_pods_to_come(job)),)


def about_there(holds: Sequence[Hold]) -> tuple[str, ...]:
    """Say that a Hold is there already, which is then used."""
    return tuple(
        f"Hold {hold.meta.ref.name} is there already"
        f"{f', made by {hold.by}' if hold.by else ''}"
        f"{f', and ends at {moment(hold.until)}' if hold.until else ''}: no other is made."
        for hold in holds
    )


def of_release(gang: GangIndex, job: Owner, blocked: str, *, only: bool) -> tuple[str, ...]:
    """Say what the removal of a Hold brings; `only`: nothing else is done, because of `blocked`."""
    if not only:
        return of_resume(gang, job)
    if blocked:
        return ("Only the Hold is removed.", blocked)
    if not job.suspended:
        return (f"Only the Hold is removed: {label(job.meta.ref)} is not suspended.",)
    wait = gang.wait_of(job)
    if wait is None:
        return ("Only the Hold is removed.",)
    return (f"Only the Hold is removed: {wait.why}, and the Job starts when {wait.until}.",)


def _pods_to_come(job: Owner) -> int:
    if not is_paused(job):
        return seats_of(job)
    kept = job.paused_parallelism or 0
    return kept if job.completions is None else min(kept, job.completions - job.succeeded_pods)


def _proof(levers: ClusterLevers) -> str:
    """Say what the Hold is before its proof: never more than `unproved`."""
    last = levers.hold_proved_at
    known = f"proved here last at {moment(last)}" if last else "not proved here yet"
    installed = "installed, unproved" if levers.hold is PolicyState.INSTALLED else "unproved"
    return f"The Hold is {installed} ({known}): it is proved for this Job before that is suspended."


def _parent(job: Owner) -> str:
    controller = job.meta.controller
    return f"{controller.kind} {controller.name}" if controller else "its owner"


def _pods(gang: GangIndex, job: Owner) -> str:
    if job.suspended:
        wait = gang.wait_of(job)
        so = f"It is suspended already ({wait.why})" if wait else "It is suspended already"
        return f"{so}: this keeps it so."
    if not asks_for_pods(job):
        return "It asks for no pods now (parallelism 0)."
    return pods_deleted(job.active_pods, job.grace_seconds)


def _quota(gang: GangIndex) -> str:
    if gang.is_admitted:
        return "Its quota in Kueue stays reserved."
    return f"Kueue reserves quota for its pods all the same when it admits {gang.name}."


# Failure policy


def _failure(gang: GangIndex, job: Owner, lever: Lever, chosen: frozenset[str]) -> list[str]:
    """Say what a failure of another Job does to this one; suspending is no failure itself.

    Jobs that are stopped with it do not fail either.
    """
    if not gang.unfinished_beside(job, chosen):
        return []
    owner, name = gang.owner, gang.name
    if owner.max_restarts is None:
        return [f"If another Job fails, {name} fails (it has no failure policy) and {_lost(job)}."]
    stopped = Counter(
        gang.jobs[uid].role_name for uid in (chosen & gang.jobs.keys()) | {job.meta.ref.uid}
    )
    rules = owner.policies.failure_rules if owner.policies else ()
    found = [
        f"If {_occasion(rule)}, {_act(gang, job, lever, rule.action)}."
        for rule in rules
        if _concerns_others(gang, stopped, rule)
    ]
    if not any(_is_about_all(rule) for rule in rules):
        begin = "On any other failure" if found else "If another Job fails"
        found.append(f"{begin}, {_act(gang, job, lever, 'RestartJobSet')}.")
    return found


def _is_about_all(rule: FailureRule) -> bool:
    return not (rule.reasons or rule.roles or rule.patterns)


def _concerns_others(gang: GangIndex, stopped: Mapping[str, int], rule: FailureRule) -> bool:
    """Whether a rule can be met by another Job, by role → Jobs that are stopped and do not fail."""
    if not rule.roles:
        return True
    return any(gang.open_roles.get(role, 0) > stopped.get(role, 0) for role in rule.roles)


def _occasion(rule: FailureRule) -> str:
    who = f"a Job of {names(rule.roles)}" if rule.roles else "another Job"
    with_what = [
        *([" or ".join(rule.reasons)] if rule.reasons else ()),
        *([f"a message like {' or '.join(rule.patterns)}"] if rule.patterns else ()),
    ]
    return f"{who} fails{' with ' if with_what else ''}{' and '.join(with_what)}"


def _act(gang: GangIndex, job: Owner, lever: Lever, action: str) -> str:
    owner, name = gang.owner, gang.name
    if action == "FailJobSet":
        return f"{name} fails and {_lost(job)}"
    if not action.startswith("Restart"):
        return f"{name} applies {action}"
    limit = owner.max_restarts or 0
    counts = not action.endswith(_UNLIMITED)
    if counts and owner.counted_restarts >= limit:
        why = (
            f"its {count(limit, 'restart')} {is_or_are(limit)} used up"
            if limit
            else "it may not restart"
        )
        return f"{name} fails ({why}) and {_lost(job)}"
    used = f" ({owner.counted_restarts} of {count(limit, 'restart')} used)" if counts else ""
    if action in _ONE_JOB_ACTIONS:
        return f"only that Job is made anew{used}; this one is not touched"
    return f"{name} restarts{used} and {label(job.meta.ref)} is {_AFTER_RESTART[lever]}"


def _lost(job: Owner) -> str:
    return multi_job_consequences.lost((job,))
