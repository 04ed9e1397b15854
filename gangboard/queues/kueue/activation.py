"""`spec.active` of Workloads: how owners in a queue of Kueue are stopped and started.

Kueue undoes a change of `spec.suspend` of an owner that it manages, in both directions (jobset-kueue.md §3.5).

Kueue also deactivates Workloads by itself. After an eviction with the reason `Deactivated`, by a person, it queues the
Workload again on `spec.active: true` (workload_controller.go of v0.19.2, observed). After `DeactivatedDueTo<Cause>` the
condition `Requeued=False` stays, and Kueue only queues a new Workload.
"""

from __future__ import annotations

from gangboard.domain.action import Step, StepKind, Verb
from gangboard.domain.objects import Condition, Meta, find_condition
from gangboard.domain.owner import Owner
from gangboard.domain.queue import FinalRejection, QueueEntry
from gangboard.domain.shell import command
from gangboard.domain.text import label, quote
from gangboard.facts.gang import Gang
from gangboard.plugins.lever import Lever
from gangboard.policy.decision import (
    Decision,
    DesiredAction,
    PlanRefusal,
    generation_unknown,
    nothing_to_do,
    watch_seconds,
    yaml_value,
)
from gangboard.policy.exclusions import (
    Exclusion,
    exclude_step,
    exclusion_sentences,
    read_exclusion,
)
from gangboard.policy.phrases import gang_stopped
from gangboard.policy.registry_lookups import described_kind
from gangboard.policy.requests import FieldChange, json_patch, object_path
from gangboard.queues.kueue.admission_checks import checks_text

_WORKLOADS = "workloads.kueue.x-k8s.io"
ACTIVE_FIELD = ("spec", "active")
"""Path of the field that takes a Workload out of its queue."""
_REASON_PREFIX = "DeactivatedDueTo"
_MESSAGE_PREFIX = "The workload is deactivated due to "
_REMEDIES = {
    "MaximumExecutionTimeExceeded": "Raise the label kueue.x-k8s.io/max-exec-time-seconds of its owner",
    "RequeuingLimitExceeded": "Remove what kept its pods from being ready in time",
    "AdmissionCheck": "Remove the cause for which the check refused it",
}
"""Cause → remedy."""


class WorkloadActive(Lever):
    """`spec.active` of the Workloads of an owner."""

    key = "kueue-active"
    position = 50
    label = "Kueue's spec.active"
    title = "Deactivate in Kueue"
    description = "spec.active of the Workloads of an owner in a queue."
    done = "Deactivated"
    writes = ACTIVE_FIELD

    def decide(self, gang: Gang, subject: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
        """Return a patch of each Workload of the owner."""
        if not gang.queue.entries:
            field = ".".join(described_kind(subject).suspend_field)
            return PlanRefusal(
                f"{gang.name} is in queue {gang.queue.queue} of Kueue, which undoes a change of "
                f"{field}, and no Workload of Kueue is known for it: it does not exist yet, or may not "
                "be read."
            )
        active = desired.verb is Verb.RESUME
        for entry in gang.queue.entries if active else ():
            over = given_up(entry.meta, entry.conditions, active=entry.active)
            if over is not None:
                return _refuse_activation(entry, over)
        changed = tuple(entry for entry in gang.queue.entries if entry.active is not active)
        if not changed:
            return nothing_to_do(_already_text(gang, active=active))
        for entry in changed:
            refused = generation_unknown(entry.meta)
            if refused is not None:
                return refused
        exclusion = read_exclusion(subject.exclusion) if active else None
        return Decision(
            lambda: (
                *_removals(gang, subject, desired, exclusion),
                *(_patch(gang, entry, active=active) for entry in changed),
            ),
            before=_field_values(changed, active=not active),
            after=_field_values(changed, active=active),
            watch_seconds=watch_seconds(gang.owner.grace_seconds),
            reactions=(*_activation_reactions(gang), *exclusion_sentences(exclusion))
            if active
            else _deactivation_reactions(gang),
        )


def _removals(
    gang: Gang, job: Owner, desired: DesiredAction, exclusion: Exclusion | None
) -> tuple[Step, ...]:
    """Return the step that removes the exclusion of an earlier relocation of a Job."""
    return () if exclusion is None else (exclude_step(gang, job, desired.action, None),)


def _patch(gang: Gang, entry: QueueEntry, *, active: bool) -> Step:
    """Return a JSON patch of `spec.active` of a Workload.

    The generation is tested instead of the value, because `active` may be absent, which means true.
    """
    ref = entry.meta.ref
    return Step(
        StepKind.PATCH,
        f"{'Activate' if active else 'Deactivate'} {label(ref)} of Kueue",
        ref,
        "PATCH",
        entry_path(gang, entry),
        json_patch(entry.meta, [FieldChange(ACTIVE_FIELD, active)], {}),
    )


def entry_path(gang: Gang, entry: QueueEntry) -> str:
    """Return the path of a Workload in the served version."""
    ref = entry.meta.ref
    version = gang.cluster.api_versions.get(_WORKLOADS) or entry.meta.api_version
    return object_path(ref.group, version, ref.namespace, "workloads", ref.name)


def _already_text(gang: Gang, *, active: bool) -> str:
    if not active:
        return f"{gang.name} is deactivated in Kueue already"
    if gang.queue.may_run and not gang.owner.suspended:
        return f"{gang.name} is not suspended"
    place = f" in queue {gang.queue.queue}" if gang.queue.queue else ""
    return f"{gang.name} is active in Kueue and waits{place}"


def _field_values(entries: tuple[QueueEntry, ...], *, active: bool) -> dict[str, str]:
    return {f"{label(entry.meta.ref)} spec.active": yaml_value(active) for entry in entries}


def _deactivation_reactions(gang: Gang) -> tuple[str, ...]:
    """Return the reactions of Kueue if the Workload of an owner is deactivated."""
    if not gang.queue.may_run:
        return (
            f"Kueue takes {gang.name} out of {queue_text(gang)} until it is resumed; it has no pods "
            "to lose.",
        )
    return (
        f"Kueue evicts {gang.name}, suspends it and does not queue it again until it is resumed; "
        f"its quota in {queue_text(gang)} is released.",
        gang_stopped(gang),
    )


def _activation_reactions(gang: Gang) -> tuple[str, ...]:
    """Return the reactions of Kueue if the Workload of an owner is activated again."""
    return (
        f"Kueue puts {gang.name} back into {queue_text(gang)}: it may have to wait, and its pods may "
        "get other nodes.",
    )


def queue_text(gang: Gang) -> str:
    """Return the queue of a gang for sentences."""
    return f"queue {gang.queue.queue}" if gang.queue.queue else "its queue"


def _refuse_activation(entry: QueueEntry, over: FinalRejection) -> PlanRefusal:
    """Return the refusal to activate a Workload that Kueue gave up, because it would stay out of the queue."""
    return PlanRefusal(
        f"Kueue deactivated {label(entry.meta.ref)} itself ({over.reason}) and does not queue it again when it is "
        "activated: remove the cause, then delete the Workload so that Kueue creates a new one."
    )


# Workloads that Kueue deactivated


def given_up(
    meta: Meta, conditions: tuple[Condition, ...], *, active: bool
) -> FinalRejection | None:
    """Return why Kueue never queues this Workload again. None: `spec.active` decides."""
    evicted = find_condition(conditions, "Evicted")
    if evicted is None or not evicted.is_true or not evicted.reason.startswith(_REASON_PREFIX):
        return None
    requeued = find_condition(conditions, "Requeued")
    if active and (requeued is None or not requeued.is_false):
        return None
    ref = meta.ref
    remedy = _REMEDIES.get(evicted.reason.removeprefix(_REASON_PREFIX), "Remove the cause")
    return FinalRejection(
        reason=evicted.reason,
        cause=_cause_text(evicted),
        advice=f"{remedy}, then delete {label(ref)} so that Kueue creates a new one.",
        command=command(
            "kubectl delete workloads.kueue.x-k8s.io {} --namespace={}", ref.name, ref.namespace
        ),
    )


def _cause_text(evicted: Condition) -> str:
    text = checks_text(evicted.message, "refused it", "refused it")
    if text:
        return text
    return f"“{quote((evicted.message or evicted.reason).removeprefix(_MESSAGE_PREFIX))}”"
