"""What comes of suspending or resuming an owner as a whole, beside what its lever and its kind say."""

from __future__ import annotations

from collections.abc import Iterable

from gangboard.domain.action import Verb
from gangboard.domain.owner import Owner
from gangboard.domain.text import is_or_are, names
from gangboard.facts.gang_index import GangIndex, is_paused
from gangboard.plugins import registry
from gangboard.policy.indexing import kind_of


def of_maker(gang: GangIndex, verb: Verb) -> tuple[str, ...]:
    """Say what the maker of such gangs does when this one is suspended or resumed."""
    maker = gang.context.maker
    if maker is None:
        return ()
    kind = kind_of(maker)
    return (kind.reactions(maker, gang.owner, verb) or ()) if kind is not None else ()


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
            f"{_names(queued)} {is_or_are(len(queued))} queued by {gang.queue_system} on "
            f"{'its' if len(queued) == 1 else 'their'} own: {gang.queue_system} and {gang.name} may "
            "undo each other."
        )
    if gang.is_nobodys:
        found += _taken_over(gang)
    return tuple(found)


def _taken_over(gang: GangIndex) -> list[str]:
    """Say what the queue system would do with it that is not there now."""
    suspended, name = not gang.owner.suspended, gang.name
    return [
        system.takes_over(name, gang.queue, suspended)
        for system in registry.admission_systems()
        if system.takes_over is not None
    ]


def _names(jobs: Iterable[Owner]) -> str:
    return names(job.meta.ref.name for job in jobs)
