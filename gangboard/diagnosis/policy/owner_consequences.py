"""What comes of suspending or resuming an owner as a whole, in sentences."""

from __future__ import annotations

from collections.abc import Iterable

from gangboard.diagnosis import registry
from gangboard.diagnosis.policy.gang_index import GangIndex, asks_for_pods, is_paused, seats_of
from gangboard.diagnosis.policy.phrases import pods_deleted, pods_made
from gangboard.domain.action import Verb
from gangboard.domain.objects import find_condition
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry
from gangboard.domain.reading.wording import is_or_are, label, names, sentence
from gangboard.domain.registry import OwnerKind


def of_suspend(gang: GangIndex, *, one_by_one: bool) -> tuple[str, ...]:
    """Say what a suspend does to its pods; `one_by_one` when its Jobs are suspended each."""
    found = [_pods_deleted(gang)]
    if one_by_one:
        found.append(
            f"Its Jobs are suspended one by one, as it asks: {gang.name} itself does not count as "
            "suspended."
        )
    elif gang.jobs:
        found.append("Its Jobs stay, suspended; those that have finished are not touched.")
    return tuple(found)


def of_resume(gang: GangIndex, *, one_by_one: bool) -> tuple[str, ...]:
    """Say what a resume does to its pods."""
    found = [_pods_made(gang)]
    if one_by_one:
        found.append("Its Jobs are resumed one by one.")
    return tuple(found)


def of_field(gang: GangIndex, kind: OwnerKind, verb: Verb) -> tuple[str, ...]:
    """Say what the suspend field of an owner does: what its kind says, else what it is for every kind."""
    if kind.reactions is not None:
        return kind.reactions(gang.owner, gang.owner, verb)
    tell = of_suspend if verb is Verb.SUSPEND else of_resume
    return tell(gang, one_by_one=False)


def of_maker(gang: GangIndex, verb: Verb) -> tuple[str, ...]:
    """Say what the maker of such gangs does when this one is suspended or resumed."""
    maker = gang.context.maker
    if maker is None:
        return ()
    kind = registry.owner_kind(maker.meta.ref.group, maker.meta.ref.kind)
    found = kind.reactions if kind is not None else None
    return found(maker, gang.owner, verb) if found is not None else ()


def of_deactivation(gang: GangIndex) -> tuple[str, ...]:
    """Say what Kueue does with an owner whose Workload is deactivated (jobset-kueue.md §3.5)."""
    if not gang.is_admitted:
        return (
            f"Kueue takes {gang.name} out of {_queue(gang)} until it is resumed; it has no pods "
            "to lose.",
        )
    return (
        f"Kueue evicts {gang.name}, suspends it and does not queue it again until it is resumed; "
        f"its quota in {_queue(gang)} is released.",
        _pods_deleted(gang),
    )


def of_activation(gang: GangIndex) -> tuple[str, ...]:
    """Say what Kueue does with an owner whose Workload is activated again."""
    return (
        f"Kueue puts {gang.name} back into {_queue(gang)}: it may have to wait, and its pods may "
        "get other nodes.",
    )


def warnings_of_queue(
    gang: GangIndex, entries: tuple[QueueEntry, ...], *, active: bool
) -> tuple[str, ...]:
    """Warn of what stays held, and of a deactivation that was Kueue's own doing."""
    own = [found for entry in entries if active and (found := _deactivated_by_kueue(entry))]
    return (*own, *warnings(gang))


def warnings(gang: GangIndex) -> tuple[str, ...]:
    """Warn of Jobs that do not follow their owner."""
    found = []
    held = _names(job for job in gang.jobs.values() if gang.holds_on(job))
    if held:
        found.append(f"Held Jobs stay suspended when {gang.name} is resumed: {held}.")
    paused = _names(job for job in gang.jobs.values() if is_paused(job))
    if paused:
        found.append(f"Jobs paused by parallelism 0 get no pods when it is resumed: {paused}.")
    queued = () if gang.is_queued else gang.queued_jobs.values()
    if queued:
        found.append(
            f"{_names(queued)} {is_or_are(len(queued))} queued by Kueue on "
            f"{'its' if len(queued) == 1 else 'their'} own: Kueue and {gang.name} may undo each "
            "other."
        )
    if gang.is_nobodys:
        found += _taken_over(gang)
    return tuple(found)


def _taken_over(gang: GangIndex) -> list[str]:
    """Say what the queue system would do with it that is not there now."""
    suspended, name = not gang.owner.suspended, gang.name
    return [
        system.takes_over(name, gang.queue, suspended)
        for system in registry.queue_systems()
        if system.takes_over is not None
    ]


def _names(jobs: Iterable[Owner]) -> str:
    return names(job.meta.ref.name for job in jobs)


def _queue(gang: GangIndex) -> str:
    return f"queue {gang.queue}" if gang.queue else "its queue"


def _workers(gang: GangIndex) -> list[Owner]:
    """Return what makes pods: its unfinished Jobs, or the owner itself when it has none."""
    jobs = [job for job in gang.jobs.values() if job.finish is None]
    return jobs or [gang.owner]


def _pods_deleted(gang: GangIndex) -> str:
    workers = [job for job in _workers(gang) if asks_for_pods(job)]
    known = [job.active_pods for job in workers if job.active_pods is not None]
    pods = sum(known) if len(known) == len(workers) else None
    return pods_deleted(pods, gang.owner.grace_seconds)


def _pods_made(gang: GangIndex) -> str:
    number = sum(
        seats_of(job) for job in _workers(gang) if job.parallelism != 0 and not gang.holds_on(job)
    )
    return pods_made(number)


def _deactivated_by_kueue(entry: QueueEntry) -> str:
    """Return Kueue's own reason, such as `DeactivatedDueToRequeuingLimitExceeded`."""
    evicted = find_condition(entry.conditions, "Evicted")
    if evicted is None or not evicted.reason.startswith("DeactivatedDueTo"):
        return ""
    text = f": {evicted.message}" if evicted.message else ""
    return sentence(f"Kueue deactivated {label(entry.meta.ref)} itself ({evicted.reason}){text}")
