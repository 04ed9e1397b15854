"""`kueue-exclusion`: a Job with a Workload of its own leaves a place while its Workload is inactive.

Kueue resumes a suspended Job of an admitted Workload within 13 ms (relocate.md §6). So the Workload is deactivated first,
and activated again once the template excludes the place. The quota is released in between.

Kueue v0.19.2 keeps the exclusion. It restores labels, annotations, node selectors, tolerations and gates of the template
(pkg/podset), and it keeps the Workload, because it compares only counts, containers and tolerations
(pkg/util/equality). The pod set of the Workload therefore lacks the exclusion. Kueue places a Workload by topology from
that pod set. It chose the excluded node again, and the pods stayed pending (2 of 2 on 1.37, unconstrained and preferred).
So `Kueue.relocation_refusal` refuses such Jobs.
"""

from __future__ import annotations

from gangboard.domain.action import Step, StepKind
from gangboard.domain.hold import ACTION_ANNOTATION
from gangboard.domain.objects import find_condition
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry
from gangboard.domain.text import count, label
from gangboard.facts.gang import Gang
from gangboard.plugins.lever import Lever
from gangboard.policy.decision import (
    Decision,
    DesiredAction,
    PlanRefusal,
    generation_unknown,
    watch_seconds,
)
from gangboard.policy.exclusions import describe_exclusions, exclude_step
from gangboard.policy.requests import FieldChange, json_patch, restart_patch, wait_stopped
from gangboard.queues.kueue.activation import ACTIVE_FIELD, entry_path, queue_text


class QueuedExclusion(Lever):
    """The exclusion in the template of a Job, while `spec.active` of its Workload is false."""

    key = "kueue-exclusion"
    position = 55
    label = "Kueue's spec.active and node exclusion"
    title = "Relocate a Job in a queue of Kueue"
    description = (
        "spec.active of the Workload of a Job, and the node affinity of the Job's template."
    )
    done = "Relocated"
    applied = "Requeued"
    state = "away"
    writes = ACTIVE_FIELD

    def decide(self, gang: Gang, subject: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
        """Return the deactivation of the Workload, the exclusion, and the activation."""
        entry = _only_entry(gang)
        if isinstance(entry, PlanRefusal):
            return entry
        refused = generation_unknown(entry.meta)
        if refused is not None:
            return refused
        before, after = describe_exclusions(subject, desired.exclusion)
        return Decision(
            lambda: _steps(gang, subject, entry, desired),
            before={"exclusion": before},
            after={"exclusion": after},
            watch_seconds=watch_seconds(subject.grace_seconds),
            reactions=(
                f"Kueue evicts {gang.name} and suspends it; when its pods are gone, it goes back into "
                f"{queue_text(gang)}, and starts when Kueue admits it.",
            ),
            warnings=(_quota_warning(gang, desired),),
        )


def _only_entry(gang: Gang) -> QueueEntry | PlanRefusal:
    """Return the admitted Workload of a Job, or refuse a Job with none, with several, or that Kueue is stopping."""
    entries = gang.queue.entries
    if not entries:
        return PlanRefusal(
            f"{gang.name} is in queue {gang.queue.queue} of Kueue, and no Workload of Kueue is known for it: it "
            "does not exist yet, or may not be read."
        )
    if len(entries) > 1:
        return PlanRefusal(
            f"{gang.name} has {count(len(entries), 'Workload')} of Kueue, because it is changing its size: try "
            "again when it has one."
        )
    (entry,) = entries
    evicted = find_condition(entry.conditions, "Evicted")
    is_evicted = evicted is not None and evicted.is_true
    if not entry.active or not entry.admitted or is_evicted:
        # An activation at the end would undo the deactivation of another client.
        return PlanRefusal(
            f"{label(entry.meta.ref)} is not admitted now, so Kueue suspends {gang.name}: it has no pods to move."
        )
    return entry


def _quota_warning(gang: Gang, desired: DesiredAction) -> str:
    """Say that the quota is released, and how many other Workloads may take it."""
    released = f"Its quota in {queue_text(gang)} is released while it is away"
    rivals = desired.surroundings.queue_rivals if desired.surroundings is not None else None
    if rivals is None:
        return f"{released}: Kueue may admit others first, and then it waits."
    if not rivals:
        return f"{released}: no other Workload waits for that quota now."
    return f"{released}: {count(rivals, 'waiting Workload')} could be admitted before it."


def _steps(gang: Gang, job: Owner, entry: QueueEntry, desired: DesiredAction) -> tuple[Step, ...]:
    ref, path = entry.meta.ref, entry_path(gang, entry)
    name = f"{label(ref)} of Kueue"
    mark = {ACTION_ANNOTATION: desired.action}
    off = json_patch(entry.meta, [FieldChange(ACTIVE_FIELD, False)], mark)
    on = restart_patch(ref, ACTIVE_FIELD, True, desired.action)
    return (
        Step(StepKind.PATCH, f"Deactivate {name}", ref, "PATCH", path, off),
        wait_stopped(gang, job),
        exclude_step(gang, job, desired.action, desired.exclusion, is_marked=False),
        Step(StepKind.RESTART, f"Activate {name}", ref, "PATCH", path, on),
    )
