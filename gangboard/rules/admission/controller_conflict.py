"""`controller-conflict`: one manager suspends an object of the gang and another one resumes it, again and again.

The object is the owner, an object between the owner and its Jobs, or a child Job. The rule reads the observed
changes of `spec.suspend` with the field manager of each. Five alternating changes are needed, so that each side
has reverted the other twice. A JobSet that resumes a child Job after one or two suspends by a person is
therefore no conflict.

Two cases do not count:

- One manager makes both changes: a person with kubectl, or a queue that admits and evicts.
- A Hold rejects the resume, which then changes nothing.

During a conflict the Job alternates between suspended and starting several times a minute. This rule comes
before the rules for both, so the cause is shown all the time. The conflict ends after a quiet period that is
longer than its own pauses.
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

_MIN_CHANGES = 5
"""With five alternating changes, each side has reverted the other twice."""
_MAX_PAUSE = timedelta(seconds=90)
"""The longest time between two changes of one conflict. It includes automation that runs every minute."""
_MIN_QUIET = timedelta(seconds=20)
_QUIET_FACTOR = 3
"""The quiet period that ends a conflict, in multiples of its longest pause: at least 20 s, at most 90 s."""
_MAX_OBJECTS = 10
"""The number of objects with evidence."""


@dataclass(frozen=True, slots=True)
class _Conflict:
    """A conflict about one object."""

    subject: Owner
    changes: tuple[SuspendChange, ...]
    suspending: tuple[str, ...]
    resuming: tuple[str, ...]

    @property
    def over_at(self) -> datetime:
        """The time at which the conflict counts as over if no change follows."""
        times = [change.at for change in self.changes]
        longest = max(later - earlier for earlier, later in pairwise(times))
        return times[-1] + min(_MAX_PAUSE, max(_MIN_QUIET, _QUIET_FACTOR * longest))


def find(gang: Gang) -> Finding | None:
    """Return a finding while two managers keep reverting each other at the owner or a child Job."""
    if gang.owner.finish is not None or not gang.suspensions:
        return None
    conflicts = [conflict for conflict in _conflicts(gang) if gang.now < conflict.over_at]
    if not conflicts:
        return None
    by_sides: dict[tuple[tuple[str, ...], tuple[str, ...]], list[_Conflict]] = {}
    for conflict in conflicts:
        by_sides.setdefault((conflict.suspending, conflict.resuming), []).append(conflict)
    finding = gang_finding(
        RULE,
        Health.BLOCKED,
        " ".join(map(_sentence, by_sides.values())),
        advice=tuple(_advice(gang, same_sides[0]) for same_sides in by_sides.values()),
        evidence=tuple(
            item for conflict in conflicts[:_MAX_OBJECTS] for item in _evidence(conflict)
        ),
    )
    return replace(
        finding,
        recheck_at=min(conflict.over_at for conflict in conflicts),
        since=min(conflict.changes[0].at for conflict in conflicts),
    )


def _conflicts(gang: Gang) -> Iterator[_Conflict]:
    """Yield the conflicts about the owner and the objects that it made, in their order. Some may be over."""
    for subject in {owner.meta.ref.uid: owner for owner in (*gang.makers, *gang.jobs)}.values():
        if subject.finish is None and subject.meta.deleting_since is None:
            conflict = _last_conflict(subject, gang.suspensions.get(subject.meta.ref.uid, ()))
            if conflict is not None:
                yield conflict


def _last_conflict(subject: Owner, observed: Sequence[SuspendChange]) -> _Conflict | None:
    """Return the conflict that the last observed changes of an object form, over or not.

    It starts after the last change at which a manager stood on both sides or a pause was too long. A change by
    an unknown manager also ends it, because that can be either side.
    """
    sides: dict[bool, dict[str, None]] = {True: {}, False: {}}
    alternating: list[SuspendChange] = []
    for change in reversed(observed):
        if not change.manager or change.manager in sides[not change.suspended]:
            break
        if alternating and alternating[-1].at - change.at > _MAX_PAUSE:
            break
        sides[change.suspended].setdefault(change.manager)
        alternating.append(change)
    if len(alternating) < _MIN_CHANGES:
        return None
    suspending, resuming = (tuple(sorted(sides[side])) for side in (True, False))
    return _Conflict(subject, tuple(reversed(alternating)), suspending, resuming)


def _sentence(conflicts: list[_Conflict]) -> str:
    """Return the sentence about objects with the same two sides."""
    first = conflicts[0]
    is_plural = len(conflicts) > 1
    listed = names(conflict.subject.meta.ref.name for conflict in conflicts)
    subjects = f"{first.subject.meta.ref.kind}{'s' if is_plural else ''} {listed}"
    changes = [change for conflict in conflicts for change in conflict.changes]
    duration = max(change.at for change in changes) - min(change.at for change in changes)
    return (
        f"{_manager_names(first.suspending)} {plural(len(first.suspending), 'suspend')} {subjects} and "
        f"{_manager_names(first.resuming)} {plural(len(first.resuming), 'resume')} {'them' if is_plural else 'it'}: "
        f"{len(changes)} changes {_duration_text(duration)}."
    )


def _duration_text(duration: timedelta) -> str:
    """Return `within a second`, `in 40 s` or `in 6 min`. The observed times have whole seconds."""
    seconds = round(duration.total_seconds())
    if seconds < 1:
        return "within a second"
    return f"in {seconds} s" if seconds < 120 else f"in {seconds // 60} min"


def _manager_names(managers: Iterable[str]) -> str:
    """Return the names of field managers, shortened because a client can choose any text."""
    return names(map(shorten, managers))


def _advice(gang: Gang, conflict: _Conflict) -> str:
    """Return the step that would end the conflict."""
    suspending, resuming = _manager_names(conflict.suspending), _manager_names(conflict.resuming)
    subject, controller = conflict.subject, conflict.subject.meta.controller
    target = f"{subject.meta.ref.kind} {subject.meta.ref.name}"
    if subject in gang.middle:
        name = label(gang.owner.meta.ref)
        instead = "" if gang.queue.is_managed else f", and suspend {name} itself"
        return f"Stop {suspending}{instead}: {resuming} keeps {target} as {name} is."
    queue = gang.queue if gang.queue.is_managed else gang.queue_statuses[subject.meta.ref.uid]
    managers = {*conflict.suspending, *conflict.resuming}
    system = next(
        (traits for traits in gang.admission.values() if traits.manager in managers), None
    )
    if system is not None and queue.is_managed:
        opponent = resuming if system.manager in conflict.suspending else suspending
        return (
            f"Stop {opponent}: {target} belongs to {_queue_text(queue)}, which decides when it "
            f"runs. {system.suspend_instead}"
        )
    if controller is None or not gang.traits_of(controller).holds_jobs:
        field = gang.traits_of(subject.meta.ref).suspend_field or "spec.suspend"
        return f"Let only one of them set {field} of {target}: stop {suspending} or {resuming}."
    if gang.owner.suspended:
        return (
            f"Stop {resuming}, or resume {gang.owner.meta.ref.kind} {gang.owner.meta.ref.name}: "
            "while it is suspended, so are its Jobs."
        )
    return (
        f"If {target} should run, stop {suspending}. If it should stay suspended, hold it: "
        f"a Hold turns each resume by {resuming} back."
    )


def _queue_text(status: QueueStatus) -> str:
    return f"queue {status.queue}" if status.queue else "a queue"


def _evidence(conflict: _Conflict) -> Iterator[Evidence]:
    ref = conflict.subject.meta.ref
    yield from _change_counts(conflict.changes, ref, "suspended", suspended=True)
    yield from _change_counts(conflict.changes, ref, "resumed", suspended=False)


def _change_counts(
    changes: Sequence[SuspendChange], ref: ObjectRef, label: str, *, suspended: bool
) -> Iterator[Evidence]:
    """Yield the number of changes by each manager and the time of its last one, by manager name."""
    own = [change for change in changes if change.suspended == suspended]
    for manager in sorted({change.manager for change in own}):
        times = [change.at for change in own if change.manager == manager]
        last = f"{max(times):%Y-%m-%d %H:%M:%S} UTC"
        yield Evidence(
            label, f"{count(len(times), 'time')} by {shorten(manager)}, last at {last}", ref
        )


RULE = GangRule("controller-conflict", Stage.ADMISSION, "Two controllers in conflict", 32, find)
