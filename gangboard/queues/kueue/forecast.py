"""Forecast of Kueue's decision about an owner that does not exist yet.

The forecast has the conditions that Kueue would write, and the decoder of live Workloads reads them. So a manifest and a
live gang get the same reasons. Facts that no object shows make the forecast unknown, such as the labels of a namespace.
Source: pkg/scheduler/scheduler.go and pkg/cache/queue of v0.19.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gangboard.domain.forecast import AdmissionState, Forecast, PodSet
from gangboard.domain.objects import ObjectRef, find_condition
from gangboard.domain.owner import Owner
from gangboard.domain.pod_constraints import Toleration
from gangboard.domain.queue import QueueEntry
from gangboard.domain.queue_policy import QueuePolicy
from gangboard.domain.quota import Queue, QueueState
from gangboard.domain.text import count, names
from gangboard.queues.kueue.flavor_search import Assignment, FlavorSearch, Mode, flavor_names
from gangboard.queues.kueue.integrations import (
    GATE,
    MANAGED,
    MIN_PARALLELISM,
    POD_GROUP_LABEL,
    SEVERAL_ENTRIES,
)
from gangboard.queues.kueue.queue_access import admits_namespace, closed_text, local_queue_name
from gangboard.queues.kueue.queue_line import QueueLine, find_priority, held_quota
from gangboard.queues.kueue.queues import GROUP
from gangboard.queues.kueue.quota_tree import QuotaTree
from gangboard.queues.kueue.unborn_entries import (
    owner_ref,
    quota_entry,
    unborn_entry,
    waiting_entry,
)

_DEFAULT_QUEUE = "default"
"""LocalQueue that Kueue's webhooks give to owners without a queue, if the namespace has it."""
_WAITS_FOR_READY_PODS = "waiting for all admitted workloads to be in PodsReady condition"


def forecast(
    owner: Owner,
    pod_sets: Sequence[PodSet],
    state: AdmissionState,
    annotations: Mapping[str, str],
) -> Forecast | None:
    """Return the decision about a new owner, or None if Kueue would not manage it."""
    ref = owner.meta.ref
    default = state.queues.get(local_queue_name(ref.namespace, _DEFAULT_QUEUE))
    if (ref.group, ref.kind) not in MANAGED:
        return None if default is None else _pods_in_default_queue(owner, pod_sets)
    name = owner.queue or (_DEFAULT_QUEUE if default is not None else "")
    if not name:
        return _without_queue(owner, pod_sets, state)
    entry = unborn_entry(owner, name, pod_sets)
    if POD_GROUP_LABEL in dict(owner.labels):
        return Forecast(
            entry,
            unknown="Kueue admits the pods of its group together, and the forecast has only one of them.",
        )
    closed = closed_text(ref.namespace, name, state)
    if closed:
        return Forecast(waiting_entry(entry, closed, "Inadmissible"))
    if gate := annotations.get(GATE):
        return Forecast(waiting_entry(entry, f"Admission is gated by: {gate}", "AdmissionGated"))
    local = state.queues.get(local_queue_name(ref.namespace, name))
    queue = state.queues.get(local.parent) if local is not None else None
    if queue is None or queue.policy is None or queue.state is QueueState.UNKNOWN:
        about = f"ClusterQueue {queue.meta.ref.name}" if queue is not None else f"queue {name}"
        return Forecast(entry, unknown=f"Kueue has not reported the state of {about} yet.")
    may_shrink = ref.is_job and MIN_PARALLELISM in annotations
    return _Decision(
        owner, tuple(pod_sets), state, queue, queue.policy, entry, may_shrink=may_shrink
    ).forecast()


def _pods_in_default_queue(owner: Owner, pod_sets: Sequence[PodSet]) -> Forecast:
    """Return the forecast for a kind that Kueue does not manage. Its webhook also takes pods without a queue."""
    return Forecast(
        unborn_entry(owner, _DEFAULT_QUEUE, pod_sets),
        unknown=f"Kueue may take its pods one by one into LocalQueue {_DEFAULT_QUEUE} of the namespace.",
    )


def _without_queue(
    owner: Owner, pod_sets: Sequence[PodSet], state: AdmissionState
) -> Forecast | None:
    """Return the decision about an owner that names no queue.

    Kueue keeps such owners suspended if its configuration has `manageJobsWithoutQueueName`. No object shows that, but the
    Workloads without a queue do.
    """
    namespaces = {
        entry.meta.ref.namespace
        for entry in state.entries
        if entry.meta.ref.group == GROUP and entry.is_in_use and not entry.queue
    }
    if not namespaces:
        return None
    entry = unborn_entry(owner, "", pod_sets)
    if owner.meta.ref.namespace in namespaces:
        return Forecast(waiting_entry(entry, "LocalQueue  doesn't exist", "Inadmissible"))
    return Forecast(
        entry,
        unknown="Kueue holds owners without a queue in other namespaces, and its setting for this namespace is "
        "unknown.",
    )


class _Decision:
    """The decision about one owner in an open queue."""

    def __init__(
        self,
        owner: Owner,
        pod_sets: tuple[PodSet, ...],
        state: AdmissionState,
        queue: Queue,
        policy: QueuePolicy,
        entry: QueueEntry,
        *,
        may_shrink: bool,
    ) -> None:
        self._owner = owner
        self._may_shrink = may_shrink
        self._pod_sets = pod_sets
        self._state = state
        self._queue = queue
        self._policy = policy
        priority = find_priority(owner, state)
        self._priority = priority
        self._entry = replace(
            entry,
            priority=priority.value or 0,
            priority_source=priority.source,
            priority_class=priority.name if priority.value is None else "",
        )
        self._flavors = {
            name: flavor for (group, name), flavor in state.queues.flavors.items() if group == GROUP
        }
        self._quota = QuotaTree(state.queues, held_quota(state))
        self._line = QueueLine(state, queue, priority.value, self._quota)

    def forecast(self) -> Forecast:
        """Return the forecast. Permanent reasons go first, then the line, then the free quota."""
        missing = [name for name in flavor_names(self._queue) if name not in self._flavors]
        if missing:
            return self._unknown(f"ResourceFlavor {names(missing)} is not known to gangboard.")
        if not self._pod_sets:
            return self._unknown("The number of its pods is unknown.")
        is_admitted_namespace = admits_namespace(
            self._owner.meta.ref.namespace, self._queue, self._policy, self._state
        )
        if is_admitted_namespace is False:
            return Forecast(
                waiting_entry(
                    self._entry,
                    "workload namespace doesn't match ClusterQueue selector",
                    "Inadmissible",
                )
            )
        assignment = self._search(self._quota)
        if assignment.mode is Mode.FITS or not self._is_final(assignment):
            if is_admitted_namespace is None:
                return self._unknown(
                    "The queue admits namespaces by their labels, which gangboard does not read."
                )
            return self._by_turn(assignment)
        return self._guarded(assignment) or Forecast(
            waiting_entry(self._entry, assignment.text, "Pending")
        )

    def _by_turn(self, assignment: Assignment) -> Forecast:
        """Return the forecast for a Workload that the queue could ever admit."""
        if self._queue.is_strict and self._line.waiting:
            if not self._line.shows_order:
                return self._unknown(
                    "The queue admits strictly in its order, and the place of this gang in it is unknown: "
                    f"{self._order_cause()}"
                )
            if self._line.ahead:
                return Forecast(self._entry, behind=self._behind())
        guarded = self._guarded(assignment)
        if guarded is not None:
            return guarded
        if assignment.mode is Mode.BY_PREEMPTION:
            return self._unknown(
                "The free quota is too small. Kueue may preempt running gangs for it, or keep it waiting."
            )
        if assignment.mode is not Mode.FITS:
            return Forecast(
                waiting_entry(self._entry, assignment.text, "Pending"), behind=self._behind()
            )
        uncertain = self._uncertain_turn()
        return self._unknown(uncertain) if uncertain else self._with_quota(assignment)

    def _guarded(self, assignment: Assignment) -> Forecast | None:
        """Return an unknown forecast if a fact that decides cannot be read. None if there is no such fact."""
        ref = self._owner.meta.ref
        topologies = {
            name: self._flavors[name].topology
            for name in flavor_names(self._queue)
            if self._flavors[name].topology
        }
        if topologies and (
            assignment.mode is Mode.FITS or len(topologies) < len(flavor_names(self._queue))
        ):
            return self._unknown(
                f"Flavor {names(topologies)} gives pods to nodes by a topology, which gangboard does not compute."
            )
        if self._policy.is_by_variant:
            return self._unknown("The queue tries a gang in several flavors at once.")
        if assignment.mode is not Mode.FITS and self._may_shrink:
            return self._unknown("The quota is too small for all its pods. Kueue may admit fewer.")
        if assignment.mode is not Mode.FITS and (ref.group, ref.kind) in SEVERAL_ENTRIES:
            return self._unknown("Kueue admits each of its replicas separately, and some may fit.")
        return None

    def _uncertain_turn(self) -> str:
        """Return why others may get the free quota first: a sentence. Empty if they cannot."""
        if self._priority.value is None:
            return f"{self._priority.source} is not known to gangboard. Without it Kueue admits nothing."
        if self._line.undecided:
            return (
                f"Kueue has not decided about {count(len(self._line.undecided), 'gang')} before it, which may get "
                "the free quota first."
            )
        reserved = self._line.reserved_by_strict_queues()
        if reserved is None or self._search(self._quota.with_usage(reserved)).mode is not Mode.FITS:
            return "Kueue may reserve the free quota for the first gang of another queue that shares it."
        if any(_WAITS_FOR_READY_PODS in _quota_text(entry) for entry in self._state.entries):
            return "Kueue admits no gang until the pods of all admitted gangs are ready."
        return ""

    def _with_quota(self, assignment: Assignment) -> Forecast:
        used = {name for flavors in assignment.flavors.values() for name in flavors}
        checks = [
            check.name
            for check in self._policy.checks
            if not check.flavors or not used.isdisjoint(check.flavors)
        ]
        entry = quota_entry(self._entry, self._queue.meta.ref.name, assignment, checks)
        return Forecast(
            entry,
            node_labels={
                pod_set: {
                    key: value
                    for name in flavors
                    for key, value in self._flavors[name].node_labels.items()
                }
                for pod_set, flavors in assignment.flavors.items()
            },
            tolerations={
                pod_set: self._tolerations(flavors)
                for pod_set, flavors in assignment.flavors.items()
            },
        )

    def _tolerations(self, flavors: Sequence[str]) -> tuple[Toleration, ...]:
        return tuple(
            dict.fromkeys(item for name in flavors for item in self._flavors[name].tolerations)
        )

    def _search(self, quota: QuotaTree) -> Assignment:
        search = FlavorSearch(
            self._queue,
            self._policy,
            self._flavors,
            quota,
            self._line.can_preempt,
            self._queue.share is not None,
        )
        return search.assign(self._pod_sets)

    def _is_final(self, assignment: Assignment) -> bool:
        message = waiting_entry(self._entry, assignment.text, "Pending").message
        return message is not None and message.code.is_final

    def _order_cause(self) -> str:
        if self._queue.is_by_usage:
            return "it depends on the recent usage of each LocalQueue, which no object shows."
        return f"{self._priority.source} is not known to gangboard."

    def _behind(self) -> tuple[ObjectRef, ...]:
        return tuple(map(owner_ref, self._line.ahead)) if self._line.shows_order else ()

    def _unknown(self, cause: str) -> Forecast:
        return Forecast(self._entry, behind=self._behind(), unknown=cause)


def _quota_text(entry: QueueEntry) -> str:
    reserved = find_condition(entry.conditions, "QuotaReserved")
    return reserved.message if reserved is not None and not reserved.is_true else ""
