"""Preemptors and victims of a unit, by `Preempted` events and the unit's memory.

The event is about the victim, which is often gone already, and the API server keeps it for an hour or so. It names a
PodGroup as the preemptor (1.36, 1.37) or the pod on 1.35; on 1.37 it names a pod only by its uid (all observed).
The event of a deleted pod has the pod's name alone. So the naming rule of the Job controller decides which Job can
have created it. `run-w-0-0-0-x7k2p` belongs to Job `run-w-0-0`, not to every Job with such a prefix.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from gangboard.domain.event import Event
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.text import names
from gangboard.domain.verdict import Evidence
from gangboard.facts.attempts import attempt_start
from gangboard.facts.gang import Victim
from gangboard.facts.unit import Unit, is_bare_group

# API servers, kubelets and gangboard have clocks of their own.
_SKEW = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Preemption:
    """The last preemption of pods of a unit."""

    at: datetime
    by: tuple[ObjectRef, ...] = ()
    """Preemptor gangs, else the groups or pods that events name. Empty if unknown."""
    event: Event | None = None
    """Newest event of the preemption, if it has not expired."""


def last_preemption(unit: Unit) -> Preemption | None:
    """Return the last preemption of its pods in this attempt, unless it has recovered."""
    events, memory = _events(unit), unit.memory
    times = [event.last_seen for event in events if event.last_seen is not None]
    if memory.preempted_at is not None and _counts(unit, memory.preempted_at):
        times.append(memory.preempted_at)
    if not times:
        return None
    return Preemption(max(times), _takers(unit, events), events[0] if events else None)


def preemptors_text(taken: Preemption | None) -> str:
    """Return the preemptors, by name if known."""
    if taken is None or not taken.by:
        return "pods of higher priority"
    return names(_name(ref) for ref in taken.by)


def preemptors_evidence(taken: Preemption | None) -> tuple[Evidence, ...]:
    """Return the preemptors as evidence, with the references by which pages show or hide names."""
    if taken is None:
        return ()
    if taken.by:
        return tuple(Evidence(f"preempted by {ref.kind}", _name(ref), ref) for ref in taken.by)
    event = taken.event
    return (Evidence("Preempted", event.note, event.regarding),) if event is not None else ()


def _name(ref: ObjectRef) -> str:
    return f"{ref.namespace}/{ref.name}"


def victims_of(unit: Unit) -> tuple[Victim, ...]:
    """Return the existing pods that leave for the unit's own pods and group, by name."""
    own = {pod.meta.ref.uid for pod in unit.current}
    if unit.group is not None:
        own.add(unit.group.meta.ref.uid)
    victims = [victim for victim in unit.gang.victims if victim.taker in own]
    return tuple(sorted(victims, key=lambda victim: (victim.pod.namespace, victim.pod.name)))


def never_preempts(unit: Unit) -> ObjectRef | None:
    """Return the group or pod whose `preemptionPolicy` is Never, if no pod is removed for the waiting ones.

    A group without a policy never preempts if one of its pods does not
    (resolvePreemptionPolicy in scheduler/framework/preemption/types.go of 1.37.2).
    """
    if unit.group is not None and not unit.group.preempts:
        return unit.group.meta.ref
    non_preempting = [pod for pod in unit.unplaced if not pod.preempts]
    if not non_preempting or (unit.quorum is None and len(non_preempting) < len(unit.unplaced)):
        return None
    return min(non_preempting, key=lambda pod: pod.meta.ref.name).meta.ref


def has_lost_all_pods(unit: Unit) -> bool:
    """Return whether a bare group has lost all its pods, which no controller re-creates."""
    if not is_bare_group(unit) or unit.pods or unit.foreign_pods:
        return False
    return unit.memory.whole_at is not None or last_preemption(unit) is not None


def _events(unit: Unit) -> tuple[Event, ...]:
    """Return the events of preemptions that count, newest first."""
    preempted = [event for event in unit.events if event.reason == "Preempted"]
    if not preempted:
        return ()
    alive = {pod.meta.ref.uid for pod in unit.current}
    events = [
        event
        for event in preempted
        if event.regarding.kind == "Pod"
        and event.regarding.uid not in alive
        and event.last_seen is not None
        and _counts(unit, event.last_seen)
        and _is_of(unit, event)
    ]
    return tuple(sorted(events, key=lambda event: event.last_seen or unit.now, reverse=True))


def _counts(unit: Unit, time: datetime) -> bool:
    """Return whether an event of that time belongs to this attempt, and the unit was not whole again after it."""
    start, memory = attempt_start(unit), unit.memory
    return (
        (start is None or time >= start - _SKEW)
        and (memory.whole_at is None or time >= memory.whole_at - _SKEW)
        and (memory.recovered_from is None or time > memory.recovered_from)
    )


def _is_of(unit: Unit, event: Event) -> bool:
    """Return whether the pod, which may be gone, was a member of this unit.

    The name of a deleted pod decides if no other Job of the gang could have made it.
    """
    name = event.regarding.name
    if any(pod.meta.ref.uid == event.regarding.uid for pod in unit.pods):
        return True
    if len(unit.gang.jobs) < 2:
        return True
    own = {job.meta.ref.uid for job in unit.jobs if may_be_pod_of(job, name)}
    return bool(own) and not any(
        job.meta.ref.uid not in own and may_be_pod_of(job, name) for job in unit.gang.jobs
    )


def _takers(unit: Unit, events: tuple[Event, ...]) -> tuple[ObjectRef, ...]:
    """Return the gangs of the preemptors, or the objects that the events name."""
    named = [event.related for event in events if event.related is not None]
    gangs = [unit.gang.preemptors.get(ref.uid) for ref in named]
    uids = {ref.uid for ref in named}
    remembered = [ref for ref in unit.memory.preempted_by if ref.uid not in uids]
    known = dict.fromkeys([*(ref for ref in gangs if ref is not None), *remembered])
    return tuple(known or dict.fromkeys(ref for ref in named if ref.name))


# pkg/controller/job/indexed_job_utils.go (podGenerateNameWithIndex), pkg/controller/controller_utils.go
# (getPodsPrefix) and k8s.io/apiserver/pkg/storage/names (SimpleNameGenerator), Kubernetes 1.37.0.
_LONGEST_BASE, _GENERATED = 58, 5
_ALPHABET = frozenset("bcdfghjklmnpqrstvwxz2456789")


def may_be_pod_of(job: Owner, name: str) -> bool:
    """Return whether the Job controller can have given this name to a pod of the Job.

    The name is the Job's name, with `-` and the completion index in an Indexed Job, then `-` and five characters. All
    before these is cut to 58 characters.
    """
    base, generated, own = name[:-_GENERATED], name[-_GENERATED:], job.meta.ref.name
    if not base or not _ALPHABET.issuperset(generated):
        return False
    if not job.indexed:
        return base == f"{own}-"[:_LONGEST_BASE]
    index = base.removesuffix("-").rpartition("-")[2]
    ending = f"-{index}-"
    return _is_index(job, index) and base == f"{own[: _LONGEST_BASE - len(ending)]}{ending}"


def _is_index(job: Owner, text: str) -> bool:
    """Return whether the text is one of the Job's completion indexes, as names have it."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10) or text != str(int(text)):
        return False
    return job.completions is None or int(text) < job.completions
