"""`controller-conflict`: one suspends the owner, what makes its Jobs, or a child Job, another resumes it, and neither stops.

Counted are changes of `spec.suspend` that were watched, by the field managers that made them. It
needs five in turn, so that each side has turned the other back twice: a JobSet that resumes a child
Job after somebody tried once, or twice, is not in conflict with anybody. One manager that does both
(a person with kubectl, a queue that admits and evicts) is none either, and a resume that a Hold
turns back changes nothing, so it never counts.

While it lasts the Job changes several times a minute between suspended and starting. The cause
stands still, so it is told before both, until it has been quiet for longer than its own pauses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner, SuspendChange
from gangboard.domain.queue_status import QueueStatus
from gangboard.domain.text import count, label, names, plural, shorten
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import gang_finding
from gangboard.facts.gang import Gang
from gangboard.plugins.rule import GangRule

_LEAST = 5
"""Changes in turn: with these each side has undone the other twice."""
_PAUSE = timedelta(seconds=90)
"""The longest time between two changes of one conflict: automation that runs every minute is in."""
_LEAST_QUIET = timedelta(seconds=20)
_PAUSES_OF_QUIET = 3
"""It is over when it was quiet for so many times its longest pause: 20 s at least, 90 s at most."""
_SHOWN = 10
"""Objects of which the evidence is shown."""


@dataclass(frozen=True, slots=True)
class _Conflict:
    """What goes on about one object."""

    subject: Owner
    changes: tuple[SuspendChange, ...]
    suspending: tuple[str, ...]
    resuming: tuple[str, ...]

    @property
    def over_at(self) -> datetime:
        """When it counts as over, if nothing changes any more."""
        times = [change.at for change in self.changes]
        longest = max(after - at for at, after in pairwise(times))
        return times[-1] + min(_PAUSE, max(_LEAST_QUIET, _PAUSES_OF_QUIET * longest))


def find(gang: Gang) -> Finding | None:
    """Return a finding when two managers go on to undo each other, at the owner or a child Job."""
    if gang.owner.finish is not None or not gang.suspensions:
        return None
    found = [one for one in _conflicts(gang) if gang.now < one.over_at]
    if not found:
        return None
    alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[_Conflict]] = {}
    for one in found:
        alike.setdefault((one.suspending, one.resuming), []).append(one)
    finding = gang_finding(
        RULE,
        Health.BLOCKED,
        " ".join(map(_sentence, alike.values())),
        advice=tuple(_advice(gang, conflicts[0]) for conflicts in alike.values()),
        evidence=tuple(evidence for one in found[:_SHOWN] for evidence in _evidence(one)),
    )
    return replace(
        finding,
        recheck_at=min(one.over_at for one in found),
        since=min(one.changes[0].at for one in found),
    )


def _conflicts(gang: Gang) -> Iterator[_Conflict]:
    """Yield what goes on about the owner and all that it made, in their order, also what is over."""
    for subject in {one.meta.ref.uid: one for one in (*gang.makers, *gang.jobs)}.values():
        if subject.finish is None and subject.meta.deleting_since is None:
            conflict = _read(subject, gang.suspensions.get(subject.meta.ref.uid, ()))
            if conflict is not None:
                yield conflict


def _read(subject: Owner, watched: Sequence[SuspendChange]) -> _Conflict | None:
    """Return the conflict at the end of what was watched of an object, over or not.

    It goes back as far as nobody stands on both sides and no pause is too long. Who is not known
    could be anybody, so it ends it too.
    """
    sides: dict[bool, dict[str, None]] = {True: {}, False: {}}
    taken: list[SuspendChange] = []
    for change in reversed(watched):
        if not change.manager or change.manager in sides[not change.suspended]:
            break
        if taken and taken[-1].at - change.at > _PAUSE:
            break
        sides[change.suspended].setdefault(change.manager)
        taken.append(change)
    if len(taken) < _LEAST:
        return None
    suspending, resuming = (tuple(sorted(sides[side])) for side in (True, False))
    return _Conflict(subject, tuple(reversed(taken)), suspending, resuming)


def _sentence(conflicts: list[_Conflict]) -> str:
    """Return the sentence about the objects of the same two sides."""
    first = conflicts[0]
    many = len(conflicts) > 1
    listed = names(one.subject.meta.ref.name for one in conflicts)
    what = f"{first.subject.meta.ref.kind}{'s' if many else ''} {listed}"
    changes = [change for one in conflicts for change in one.changes]
    took = max(change.at for change in changes) - min(change.at for change in changes)
    return (
        f"{_who(first.suspending)} {plural(len(first.suspending), 'suspend')} {what} and "
        f"{_who(first.resuming)} {plural(len(first.resuming), 'resume')} {'them' if many else 'it'}: "
        f"{len(changes)} changes {_within(took)}."
    )


def _within(took: timedelta) -> str:
    """Return `within a second`, `in 40 s`, `in 6 min`: the times are told to the second."""
    seconds = round(took.total_seconds())
    if seconds < 1:
        return "within a second"
    return f"in {seconds} s" if seconds < 120 else f"in {seconds // 60} min"


def _who(managers: Iterable[str]) -> str:
    """Return the names of field managers: text that anybody can choose."""
    return names(map(shorten, managers))


def _advice(gang: Gang, conflict: _Conflict) -> str:
    """Return what would end it."""
    suspending, resuming = _who(conflict.suspending), _who(conflict.resuming)
    subject, above = conflict.subject, conflict.subject.meta.controller
    what = f"{subject.meta.ref.kind} {subject.meta.ref.name}"
    if subject in gang.middle:
        name = label(gang.owner.meta.ref)
        instead = "" if gang.queue.is_managed else f", and suspend {name} itself"
        return f"Stop {suspending}{instead}: {resuming} keeps {what} as {name} is."
    queue = gang.queue if gang.queue.is_managed else gang.queue_statuses[subject.meta.ref.uid]
    managers = {*conflict.suspending, *conflict.resuming}
    system = next((one for one in gang.admission.values() if one.manager in managers), None)
    if system is not None and queue.is_managed:
        other = resuming if system.manager in conflict.suspending else suspending
        return (
            f"Stop {other}: {what} belongs to {_queue(queue)}, which decides when it "
            f"runs. {system.suspend_instead}"
        )
    if above is None or not gang.traits_of(above).holds_jobs:
        return f"Let only one of them set spec.suspend of {what}: stop {suspending} or {resuming}."
    if gang.owner.suspended:
        return (
            f"Stop {resuming}, or resume {gang.owner.meta.ref.kind} {gang.owner.meta.ref.name}: "
            "while it is suspended, so are its Jobs."
        )
    return (
        f"If {what} should run, stop {suspending}. If it should stay suspended, hold it: "
        f"a Hold turns each resume by {resuming} back."
    )


def _queue(state: QueueStatus) -> str:
    return f"queue {state.queue}" if state.queue else "a queue"


def _evidence(conflict: _Conflict) -> Iterator[Evidence]:
    ref = conflict.subject.meta.ref
    yield from _by_each(conflict.changes, ref, "suspended", suspended=True)
    yield from _by_each(conflict.changes, ref, "resumed", suspended=False)


def _by_each(
    changes: Sequence[SuspendChange], ref: ObjectRef, label: str, *, suspended: bool
) -> Iterator[Evidence]:
    """Yield how often each manager did it, and when last, in the order of their names."""
    own = [change for change in changes if change.suspended == suspended]
    for manager in sorted({change.manager for change in own}):
        times = [change.at for change in own if change.manager == manager]
        last = f"{max(times):%Y-%m-%d %H:%M:%S} UTC"
        yield Evidence(
            label, f"{count(len(times), 'time')} by {shorten(manager)}, last at {last}", ref
        )


RULE = GangRule("controller-conflict", Stage.ADMISSION, "Two controllers in conflict", 32, find)
