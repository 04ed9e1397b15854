"""How Kueue's owners are stopped and started: `spec.active` of their Workloads, and what it does meanwhile.

Kueue undoes a change of `spec.suspend` of an owner that it manages, in both directions (jobset-kueue.md §3.5).
"""

from __future__ import annotations

from gangboard.domain.action import ClusterLevers, Step, StepKind, Verb
from gangboard.domain.owner import Owner
from gangboard.domain.queue import GivenUp, QueueEntry
from gangboard.domain.text import label
from gangboard.facts.gang import Gang
from gangboard.plugins.lever import Lever, LeverState
from gangboard.policy.decision import (
    Decision,
    DesiredAction,
    PlanRefusal,
    generation_unknown,
    nothing_to_do,
    shown,
    watch,
)
from gangboard.policy.phrases import gang_stopped
from gangboard.policy.requests import FieldChange, json_patch, object_path
from gangboard.queues.kueue.deactivations import given_up

_WORKLOADS = "workloads.kueue.x-k8s.io"
_FIELD = ("spec", "active")


def _change(gang: Gang, _owner: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
    if not gang.queue.entries:
        return PlanRefusal(
            f"{gang.name} is in queue {gang.queue.queue} of Kueue, which undoes a change of "
            "spec.suspend, and no Workload of Kueue is known for it: it is not made yet, or may not "
            "be read."
        )
    active = desired.verb is Verb.RESUME
    for entry in gang.queue.entries if active else ():
        over = given_up(entry.meta, entry.conditions, active=entry.active)
        if over is not None:
            return _never_queued(entry, over)
    changed = tuple(entry for entry in gang.queue.entries if entry.active is not active)
    if not changed:
        return nothing_to_do(_state(gang, active=active))
    for entry in changed:
        refused = generation_unknown(entry.meta)
        if refused is not None:
            return refused
    return Decision(
        lambda: tuple(_patch(gang, entry, active=active) for entry in changed),
        before=_fields(changed, active=not active),
        after=_fields(changed, active=active),
        watch_seconds=watch(gang.owner.grace_seconds),
        reactions=_activated(gang) if active else _deactivated(gang),
    )


def _patch(gang: Gang, entry: QueueEntry, *, active: bool) -> Step:
    """Return a JSON patch of `spec.active` of a Workload.

    The value itself is not tested: `active` may be absent, which means true. The generation says it.
    """
    ref = entry.meta.ref
    version = gang.cluster.api_versions.get(_WORKLOADS) or entry.meta.api_version
    return Step(
        StepKind.PATCH,
        f"{'Activate' if active else 'Deactivate'} {label(ref)} of Kueue",
        ref,
        "PATCH",
        object_path(ref.group, version, ref.namespace, "workloads", ref.name),
        json_patch(entry.meta, [FieldChange(_FIELD, active)], {}),
    )


def _state(gang: Gang, *, active: bool) -> str:
    if not active:
        return f"{gang.name} is deactivated in Kueue already"
    if gang.queue.may_run and not gang.owner.suspended:
        return f"{gang.name} is not suspended"
    where = f" in queue {gang.queue.queue}" if gang.queue.queue else ""
    return f"{gang.name} is active in Kueue and waits{where}"


def _fields(entries: tuple[QueueEntry, ...], *, active: bool) -> dict[str, str]:
    return {f"{label(entry.meta.ref)} spec.active": shown(active) for entry in entries}


def _deactivated(gang: Gang) -> tuple[str, ...]:
    """Say what Kueue does with an owner whose Workload is deactivated."""
    if not gang.queue.may_run:
        return (
            f"Kueue takes {gang.name} out of {_queue(gang)} until it is resumed; it has no pods "
            "to lose.",
        )
    return (
        f"Kueue evicts {gang.name}, suspends it and does not queue it again until it is resumed; "
        f"its quota in {_queue(gang)} is released.",
        gang_stopped(gang),
    )


def _activated(gang: Gang) -> tuple[str, ...]:
    """Say what Kueue does with an owner whose Workload is activated again."""
    return (
        f"Kueue puts {gang.name} back into {_queue(gang)}: it may have to wait, and its pods may "
        "get other nodes.",
    )


def _queue(gang: Gang) -> str:
    return f"queue {gang.queue.queue}" if gang.queue.queue else "its queue"


def _never_queued(entry: QueueEntry, over: GivenUp) -> PlanRefusal:
    """Refuse to activate a Workload that Kueue gave up: it would stay out of the queue."""
    return PlanRefusal(
        f"Kueue deactivated {label(entry.meta.ref)} itself ({over.reason}) and does not queue it again when it is "
        "activated: remove the cause, then delete the Workload so that Kueue creates a new one."
    )


def _readiness(_levers: ClusterLevers, _kinds: str, shut: str) -> LeverState:
    what = "spec.active of the Workloads of an owner in a queue."
    return LeverState.ready(what, shut)


LEVER = Lever(
    key="kueue-active",
    position=50,
    label="Kueue's spec.active",
    title="Deactivate in Kueue",
    suspend=_change,
    resume=_change,
    readiness=_readiness,
    writes=_FIELD,
    done="Deactivated",
)


# One Job of an owner that Kueue manages


def job_reactions(gang: Gang) -> tuple[str, ...]:
    """Say what Kueue does when one Job of an owner that it manages is stopped."""
    if gang.queue.may_run:
        return ("Its quota in Kueue stays reserved.",)
    return (f"Kueue reserves quota for its pods all the same when it admits {gang.name}.",)


def job_warnings(gang: Gang, job: Owner, lever: Lever) -> tuple[str, ...]:
    """Warn of what Kueue does with a Job that is stopped, or with its whole owner."""
    if gang.queue.is_managed and lever.counts_as_ready:
        return ("Kueue goes on counting it as ready: waitForPodsReady does not notice it.",)
    if gang.queue.is_managed:
        return (
            # Observed: Kueue v0.19.2 has it on with 30m when nothing is configured, and counts the
            # pods of a held Job as not ready.
            f"Kueue evicts the whole of {gang.name} when pods are not ready for longer than its "
            f"waitForPodsReady allows (30 minutes by default since v0.19), and those of a "
            f"held Job are not.",
        )
    name = gang.queue_statuses[job.meta.ref.uid].queue
    queue = f"queue {name} of Kueue" if name else "a queue of Kueue"
    return (
        f"It is in {queue} by itself: while its Workload is admitted, Kueue will try to resume it.",
    )
