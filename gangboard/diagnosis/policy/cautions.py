"""What to think about before one Job of a JobSet is suspended or resumed: one sentence each."""

from __future__ import annotations

from collections.abc import Iterable

from gangboard.diagnosis.policy import refusals
from gangboard.diagnosis.policy.consequences import STATE
from gangboard.diagnosis.policy.phrases import moment
from gangboard.diagnosis.policy.survey import Survey, asks_for_pods, is_paused, seats_of
from gangboard.domain.action import ClusterLevers, Lever, PolicyState
from gangboard.domain.group import Policy, label_of_group
from gangboard.domain.hold import Hold
from gangboard.domain.owner import Owner
from gangboard.domain.reading.dependencies import reached_jobs
from gangboard.domain.reading.wording import count, is_or_are, label, names, out_of, plural, shorten

_IN_PLACE = "InPlaceRestart"
_RENEWALS = {Lever.HOLD: "a restart or a resume", Lever.PARALLELISM: "a resume"}
"""What of the JobSet a stopped Job stays stopped through: then its absence counts anew."""


# The lever itself


def about_hold(survey: Survey, levers: ClusterLevers) -> tuple[str, ...]:
    """Warn of what is not known of the Hold in this cluster before its proof."""
    found = list(about_claim(survey, levers))
    refuted, proved = levers.hold_refuted_at, levers.hold_proved_at
    if refuted is not None and (proved is None or refuted > proved):
        found.append(f"The last proof of the Hold failed, at {moment(refuted)}.")
    if levers.hold is PolicyState.INSTALLED and levers.hold_sentence:
        said = levers.hold_sentence
        found.append(f"{said[:1].upper()}{said[1:]}.")
    if levers.hold is PolicyState.NOT_SEEN:
        found.append(
            "gangboard may not look whether the Hold is installed here: the proof will tell."
        )
    return tuple(found)


def about_claim(survey: Survey, levers: ClusterLevers) -> tuple[str, ...]:
    """Say that a JobSet asked for independent Jobs and nobody was seen to honour it."""
    if not survey.owner.independent_claim or levers.native_honoured:
        return ()
    return (f"{refusals.claim_not_honoured(survey, levers)}.",)


def about_force(survey: Survey, job: Owner, levers: ClusterLevers) -> tuple[str, ...]:
    """Say what a bare suspend comes to: undone after 72 to 95 ms, pods replaced (observed)."""
    policies, pods = survey.owner.policies, job.active_pods
    when = "once its pods are gone" if policies and policies.in_order else "within a second"
    cost = f"its {count(pods, 'pod')} {is_or_are(pods)}" if pods else "its pods are"
    undone = (
        "Forced: nothing keeps one Job alone suspended here. jobset will likely undo it "
        f"{when}, and {cost} deleted and replaced all the same."
    )
    return (undone, *about_claim(survey, levers))


def about_switched_off(levers: ClusterLevers) -> tuple[str, ...]:
    """Say that what is undone could not be done any more, and why the undoing may be refused."""
    if levers.parallelism:
        return ()
    return (
        "Pausing by parallelism 0 is not enabled here any more: the cluster may refuse to let "
        "gangboard change parallelism.",
    )


def about_holders(holds: Iterable[Hold], by: str) -> tuple[str, ...]:
    """Name those whose Hold is removed by somebody else."""
    return tuple(
        f"Hold {hold.meta.ref.name} was made by {hold.by}"
        + (f": “{shorten(hold.reason)}”" if hold.reason else ".")
        for hold in holds
        if hold.by and by and hold.by != by
    )


# Suspending


def of_suspend(survey: Survey, job: Owner, lever: Lever) -> tuple[str, ...]:
    """Return what a person should know before this Job is stopped with this lever."""
    found = [
        _last_running(survey, job),
        *_dependents(survey, job, lever),
        _coordinator(survey, job, STATE[lever]),
        _shared_group(survey, job, lever),
        _in_place(survey, job, STATE[lever]),
        *_queue(survey, job, lever),
        *(_paused_only(survey) if lever is Lever.PARALLELISM else ()),
    ]
    return tuple(text for text in found if text)


def _last_running(survey: Survey, job: Owner) -> str:
    if survey.running != {job.meta.ref.uid}:
        return ""
    if survey.unfinished == 1:
        return (
            f"It is the only unfinished Job of {survey.name}: to stop all of it, suspend the "
            f"{survey.owner.meta.ref.kind}."
        )
    return (
        f"It is the last Job of {survey.name} that is not stopped: nothing of it will run, while "
        f"the {survey.owner.meta.ref.kind} does not count as suspended."
    )


def _dependents(survey: Survey, job: Owner, lever: Lever) -> list[str]:
    """Name the parts that depend on this Job: those not made yet wait now, the others later.

    A dependency is looked at when Jobs are made and when a JobSet is resumed (depends_on.go, JobSet
    v0.12); what runs already runs on.
    """
    found, state = [], STATE[lever]
    now = _blocked(survey, job.part_name, lever, only_absent=True)
    later = [name for name in _blocked(survey, job.part_name, lever) if name not in now]
    if now:
        number = sum(survey.absent[name] for name in now)
        depend = plural(len(now), "depend")
        found.append(
            f"{count(number, 'Job')} of {names(now)} {is_or_are(number)} not made while it is "
            f"{state}: {names(now)} {depend} on {job.part_name}."
        )
    if later and lever in _RENEWALS:
        found.append(
            f"After {_RENEWALS[lever]} of {survey.name} the Jobs of {names(later)} do not start "
            f"while it is {state}: {names(later)} {plural(len(later), 'depend')} on {job.part_name}."
        )
    return found


def _blocked(
    survey: Survey, name: str, lever: Lever, *, only_absent: bool = False
) -> dict[str, None]:
    """Return the parts that cannot start without one, directly or through each other.

    `only_absent`: of parts whose Jobs exist nothing is said, and nothing waits for them in vain. A Job
    at parallelism 0 counts as ready.
    """
    found: dict[str, None] = {}
    for blocked in (waiting := [name]):
        for part in survey.dependents.get(blocked, ()):
            unmet = any(
                on.part == blocked
                and (blocked != name or on.status == "Complete" or lever is not Lever.PARALLELISM)
                for on in part.depends_on
            )
            if only_absent and not survey.absent[part.name]:
                continue
            if unmet and part.name != name and part.name not in found:
                found[part.name] = None
                waiting.append(part.name)
    return found


def _coordinator(survey: Survey, job: Owner, state: str) -> str:
    policies = survey.owner.policies
    if policies is None or policies.coordinator != job.meta.ref.name:
        return ""
    return (
        f"The coordinator's address of {survey.name} points at this Job: nothing answers there "
        f"while it is {state}."
    )


def _shared_group(survey: Survey, job: Owner, lever: Lever) -> str:
    """Say what is left of a PodGroup that other Jobs name too (observed on 1.37.0)."""
    others, state = survey.sharers.get(job.group_name, 0) - 1, STATE[lever]
    if not job.group_name or others < 1:
        return ""
    group = survey.groups.get(job.group_name)
    shares = f"It shares {label_of_group(job.group_name)} with {count(others, 'other Job')}"
    if group is None:
        return (
            f"{shares}; its quorum is not known. If it counts the pods of this Job, a pod that "
            f"another one loses is never replaced while this one is {state}."
        )
    if group.policy is not Policy.GANG or group.quorum is None:
        return ""
    own = seats_of(job) if asks_for_pods(job) else 0
    left = survey.seats.get(job.group_name, 0) - own
    if left >= group.quorum:
        return ""
    renewal = _RENEWALS.get(lever)
    later = f", and after {renewal} of {survey.name} no pod of the group is placed"
    return (
        f"{shares}, whose quorum is {count(group.quorum, 'pod')}; {left} would remain. A lost "
        f"sibling can never be replaced while this Job is {state}"
        f"{later if renewal else ''}."
    )


def _in_place(survey: Survey, job: Owner, state: str) -> str:
    """Restarted pods wait for all pods of the JobSet (in_place_restart.go, JobSet v0.12)."""
    policies = survey.owner.policies
    if policies is None or policies.restart_strategy != _IN_PLACE or survey.unfinished < 2:
        return ""
    return (
        f"{survey.name} restarts in place: after a failure its containers run on only when all "
        f"{survey.owner.desired} pods are there, which they are not while {label(job.meta.ref)} is "
        f"{state}."
    )


def _queue(survey: Survey, job: Owner, lever: Lever) -> list[str]:
    if survey.is_queued and lever is Lever.PARALLELISM:
        return ["Kueue goes on counting it as ready: waitForPodsReady does not notice it."]
    if survey.is_queued:
        return [
            # Observed: Kueue v0.19.2 has it on with 30m when nothing is configured, and counts the
            # pods of a held Job as not ready.
            f"Kueue evicts the whole of {survey.name} when pods are not ready for longer than its "
            f"waitForPodsReady allows (30 minutes by default since v0.19), and those of a "
            f"held Job are not."
        ]
    if job.meta.ref.uid not in survey.queued_jobs:
        return []
    queue = f"queue {job.queue} of Kueue" if job.queue else "a queue of Kueue"
    return [
        f"It is in {queue} by itself: while its Workload is admitted, Kueue will try to resume it."
    ]


def _paused_only(survey: Survey) -> tuple[str, ...]:
    return (
        f"It is paused, not suspended: {survey.name} goes on counting it as ready, and an "
        "activeDeadlineSeconds of the Job runs on.",
    )


# Resuming


def of_resume(survey: Survey, job: Owner) -> tuple[str, ...]:
    """Return what a person should know before this Job runs again."""
    found = []
    part = survey.parts.get(job.part_name)
    for dependency in part.depends_on if part is not None else ():
        on = survey.parts.get(dependency.part)
        reached = reached_jobs(on, dependency) if on is not None else None
        if on is not None and reached is not None and reached < on.replicas:
            found.append(
                f"{job.part_name} should wait until {on.name} is {dependency.status}, and "
                f"{out_of(reached, on.replicas, 'Job')} {is_or_are(reached)}: it starts all the same."
            )
    if job.suspended and is_paused(job):
        found.append(
            "It is paused as well (parallelism 0): resume it once more for its "
            f"{count(job.paused_parallelism or 0, 'pod')}."
        )
    return tuple(found)
