"""Reactions of the JobSet controller to a single stopped Job: restart, failure, completion, resume.

They follow from the policies of the JobSet (jobset-kueue.md §2 and the controllers of JobSet v0.12). The controller
treats a Job with `spec.suspend` as suspended. It restarts by re-creating all Jobs, and deletes unfinished Jobs when the
JobSet ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.text import count, is_or_are, label, names
from gangboard.facts.gang import Gang
from gangboard.facts.surroundings import Surroundings
from gangboard.owners.jobset.policies import FailureRule, Policies, decode_policies
from gangboard.plugins.lever import Lever
from gangboard.plugins.owner_kind import JobConduct, Jobs
from gangboard.policy.exclusions import Exclusion
from gangboard.policy.phrases import they_are

_ONE_JOB_ACTIONS = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")
_UNCOUNTED_SUFFIX = "AndIgnoreMaxRestarts"
_IN_PLACE = "InPlaceRestart"


def _policies(gang: Gang) -> Policies | None:
    """Return the policies of the JobSet of a gang. Another owner may own the JobSet."""
    for owner in (gang.owner, *gang.middle):
        if (policies := decode_policies(owner)) is not None:
            return policies
    return None


class JobSetConduct(JobConduct):
    """Reactions of a JobSet to a stopped Job, by its policies."""

    manager = "jobset"

    def undone_when(self, gang: Gang) -> str:
        """Return when the controller undoes a bare suspend of a Job.

        Observed: after 72 to 95 ms. With a startup order it is once the pods are gone.
        """
        policies = _policies(gang)
        return "once its pods are gone" if policies and policies.in_order else "within a second"

    def outcome(self, gang: Gang, jobs: Jobs, lever: Lever) -> tuple[str, ...]:
        """Return whether the JobSet can complete while these Jobs are stopped, and the consequences for them."""
        policies = _policies(gang)
        return _completion_sentences(gang, jobs, lever, policies) if policies is not None else ()

    def reactions(
        self, gang: Gang, job: Owner, lever: Lever, chosen: frozenset[str]
    ) -> tuple[str, ...]:
        """Return the consequences if another Job fails.

        A stopped Job cannot fail, nor can the Jobs that are stopped together with it.
        """
        policies = _policies(gang)
        if policies is None or not gang.unfinished_beside(job, chosen):
            return ()
        return _failure_sentences(gang, job, lever, chosen, policies)

    def relocation_refusal(
        self, gang: Gang, job: Owner, exclusion: Exclusion, surroundings: Surroundings
    ) -> str:
        """Refuse to leave a node alone under exclusive placement, and a domain without a free one (observed)."""
        key = _exclusive_key(surroundings.pods_of(job.meta.ref.uid))
        if not key:
            return ""
        if exclusion.key != key:
            return (
                f"{gang.name} gives each Job a {key} of its own: exclude the whole {key}, because a pod that finds "
                "no room beside the others waits for ever."
            )
        taken = {
            node.labels[key]
            for node in surroundings.nodes
            if key in node.labels and surroundings.owners_on.get(node.name)
        }
        every = {node.labels[key] for node in surroundings.nodes if key in node.labels}
        if every - taken - set(exclusion.values):
            return ""
        return f"{gang.name} gives each Job a {key} of its own, and every other {key} has pods of a gang."

    def relocation_reactions(self, gang: Gang, job: Owner, lever: Lever) -> tuple[str, ...]:
        """Return when the exclusion is lost, and what the controller does while the Job is away."""
        if job.meta.ref.uid not in gang.child_jobs:
            return ()
        lost = (
            f"A restart of {gang.name} creates {label(job.meta.ref)} again, without the exclusion."
        )
        return (
            *(() if lever.cordons else (lost,)),
            f"{gang.name} does not count this as a restart, and its failure policy does not apply.",
        )

    def relocation_warnings(self, gang: Gang, job: Owner, pods: Sequence[Pod]) -> tuple[str, ...]:
        """Return warnings about an early completion of the JobSet, and about many writes to the held Job."""
        if job.meta.ref.uid not in gang.child_jobs:
            return ()
        texts = (_completes_without(gang, job), _toleration_storm(gang, job, pods))
        return tuple(text for text in texts if text)

    def warnings(
        self, gang: Gang, job: Owner, lever: Lever, chosen: frozenset[str]
    ) -> tuple[str, ...]:
        """Return warnings about the coordinator's address and about restarts in place."""
        texts = (
            _coordinator_warning(gang, job, lever.state),
            _in_place_warning(gang, job, lever.state, chosen),
        )
        return tuple(text for text in texts if text)


_JOB_KEY = "jobset.sigs.k8s.io/job-key"


def _exclusive_key(pods: Iterable[Pod]) -> str:
    """Return the topology label of exclusive placement, from the anti-affinity of a Job's first pod; else empty."""
    for pod in pods:
        for term in pod.needs.anti_affinity:
            if any(requirement.key == _JOB_KEY for requirement in term.selector):
                return term.topology_key
    return ""


# Completion


def _completion_sentences(
    gang: Gang, jobs: Jobs, lever: Lever, policies: Policies
) -> tuple[str, ...]:
    name, targets = gang.name, policies.success_roles
    if not _can_complete_without(gang, jobs, policies):
        return (
            f"{name} cannot complete while {they_are(jobs)} {lever.state} (success policy "
            f"{_success_policy_text(policies)}){_ttl_not_begun_text(policies)}.",
        )
    noun = f"Job of {names(targets)}" if targets else "Job"
    when = f"one {noun}" if policies.success_operator == "Any" else f"every {noun}"
    return (
        f"{name} completes when {when} does (success policy {_success_policy_text(policies)}); then "
        f"{_deletion_text(jobs)}{_ttl_deletion_text(policies, name)}.",
    )


def _can_complete_without(gang: Gang, jobs: Jobs, policies: Policies) -> bool:
    """Return whether other Jobs are enough for the success policy."""
    targets = policies.success_roles
    stopped = sum(not targets or job.role_name in targets for job in jobs)
    rivals = (
        sum(gang.unfinished_by_role.get(role, 0) for role in targets)
        if targets
        else gang.unfinished
    )
    return not stopped or (policies.success_operator == "Any" and rivals > stopped)


def _completes_without(gang: Gang, job: Owner) -> str:
    """Return the warning that the JobSet may complete while a Job is away, which then is deleted (relocate.md §7)."""
    policies = _policies(gang)
    if policies is None or not _can_complete_without(gang, (job,), policies):
        return ""
    return (
        f"{gang.name} may complete while {label(job.meta.ref)} is away (success policy "
        f"{_success_policy_text(policies)}), and then deletes it."
    )


def _success_policy_text(policies: Policies) -> str:
    roles = policies.success_roles
    return f"{policies.success_operator} of {names(roles)}" if roles else policies.success_operator


def _ttl_not_begun_text(policies: Policies) -> str:
    if policies.ttl_seconds is None:
        return ""
    return f", so its ttlSecondsAfterFinished of {policies.ttl_seconds:,} s does not begin"


def _ttl_deletion_text(policies: Policies, name: str) -> str:
    if policies.ttl_seconds is None:
        return ""
    return f", and {name} itself {policies.ttl_seconds:,} s later (ttlSecondsAfterFinished)"


def _deletion_text(jobs: Jobs) -> str:
    """Return the clause that the Jobs are deleted."""
    if len(jobs) == 1:
        return f"{label(next(iter(jobs)).meta.ref)} is deleted"
    return f"these {count(len(jobs), 'Job')} are deleted"


# Failure of another Job


def _failure_sentences(
    gang: Gang, job: Owner, lever: Lever, chosen: frozenset[str], policies: Policies
) -> tuple[str, ...]:
    owner, name = gang.owner, gang.name
    if owner.max_restarts is None:
        return (
            f"If another Job fails, {name} fails (it has no failure policy) and {_deletion_text((job,))}.",
        )
    stopped = Counter(
        gang.child_jobs[uid].role_name
        for uid in (chosen & gang.child_jobs.keys()) | {job.meta.ref.uid}
    )
    rules = policies.failure_rules
    sentences = [
        f"If {_failure_text(rule)}, {_action_text(gang, job, lever, rule.action)}."
        for rule in rules
        if _applies_to_other_jobs(gang, stopped, rule)
    ]
    if not any(_matches_all_failures(rule) for rule in rules):
        begin = "On any other failure" if sentences else "If another Job fails"
        sentences.append(f"{begin}, {_action_text(gang, job, lever, 'RestartJobSet')}.")
    return tuple(sentences)


def _matches_all_failures(rule: FailureRule) -> bool:
    return not (rule.reasons or rule.roles or rule.patterns)


def _applies_to_other_jobs(gang: Gang, stopped: Mapping[str, int], rule: FailureRule) -> bool:
    """Return whether another Job can meet a failure rule.

    `stopped` maps roles to their stopped Jobs, which cannot fail.
    """
    if not rule.roles:
        return True
    return any(gang.unfinished_by_role.get(role, 0) > stopped.get(role, 0) for role in rule.roles)


def _failure_text(rule: FailureRule) -> str:
    subject = f"a Job of {names(rule.roles)}" if rule.roles else "another Job"
    details = [
        *([" or ".join(rule.reasons)] if rule.reasons else ()),
        *([f"a message like {' or '.join(rule.patterns)}"] if rule.patterns else ()),
    ]
    return f"{subject} fails{' with ' if details else ''}{' and '.join(details)}"


def _action_text(gang: Gang, job: Owner, lever: Lever, action: str) -> str:
    owner, name = gang.owner, gang.name
    if action == "FailJobSet":
        return f"{name} fails and {_deletion_text((job,))}"
    if not action.startswith("Restart"):
        return f"{name} applies {action}"
    limit = owner.max_restarts or 0
    counts = not action.endswith(_UNCOUNTED_SUFFIX)
    if counts and owner.counted_restarts >= limit:
        why = (
            f"its {count(limit, 'restart')} {is_or_are(limit)} used up"
            if limit
            else "it may not restart"
        )
        return f"{name} fails ({why}) and {_deletion_text((job,))}"
    used = f" ({owner.counted_restarts} of {count(limit, 'restart')} used)" if counts else ""
    if action in _ONE_JOB_ACTIONS:
        return f"only that Job is re-created{used}; this one is not touched"
    return f"{name} restarts{used} and {label(job.meta.ref)} is {lever.after_restart}"


# Writes to a held Job

_MANY_TOLERATIONS = 8
"""JobSet writes the tolerations of a held Job in a random order. With 12 it wrote 40 times a second and never stopped.
With 5 it wrote twice (observed, relocate.md §10). The exact limit is unknown."""
_ADDED_TOLERATIONS = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Keys of the tolerations with effect NoExecute that the API server adds to each pod."""


def _toleration_storm(gang: Gang, job: Owner, pods: Sequence[Pod]) -> str:
    """Return the warning that the controller writes to the held Job all the time. The pods show its template."""
    if not pods:
        return ""
    number = sum(
        not (item.key in _ADDED_TOLERATIONS and item.effect == "NoExecute")
        for item in pods[0].needs.tolerations
    )
    if number <= _MANY_TOLERATIONS:
        return ""
    wait = f" Its pods have up to {job.grace_seconds} s to end." if job.grace_seconds else ""
    return (
        f"The template of {gang.name} has {count(number, 'toleration')}: while {label(job.meta.ref)} is held, its "
        f"controller may write to it many times a second, so it should not be held for long.{wait}"
    )


# Warnings before a Job is stopped


def _coordinator_warning(gang: Gang, job: Owner, state: str) -> str:
    policies = _policies(gang)
    if policies is None or policies.coordinator != job.meta.ref.name:
        return ""
    return (
        f"The coordinator's address of {gang.name} points at this Job: nothing answers there "
        f"while it is {state}."
    )


def _in_place_warning(gang: Gang, job: Owner, state: str, chosen: frozenset[str]) -> str:
    """Return the warning that pods wait for all others after a restart in place (in_place_restart.go, v0.12)."""
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
