"""Actions of the JobSet controller on a Job that is stopped alone: restart, fail, complete, resume.

Read from its own policies (jobset-kueue.md §2 and the controllers of JobSet v0.12): it counts a Job as
suspended by `spec.suspend`, restarts by making all Jobs anew, and deletes unfinished Jobs when it ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gangboard.domain.owner import Owner
from gangboard.domain.text import count, is_or_are, label, names
from gangboard.facts.gang import Gang
from gangboard.owners.jobset.policies import FailureRule, Policies, policies_of
from gangboard.plugins.lever import Lever
from gangboard.plugins.owner_kind import JobConduct, Jobs
from gangboard.policy.phrases import they_are

_ONE_JOB_ACTIONS = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")
_UNLIMITED = "AndIgnoreMaxRestarts"
_IN_PLACE = "InPlaceRestart"


def _policies(gang: Gang) -> Policies | None:
    """Return the policies of the JobSet of a gang, which may stand below another owner."""
    for owner in (gang.owner, *gang.middle):
        if (policies := policies_of(owner)) is not None:
            return policies
    return None


class JobSetConduct(JobConduct):
    """Restarts, failures and completion of a JobSet, by its policies."""

    manager = "jobset"

    def undone_when(self, gang: Gang) -> str:
        """Return when it undoes a bare suspend of a Job: after 72 to 95 ms, or as its pods are gone (observed)."""
        policies = _policies(gang)
        return "once its pods are gone" if policies and policies.in_order else "within a second"

    def outcome(self, gang: Gang, jobs: Jobs, lever: Lever) -> tuple[str, ...]:
        """Return whether the JobSet can complete while these Jobs are stopped, and the consequences for them."""
        policies = _policies(gang)
        return _outcome(gang, jobs, lever, policies) if policies is not None else ()

    def reactions(
        self, gang: Gang, job: Owner, lever: Lever, chosen: frozenset[str]
    ) -> tuple[str, ...]:
        """Return the consequences of a failure of another Job. A suspended Job does not fail.

        Jobs that are stopped with it do not fail either.
        """
        policies = _policies(gang)
        if policies is None or not gang.unfinished_beside(job, chosen):
            return ()
        return _after_a_failure(gang, job, lever, chosen, policies)

    def warnings(
        self, gang: Gang, job: Owner, lever: Lever, chosen: frozenset[str]
    ) -> tuple[str, ...]:
        """Return what stops working without this Job: the coordinator's address, a restart in place."""
        texts = _coordinator(gang, job, lever.state), _in_place(gang, job, lever.state, chosen)
        return tuple(text for text in texts if text)


# When it completes


def _outcome(gang: Gang, jobs: Jobs, lever: Lever, policies: Policies) -> tuple[str, ...]:
    name, targets = gang.name, policies.success_roles
    mine = sum(not targets or job.role_name in targets for job in jobs)
    any_one = policies.success_operator == "Any"
    rivals = (
        sum(gang.unfinished_by_role.get(role, 0) for role in targets)
        if targets
        else gang.unfinished
    )
    if mine and not (any_one and rivals > mine):
        return (
            f"{name} cannot complete while {they_are(jobs)} {lever.state} (success policy "
            f"{_policy(policies)}){_clock(policies)}.",
        )
    whose = f"Job of {names(targets)}" if targets else "Job"
    when = f"one {whose}" if any_one else f"every {whose}"
    return (
        f"{name} completes when {when} does (success policy {_policy(policies)}); then "
        f"{_lost(jobs)}{_sweep(policies, name)}.",
    )


def _policy(policies: Policies) -> str:
    roles = policies.success_roles
    return f"{policies.success_operator} of {names(roles)}" if roles else policies.success_operator


def _clock(policies: Policies) -> str:
    if policies.ttl_seconds is None:
        return ""
    return f", so its ttlSecondsAfterFinished of {policies.ttl_seconds:,} s does not begin"


def _sweep(policies: Policies, name: str) -> str:
    if policies.ttl_seconds is None:
        return ""
    return f", and {name} itself {policies.ttl_seconds:,} s later (ttlSecondsAfterFinished)"


def _lost(jobs: Jobs) -> str:
    """Say that they are deleted: half a sentence."""
    if len(jobs) == 1:
        return f"{label(next(iter(jobs)).meta.ref)} is deleted"
    return f"these {count(len(jobs), 'Job')} are deleted"


# When another Job fails


def _after_a_failure(
    gang: Gang, job: Owner, lever: Lever, chosen: frozenset[str], policies: Policies
) -> tuple[str, ...]:
    owner, name = gang.owner, gang.name
    if owner.max_restarts is None:
        return (
            f"If another Job fails, {name} fails (it has no failure policy) and {_lost((job,))}.",
        )
    stopped = Counter(
        gang.child_jobs[uid].role_name
        for uid in (chosen & gang.child_jobs.keys()) | {job.meta.ref.uid}
    )
    rules = policies.failure_rules
    sentences = [
        f"If {_occasion(rule)}, {_act(gang, job, lever, rule.action)}."
        for rule in rules
        if _concerns_others(gang, stopped, rule)
    ]
    if not any(_is_about_all(rule) for rule in rules):
        begin = "On any other failure" if sentences else "If another Job fails"
        sentences.append(f"{begin}, {_act(gang, job, lever, 'RestartJobSet')}.")
    return tuple(sentences)


def _is_about_all(rule: FailureRule) -> bool:
    return not (rule.reasons or rule.roles or rule.patterns)


def _concerns_others(gang: Gang, stopped: Mapping[str, int], rule: FailureRule) -> bool:
    """Whether a rule can be met by another Job, by role → Jobs that are stopped and do not fail."""
    if not rule.roles:
        return True
    return any(gang.unfinished_by_role.get(role, 0) > stopped.get(role, 0) for role in rule.roles)


def _occasion(rule: FailureRule) -> str:
    who = f"a Job of {names(rule.roles)}" if rule.roles else "another Job"
    with_what = [
        *([" or ".join(rule.reasons)] if rule.reasons else ()),
        *([f"a message like {' or '.join(rule.patterns)}"] if rule.patterns else ()),
    ]
    return f"{who} fails{' with ' if with_what else ''}{' and '.join(with_what)}"


def _act(gang: Gang, job: Owner, lever: Lever, action: str) -> str:
    owner, name = gang.owner, gang.name
    if action == "FailJobSet":
        return f"{name} fails and {_lost((job,))}"
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
        return f"{name} fails ({why}) and {_lost((job,))}"
    used = f" ({owner.counted_restarts} of {count(limit, 'restart')} used)" if counts else ""
    if action in _ONE_JOB_ACTIONS:
        return f"only that Job is re-created{used}; this one is not touched"
    return f"{name} restarts{used} and {label(job.meta.ref)} is {lever.after_restart}"


# Warnings before a Job is stopped


def _coordinator(gang: Gang, job: Owner, state: str) -> str:
    policies = _policies(gang)
    if policies is None or policies.coordinator != job.meta.ref.name:
        return ""
    return (
        f"The coordinator's address of {gang.name} points at this Job: nothing answers there "
        f"while it is {state}."
    )


def _in_place(gang: Gang, job: Owner, state: str, chosen: frozenset[str]) -> str:
    """Restarted pods wait for all pods of the JobSet (in_place_restart.go, JobSet v0.12)."""
    policies = _policies(gang)
    if policies is None or policies.restart_strategy != _IN_PLACE:
        return ""
    if not gang.unfinished_beside(job, chosen):
        return ""
    return (
        f"{gang.name} restarts in place: after a failure its containers run on only when all "
        f"{gang.owner.desired} pods are there, which they are not while {label(job.meta.ref)} is "
        f"{state}."
    )
