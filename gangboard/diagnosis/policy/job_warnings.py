"""What to think about before one Job of a JobSet is suspended or resumed: one sentence each."""

from __future__ import annotations

from collections.abc import Iterable

from gangboard.diagnosis.policy import multi_job_consequences, refusals
from gangboard.diagnosis.policy.gang_index import GangIndex, is_paused
from gangboard.diagnosis.policy.multi_job_consequences import STATE
from gangboard.diagnosis.policy.phrases import moment
from gangboard.domain.action import ClusterLevers, Lever, PolicyState
from gangboard.domain.hold import Hold
from gangboard.domain.owner import Owner
from gangboard.domain.reading.dependencies import reached_jobs
from gangboard.domain.reading.wording import count, is_or_are, label, out_of, shorten

_IN_PLACE = "InPlaceRestart"


# The lever itself


def about_hold(gang: GangIndex, levers: ClusterLevers) -> tuple[str, ...]:
    """Warn of what is not known of the Hold in this cluster before its proof."""
    found = list(about_claim(gang, levers))
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


def about_claim(gang: GangIndex, levers: ClusterLevers) -> tuple[str, ...]:
    """Say that a JobSet asked for independent Jobs and nobody was seen to honour it."""
    if not gang.owner.independent_claim or levers.native_honoured:
        return ()
    return (f"{refusals.claim_not_honoured(gang, levers)}.",)


def about_force(gang: GangIndex, job: Owner, levers: ClusterLevers) -> tuple[str, ...]:
    """Say what a bare suspend comes to: undone after 72 to 95 ms, pods replaced (observed)."""
    pods = job.active_pods
    cost = f"its {count(pods, 'pod')} {is_or_are(pods)}" if pods else "its pods are"
    undone = (
        "Forced: nothing keeps one Job alone suspended here. jobset will likely undo it "
        f"{multi_job_consequences.undone_when(gang)}, and {cost} deleted and replaced all the same."
    )
    return (undone, *about_claim(gang, levers))


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


def of_suspend(
    gang: GangIndex, job: Owner, lever: Lever, chosen: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    """Return what a person should know before this Job is stopped with this lever.

    With the uids of a selection, what is true of all of that is left to `selection`.
    """
    found = [
        *(() if chosen else multi_job_consequences.warnings(gang, (job,), lever)),
        _coordinator(gang, job, STATE[lever]),
        _in_place(gang, job, STATE[lever], chosen),
        *_queue(gang, job, lever),
        *(_paused_only(gang) if lever is Lever.PARALLELISM else ()),
    ]
    return tuple(text for text in found if text)


def _coordinator(gang: GangIndex, job: Owner, state: str) -> str:
    policies = gang.owner.policies
    if policies is None or policies.coordinator != job.meta.ref.name:
        return ""
    return (
        f"The coordinator's address of {gang.name} points at this Job: nothing answers there "
        f"while it is {state}."
    )


def _in_place(gang: GangIndex, job: Owner, state: str, chosen: frozenset[str]) -> str:
    """Restarted pods wait for all pods of the JobSet (in_place_restart.go, JobSet v0.12)."""
    policies = gang.owner.policies
    if policies is None or policies.restart_strategy != _IN_PLACE:
        return ""
    if not gang.unfinished_beside(job, chosen):
        return ""
    return (
        f"{gang.name} restarts in place: after a failure its containers run on only when all "
        f"{gang.owner.desired} pods are there, which they are not while {label(job.meta.ref)} is "
        f"{state}."
    )


def _queue(gang: GangIndex, job: Owner, lever: Lever) -> list[str]:
    if gang.is_queued and lever is Lever.PARALLELISM:
        return ["Kueue goes on counting it as ready: waitForPodsReady does not notice it."]
    if gang.is_queued:
        return [
            # Observed: Kueue v0.19.2 has it on with 30m when nothing is configured, and counts the
            # pods of a held Job as not ready.
            f"Kueue evicts the whole of {gang.name} when pods are not ready for longer than its "
            f"waitForPodsReady allows (30 minutes by default since v0.19), and those of a "
            f"held Job are not."
        ]
    if job.meta.ref.uid not in gang.queued_jobs:
        return []
    name = gang.queue_statuses[job.meta.ref.uid].queue
    queue = f"queue {name} of Kueue" if name else "a queue of Kueue"
    return [
        f"It is in {queue} by itself: while its Workload is admitted, Kueue will try to resume it."
    ]


def _paused_only(gang: GangIndex) -> tuple[str, ...]:
    return (
        f"It is paused, not suspended: {gang.name} goes on counting it as ready, and an "
        "activeDeadlineSeconds of the Job runs on.",
    )


# Resuming


def of_resume(gang: GangIndex, job: Owner) -> tuple[str, ...]:
    """Return what a person should know before this Job runs again."""
    found = []
    role = gang.roles.get(job.role_name)
    for dependency in role.depends_on if role is not None else ():
        on = gang.roles.get(dependency.role)
        reached = reached_jobs(on, dependency) if on is not None else None
        if on is not None and reached is not None and reached < on.replicas:
            found.append(
                f"{job.role_name} should wait until {on.name} is {dependency.status}, and "
                f"{out_of(reached, on.replicas, 'Job')} {is_or_are(reached)}: it starts all the same."
            )
    if job.suspended and is_paused(job):
        found.append(
            "It is paused as well (parallelism 0): resume it once more for its "
            f"{count(job.paused_parallelism or 0, 'pod')}."
        )
    return tuple(found)
