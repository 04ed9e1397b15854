"""What comes of suspending or resuming an owner as a whole, beside what its lever and its kind say."""

from __future__ import annotations

from collections.abc import Iterable

from gangboard.domain.action import Verb
from gangboard.domain.owner import Owner
from gangboard.domain.queue_status import QueueStanding
from gangboard.domain.text import is_or_are, names
from gangboard.facts.gang import Gang, is_paused
from gangboard.plugins import registry
from gangboard.policy.registry_lookups import kind_of


def of_maker(gang: Gang, verb: Verb) -> tuple[str, ...]:
    """Say what the maker of such gangs does when this one is suspended or resumed."""
    maker = gang.maker
    if maker is None:
        return ()
    kind = kind_of(maker)
    found = kind.reactions if kind is not None else None
    return found(maker, gang.owner, verb) if found is not None else ()


def warnings(gang: Gang) -> tuple[str, ...]:
    """Warn of Jobs that do not follow their owner."""
    found = []
    held = _names(job for job in gang.child_jobs.values() if gang.holds_on(job))
    if held:
        found.append(f"Held Jobs stay suspended when {gang.name} is resumed: {held}.")
    paused = _names(job for job in gang.child_jobs.values() if is_paused(job))
    if paused:
        found.append(f"Jobs paused by parallelism 0 get no pods when it is resumed: {paused}.")
    queued = () if gang.queue.is_managed else gang.queued_jobs.values()
    if queued:
        found.append(
            f"{_names(queued)} {is_or_are(len(queued))} queued by {gang.queue_system} on "
            f"{'its' if len(queued) == 1 else 'their'} own: {gang.queue_system} and {gang.name} may "
            "undo each other."
        )
    if gang.queue.standing is QueueStanding.NOBODY:
        found += _taken_over(gang)
    return tuple(found)


def _taken_over(gang: Gang) -> list[str]:
    """Say what the queue system would do with it that is not there now."""
    suspended, name = not gang.owner.suspended, gang.name
    return [
        system.takes_over(name, gang.queue.queue, suspended)
        for system in registry.admission_systems()
        if system.takes_over is not None
    ]


def _names(jobs: Iterable[Owner]) -> str:
    return names(job.meta.ref.name for job in jobs)
