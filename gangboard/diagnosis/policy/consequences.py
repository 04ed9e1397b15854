"""What comes of suspending or resuming one Job of a JobSet: who will react, and how.

Read from JobSet's own policies (jobset-kueue.md §2 and JobSet v0.12's controllers): it counts a Job
as suspended by `spec.suspend`, restarts by making all Jobs anew, and deletes unfinished Jobs when it
ends. What to think about before the click is in `cautions`.
"""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.diagnosis.policy.decision import Wish
from gangboard.diagnosis.policy.phrases import moment, pods_deleted, pods_made
from gangboard.diagnosis.policy.survey import Survey, asks_for_pods, is_paused, seats_of
from gangboard.domain.action import ClusterLevers, Lever, PolicyState
from gangboard.domain.hold import Hold
from gangboard.domain.owner import FailureRule, Owner, Policies
from gangboard.domain.reading.wording import count, is_or_are, label, names

STATE = {Lever.HOLD: "held", Lever.NATIVE: "suspended", Lever.PARALLELISM: "paused"}
"""What a Job is called that one of these levers stopped."""
_AFTER_RESTART = {
    Lever.HOLD: "made anew suspended: the Hold stays",
    Lever.NATIVE: "made anew running: its suspension is lost",
    Lever.PARALLELISM: "made anew with the parallelism of its template: the pause is lost",
}
_ONE_JOB_ACTIONS = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")
_UNLIMITED = "AndIgnoreMaxRestarts"


def of_suspend(survey: Survey, job: Owner, lever: Lever, wish: Wish) -> tuple[str, ...]:
    """Say what will happen to the Job, and what its JobSet will do with it."""
    found = [_pods(survey, job)]
    if lever is Lever.HOLD:
        found.append(_proof(wish.levers))
        found.append(
            f"The Hold keeps it suspended while {survey.name} is restarted, or suspended and "
            f"resumed; it goes when {_parent(job)} is deleted."
        )
    if wish.order.until is not None:
        found.append(f"gangboard removes the Hold and resumes it at {moment(wish.order.until)}.")
    if survey.owner.policies is not None:
        found += _failure(survey, job, lever)
        found += _success(survey, job, survey.owner.policies, STATE[lever])
    if survey.is_queued:
        found.append(_quota(survey))
    return tuple(found)


def of_resume(survey: Survey, job: Owner) -> tuple[str, ...]:
    """Say what a resume brings: of a Job that is suspended, or else paused."""
    if survey.waiting_for:
        return (f"{survey.waiting_for}: it starts when the {survey.owner.meta.ref.kind} does.",)
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


def of_release(survey: Survey, job: Owner, blocked: str, *, only: bool) -> tuple[str, ...]:
    """Say what the removal of a Hold brings; `only`: nothing else is done, because of `blocked`."""
    if not only:
        return of_resume(survey, job)
    if blocked:
        return ("Only the Hold is removed.", blocked)
    if not job.suspended:
        return (f"Only the Hold is removed: {label(job.meta.ref)} is not suspended.",)
    kind = survey.owner.meta.ref.kind
    return (
        f"Only the Hold is removed: {survey.waiting_for}, and the Job starts when the {kind} does.",
    )


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


def _pods(survey: Survey, job: Owner) -> str:
    if job.suspended:
        why = survey.waiting_for
        so = f"It is suspended already ({why})" if why else "It is suspended already"
        return f"{so}: this keeps it so."
    if not asks_for_pods(job):
        return "It asks for no pods now (parallelism 0)."
    return pods_deleted(job.active_pods, job.grace_seconds)


def _quota(survey: Survey) -> str:
    if survey.is_admitted:
        return "Its quota in Kueue stays reserved."
    return f"Kueue reserves quota for its pods all the same when it admits {survey.name}."


# Failure policy


def _failure(survey: Survey, job: Owner, lever: Lever) -> list[str]:
    """Say what a failure of another Job does to this one; suspending is no failure itself."""
    if survey.unfinished < 2:
        return []
    owner, name = survey.owner, survey.name
    if owner.max_restarts is None:
        return [f"If another Job fails, {name} fails (it has no failure policy) and {_lost(job)}."]
    rules = owner.policies.failure_rules if owner.policies else ()
    found = [
        f"If {_occasion(rule)}, {_act(survey, job, lever, rule.action)}."
        for rule in rules
        if _concerns_others(survey, job, rule)
    ]
    if not any(_is_about_all(rule) for rule in rules):
        begin = "On any other failure" if found else "If another Job fails"
        found.append(f"{begin}, {_act(survey, job, lever, 'RestartJobSet')}.")
    return found


def _is_about_all(rule: FailureRule) -> bool:
    return not (rule.reasons or rule.parts or rule.patterns)


def _concerns_others(survey: Survey, job: Owner, rule: FailureRule) -> bool:
    """Whether a rule can be met by another Job: one that is stopped does not fail."""
    if not rule.parts:
        return True
    return any(survey.open_parts.get(part, 0) - (part == job.part_name) > 0 for part in rule.parts)


def _occasion(rule: FailureRule) -> str:
    who = f"a Job of {names(rule.parts)}" if rule.parts else "another Job"
    with_what = [
        *([" or ".join(rule.reasons)] if rule.reasons else ()),
        *([f"a message like {' or '.join(rule.patterns)}"] if rule.patterns else ()),
    ]
    return f"{who} fails{' with ' if with_what else ''}{' and '.join(with_what)}"


def _act(survey: Survey, job: Owner, lever: Lever, action: str) -> str:
    owner, name = survey.owner, survey.name
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
    return f"{label(job.meta.ref)} is deleted"


# Success policy


def _success(survey: Survey, job: Owner, policies: Policies, state: str) -> list[str]:
    """Say whether the JobSet can complete meanwhile, and what that does to the Job."""
    name = survey.name
    targets = policies.success_parts
    mine = not targets or job.part_name in targets
    any_one = policies.success_operator == "Any"
    rivals = (
        sum(survey.open_parts.get(part, 0) for part in targets) if targets else survey.unfinished
    )
    others = rivals - 1 if mine else rivals
    if mine and not (any_one and others > 0):
        return [
            f"{name} cannot complete while it is {state} (success policy {_policy(policies)}){_clock(policies)}."
        ]
    whose = f"Job of {names(targets)}" if targets else "Job"
    when = f"one {whose}" if any_one else f"every {whose}"
    return [
        f"{name} completes when {when} does (success policy {_policy(policies)}); then "
        f"{_lost(job)}{_sweep(policies, name)}."
    ]


def _policy(policies: Policies) -> str:
    parts = policies.success_parts
    return f"{policies.success_operator} of {names(parts)}" if parts else policies.success_operator


def _clock(policies: Policies) -> str:
    if policies.ttl_seconds is None:
        return ""
    return f", so its ttlSecondsAfterFinished of {policies.ttl_seconds:,} s does not begin"


def _sweep(policies: Policies, name: str) -> str:
    if policies.ttl_seconds is None:
        return ""
    return f", and {name} itself {policies.ttl_seconds:,} s later (ttlSecondsAfterFinished)"
