"""Kueue (kueue.x-k8s.io, v0.14 to v0.19): Workloads, queues with quotas, and admission checks.

Kueue keeps a Workload of its own kind per owner, and suspends the owner until it is admitted. People stop and resume
the owner by `spec.active` of the Workload (jobset-kueue.md §3.5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gangboard.domain.forecast import AdmissionState, Forecast, PodSet
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.queue import NodeReplacement
from gangboard.domain.text import label
from gangboard.domain.traits import QueueTraits, QueueWording
from gangboard.facts.gang import Gang
from gangboard.facts.surroundings import Surroundings
from gangboard.plugins.lever import Lever
from gangboard.plugins.queue_system import QueueSystem
from gangboard.queues.kueue.activation import WorkloadActive
from gangboard.queues.kueue.admission_checks import CHECKS
from gangboard.queues.kueue.flavors import FLAVORS
from gangboard.queues.kueue.forecast import forecast
from gangboard.queues.kueue.integrations import POD_GROUP_LABEL
from gangboard.queues.kueue.queues import QUEUE_RESOURCES
from gangboard.queues.kueue.relocation import QueuedExclusion
from gangboard.queues.kueue.replaceable_nodes import find_replacement
from gangboard.queues.kueue.workloads import WORKLOADS


class Kueue(QueueSystem):
    """The admission system Kueue."""

    label = "Kueue"
    owner_label = "kueue.x-k8s.io/queue-name"
    pod_group_label = POD_GROUP_LABEL
    resources = (WORKLOADS, *QUEUE_RESOURCES, FLAVORS, CHECKS)
    traits = QueueTraits(
        manager="kueue",
        suspend_instead="Suspend it by spec.active of its Workload.",
        active_field="spec.active",
        eviction="Evicted",
        deactivation="Deactivated",
        # v0.19.2 leaves its gates on the local pods of a dispatched owner without managedBy (startJob in
        # pkg/controller/jobframework). It copies the status of pods that own their Workload, and no status of a
        # StatefulSet or LeaderWorkerSet (SyncJob in pkg/controller/jobs).
        run_cluster_field="status.clusterName",
        offered_clusters_field="status.nominatedClusterNames",
        # v0.19.2: relocate.md §6. A gate of later releases replaces several nodes.
        failed_node="Kueue looks for a replacement, and evicts the gang if none is free or another node fails.",
        failed_nodes="Kueue replaces only one node, so it is about to evict the whole gang (v0.19).",
    )
    words = QueueWording(
        nominal="nominal quota",
        no_alias="No LocalQueue leads to it, so nothing can be submitted to it.",
    )
    lends = True
    mirrors: Mapping[str, str] = {
        "kueue.x-k8s.io/multikueue": "mirrors a run in another cluster (MultiKueue): act in the cluster that "
        "runs it."
    }
    lever = WorkloadActive()
    relocation_lever = QueuedExclusion()
    tested = "Kueue 0.19 on 1.37"

    def takes_over(self, owner: str, queue: str, suspended: bool) -> str:
        """Return the effect of a later Kueue installation on an owner with its label (jobset-kueue.md §3.5)."""
        if suspended:
            return (
                f"If Kueue is installed here later, it takes {owner} into queue {queue}, and starts it when "
                "it admits it."
            )
        return (
            f"If Kueue is installed here later, it suspends {owner} until queue {queue} has admitted it: "
            "its pods are lost then."
        )

    def forecast(
        self,
        owner: Owner,
        pod_sets: Sequence[PodSet],
        state: AdmissionState,
        annotations: Mapping[str, str],
    ) -> Forecast | None:
        """Return the decision of Kueue about a new owner, or None if it would not manage it."""
        return forecast(owner, pod_sets, state, annotations)

    def job_reactions(self, gang: Gang) -> tuple[str, ...]:
        """Return the consequences for the quota of the Job."""
        if gang.queue.may_run:
            return ("Its quota in Kueue stays reserved.",)
        return (f"Kueue reserves quota for its pods all the same when it admits {gang.name}.",)

    def relocation_refusal(self, gang: Gang, job: Owner, pods: Sequence[Pod]) -> str:
        """Refuse child Jobs that Kueue admits one by one (observed with v0.19.2)."""
        if not gang.queue.is_managed:
            return f"Kueue would resume {label(job.meta.ref)} at once: suspend it by its Workload instead."
        return ""

    def node_replacement(
        self, gang: Gang, job: Owner, node: str, surroundings: Surroundings
    ) -> NodeReplacement | str:
        """Return the pods of a Job for which Kueue would replace an assigned node, or why it would not."""
        return find_replacement(gang, job, node, surroundings)

    def relocation_warnings(self, gang: Gang, job: Owner, lever: Lever) -> tuple[str, ...]:
        """Warn that Kueue evicts the whole if the Job is away for too long.

        Only a Workload with the condition PodsReady shows that Kueue waits for ready pods. The limit is in its
        configuration, which gangboard cannot read.
        """
        waits = any(
            condition.type == "PodsReady"
            for entry in gang.queue.entries
            for condition in entry.conditions
        )
        if not waits:
            return ()
        return (
            f"Kueue evicts the whole of {gang.name} if this Job is away for longer than its "
            "waitForPodsReady.recoveryTimeout.",
        )

    def job_warnings(self, gang: Gang, job: Owner, lever: Lever) -> tuple[str, ...]:
        """Return the warning that Kueue may resume a stopped Job, or evict its whole owner."""
        if gang.queue.is_managed and lever.counts_as_ready:
            return ("Kueue goes on counting it as ready: waitForPodsReady does not notice it.",)
        if gang.queue.is_managed:
            return (
                # The default of Kueue v0.19.2 is on, with 30m. It counts pods of a held Job as not ready (observed).
                f"Kueue evicts the whole of {gang.name} when pods are not ready for longer than its "
                f"waitForPodsReady allows (30 minutes by default since v0.19), and those of a "
                f"held Job are not.",
            )
        name = gang.queue_statuses[job.meta.ref.uid].queue
        queue = f"queue {name} of Kueue" if name else "a queue of Kueue"
        return (
            f"It is in {queue} by itself: while its Workload is admitted, Kueue will try to resume it.",
        )
