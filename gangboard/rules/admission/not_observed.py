"""`not-observed`: a resource that the verdict needs is forbidden, failing or undecodable.

An unread resource never counts as zero or healthy, so this rule comes before all others. A resource that the
cluster does not serve does not count. A gang that an admission system runs in another cluster is also not
observed here.
"""

from __future__ import annotations

from dataclasses import replace

from gangboard.domain.api_resource import WatchState
from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Owner, ReportedCounts
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
    """Return a finding if the owner runs in another cluster and has no Jobs or pods here.

    The owner names the dispatcher of an admission system in `spec.managedBy`. That switches its controller off,
    and the dispatcher can copy the status of the run. Any other manager may run the owner here. Missing pods
    then are a finding of another rule.
    """
    owner = gang.owner
    if owner.suspended or owner.finish is not None or not owner.managed_by:
        return None
    if not any(owner.managed_by in system.dispatchers for system in gang.admission.values()):
        return None
    if gang.pods or owner.meta.deleting_since is not None:
        return None
    if any(job.meta.ref.uid != owner.meta.ref.uid for job in gang.jobs):
        return None
    entries = [entry for entry in gang.entries if entry.cluster and entry.is_in_use]
    clusters = names(dict.fromkeys(shorten(entry.cluster) for entry in entries))
    field = gang.traits_of(owner.meta.ref).managed_by_field
    location = f"Runs in cluster {clusters}" if clusters else _delegation_text(owner, field)
    reported = owner.reported
    counts = f": {_count_text(reported)}" if reported is not None else ""
    finding = gang_finding(
        RULE,
        Health.UNKNOWN,
        f"{location}{counts}.",
        evidence=(
            Evidence(field, owner.managed_by, owner.meta.ref),
            *(
                Evidence(_run_cluster_field(gang, entry), entry.cluster, entry.meta.ref)
                for entry in entries
            ),
        ),
    )
    if reported is None or reported.up < reported.wanted:
        return finding
    return replace(finding, code="running", health=Health.RUNNING, title="Running")


def _run_cluster_field(gang: Gang, entry: QueueEntry) -> str:
    return gang.admission.get(entry.meta.ref.group, NO_QUEUE_TRAITS).run_cluster_field


def _delegation_text(owner: Owner, field: str) -> str:
    manager = shorten(owner.managed_by)
    return f"{label(owner.meta.ref)} is managed by {manager} ({field}) and has no objects here"


def _count_text(reported: ReportedCounts) -> str:
    number = out_of(reported.up, reported.wanted, reported.noun)
    return f"{number} {is_or_are(reported.up)} {reported.state}"


RULE = GangRule("not-observed", Stage.ADMISSION, "Not observed", 10, find)
