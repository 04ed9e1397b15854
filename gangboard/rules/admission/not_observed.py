"""`not-observed`: a resource that the verdict needs is forbidden, failing or undecodable.

An unread resource never counts as zero or healthy, so this rule comes before all others. A resource that the
cluster does not serve does not count. A gang that an admission system or another manager runs in another cluster
is also not observed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gangboard.domain.api_resource import WatchState
from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Owner, ReportedCounts
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueEntry
from gangboard.domain.text import is_or_are, label, names, out_of, sentence, shorten
from gangboard.domain.traits import NO_QUEUE_TRAITS
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.cluster_view import Unobserved
from gangboard.facts.findings import gang_finding
from gangboard.facts.gang import Gang
from gangboard.plugins.rule import GangRule


def _resource_sentence(unobserved: Unobserved) -> str:
    """Return the sentence about an unobserved resource. It always has the resource's name."""
    if not unobserved.sentence:
        return f"{unobserved.resource} cannot be read: {unobserved.state}."
    if unobserved.resource in unobserved.sentence:
        return sentence(unobserved.sentence)
    return sentence(f"{unobserved.resource} ({unobserved.state}): {unobserved.sentence}")


def find(gang: Gang) -> Finding | None:
    """Return a finding if a needed resource cannot be read."""
    if not gang.unobserved:
        return _find_elsewhere(gang)
    first, *rest = gang.unobserved
    message = _resource_sentence(first)
    if rest:
        others = names(f"{unobserved.resource} ({unobserved.state})" for unobserved in rest)
        message = f"{message} Not read either: {others}."
    forbidden = [
        unobserved.resource
        for unobserved in gang.unobserved
        if unobserved.state == WatchState.FORBIDDEN
    ]
    advice = f"Let gangboard list and watch {names(forbidden)}; print_rbac prints the role."
    return gang_finding(
        RULE,
        Health.UNKNOWN,
        message,
        advice=(advice,) if forbidden else (),
        evidence=tuple(
            Evidence(unobserved.resource, unobserved.state) for unobserved in gang.unobserved
        ),
    )


def _find_elsewhere(gang: Gang) -> Finding | None:
    """Return a finding if an admission system runs the gang in another cluster."""
    owner = gang.owner
    if owner.suspended or owner.finish is not None or owner.meta.deleting_since is not None:
        return None
    return _find_delegated(gang) if owner.managed_by else _find_mirrored(gang)


def _find_delegated(gang: Gang) -> Finding | None:
    """Return a finding if a manager runs the owner in another cluster: it has no Jobs or pods here.

    `spec.managedBy` switches the controller of the kind off. The dispatcher of an admission system always runs the
    owner elsewhere, and can copy the status of the run.
    """
    owner = gang.owner
    if gang.pods or any(job.meta.ref.uid != owner.meta.ref.uid for job in gang.jobs):
        return None
    if not any(owner.managed_by in system.dispatchers for system in gang.admission.values()):
        return _find_reported(gang)
    entries = [entry for entry in gang.entries if entry.cluster and entry.is_in_use]
    field = gang.traits_of(owner.meta.ref).managed_by_field
    location = _location(entries) or _delegation_text(owner, field)
    evidence = (
        Evidence(field, owner.managed_by, owner.meta.ref),
        *_run_clusters(gang, entries),
    )
    return _finding(location, owner.reported, evidence)


def _find_reported(gang: Gang) -> Finding | None:
    """Return a finding if an unknown manager reports pods that are not here.

    The manager may also run the owner here. So the sentence only quotes its report, and the gang does not count as
    running. If it reports no pods, another rule tells that they are missing.
    """
    owner, reported = gang.owner, gang.owner.reported
    if reported is None or not reported.up:
        return None
    field = gang.traits_of(owner.meta.ref).managed_by_field
    manager = f"{shorten(owner.managed_by)} ({field})"
    return gang_finding(
        RULE,
        Health.UNKNOWN,
        f"{label(owner.meta.ref)} has no pods here. {manager} reports: {_count_text(reported)}.",
        evidence=(Evidence(field, owner.managed_by, owner.meta.ref),),
    )


def _find_mirrored(gang: Gang) -> Finding | None:
    """Return a finding if all its entries run in other clusters, and gates keep its pods here from nodes.

    Plain pods and some kinds have no `spec.managedBy`. Their controllers create the pods here as well, and the
    admission system never removes its gates from them.
    """
    entries = [entry for entry in gang.entries if entry.is_in_use]
    if not entries or not all(entry.cluster for entry in entries):
        return None
    pods = [pod for pod in gang.pods if pod.is_live]
    domains = {entry.meta.ref.group for entry in entries}
    if not pods or not all(_has_gate_of(domains, pod) for pod in pods):
        return None
    evidence = (
        *(Evidence("spec.schedulingGates", names(pod.gates), pod.meta.ref) for pod in pods[:3]),
        *_run_clusters(gang, entries),
    )
    return _finding(_location(entries), _copied_counts(gang, pods), evidence)


def _has_gate_of(domains: set[str], pod: Pod) -> bool:
    """Return whether a pod without a node has a gate of these API groups."""
    return not pod.node and any(gate.partition("/")[0] in domains for gate in pod.gates)


def _copied_counts(gang: Gang, pods: Sequence[Pod]) -> ReportedCounts | None:
    """Return the number of pods that are ready in the other cluster, or None before a status is copied.

    No scheduler places a pod with a gate. Its condition `PodScheduled` is True only if another cluster wrote it.
    """
    if not any(pod.scheduled is not None and pod.scheduled.is_true for pod in pods):
        return None
    ready = sum(pod.is_ready for pod in pods)
    succeeded = sum(pod.phase == "Succeeded" for pod in gang.pods)
    return ReportedCounts(ready + succeeded, max(gang.owner.desired, len(pods) + succeeded))


def _finding(
    location: str, reported: ReportedCounts | None, evidence: tuple[Evidence, ...]
) -> Finding:
    """Return `running` if all its parts are reported ready, else `not-observed`."""
    counts = f": {_count_text(reported)}" if reported is not None else ""
    finding = gang_finding(RULE, Health.UNKNOWN, f"{location}{counts}.", evidence=evidence)
    if reported is None or reported.up < reported.wanted:
        return finding
    return replace(finding, code="running", health=Health.RUNNING, title="Running")


def _location(entries: Sequence[QueueEntry]) -> str:
    """Return `Runs in cluster worker1`. Empty without a cluster."""
    clusters = names(dict.fromkeys(shorten(entry.cluster) for entry in entries))
    return f"Runs in cluster {clusters}" if clusters else ""


def _run_clusters(gang: Gang, entries: Sequence[QueueEntry]) -> Iterator[Evidence]:
    for entry in entries:
        yield Evidence(_run_cluster_field(gang, entry), entry.cluster, entry.meta.ref)


def _run_cluster_field(gang: Gang, entry: QueueEntry) -> str:
    return gang.admission.get(entry.meta.ref.group, NO_QUEUE_TRAITS).run_cluster_field


def _delegation_text(owner: Owner, field: str) -> str:
    manager = shorten(owner.managed_by)
    return f"{label(owner.meta.ref)} is managed by {manager} ({field}) and has no objects here"


def _count_text(reported: ReportedCounts) -> str:
    number = out_of(reported.up, reported.wanted, reported.noun)
    return f"{number} {is_or_are(reported.up)} {reported.state}"


RULE = GangRule("not-observed", Stage.ADMISSION, "Not observed", 10, find)
