"""Owners that an admission system runs in another cluster.

They name its dispatcher (`spec.managedBy`), which switches their own controller off and can copy the status of the
run. No pods are made here, so none are missing.
"""

from __future__ import annotations

from dataclasses import replace

from gangboard.domain.health import Health
from gangboard.domain.owner import Owner, Reported
from gangboard.domain.queue import QueueEntry
from gangboard.domain.text import is_or_are, label, names, out_of, shorten
from gangboard.domain.traits import NO_QUEUE_TRAITS
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import gang_finding
from gangboard.facts.gang import Gang
from gangboard.plugins.rule import GangRule


def found_elsewhere(rule: GangRule, gang: Gang) -> Finding | None:
    """Return the finding of `rule` if the owner runs in another cluster and has no Jobs or pods here.

    Any other controller that `spec.managedBy` names may run here, so the missing pods are the news then.
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
    where = f"Runs in cluster {clusters}" if clusters else _left_to(owner, field)
    reported = owner.reported
    counted = f": {_count_text(reported)}" if reported is not None else ""
    found = gang_finding(
        rule,
        Health.UNKNOWN,
        f"{where}{counted}.",
        evidence=(
            Evidence(field, owner.managed_by, owner.meta.ref),
            *(
                Evidence(_run_cluster_field(gang, one), one.cluster, one.meta.ref)
                for one in entries
            ),
        ),
    )
    if reported is None or reported.up < reported.wanted:
        return found
    return replace(found, code="running", health=Health.RUNNING, title="Running")


def _run_cluster_field(gang: Gang, entry: QueueEntry) -> str:
    return gang.admission.get(entry.meta.ref.group, NO_QUEUE_TRAITS).run_cluster_field


def _left_to(owner: Owner, field: str) -> str:
    manager = shorten(owner.managed_by)
    return f"{label(owner.meta.ref)} is left to {manager} ({field}), and nothing of it is here"


def _count_text(reported: Reported) -> str:
    number = out_of(reported.up, reported.wanted, reported.noun)
    return f"{number} {is_or_are(reported.up)} {reported.state}"
