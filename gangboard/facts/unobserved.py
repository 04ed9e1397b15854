"""Gangs that cannot be observed: a kind that they need cannot be read, or they run in another cluster.

A gang needs a kind of owner if it has objects of that kind, or if its own kind may make some. It needs a grouping API
for certain kinds of owners only with such an owner, and an API whose groups pods name by a mark only with such
a pod. An unreadable resource that a gang does not need counts as not served.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gangboard.domain.health import Health
from gangboard.domain.owner import Owner, Reported
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueEntry
from gangboard.domain.text import is_or_are, label, names, out_of, shorten
from gangboard.domain.traits import NO_QUEUE_TRAITS
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.cluster_view import Unobserved
from gangboard.facts.findings import gang_finding
from gangboard.facts.gang import Gang, Linked
from gangboard.plugins import registry
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.plugins.rule import GangRule


def concerning(
    unobserved: Iterable[Unobserved], root: Linked, members: Iterable[Linked]
) -> tuple[Unobserved, ...]:
    """Return the unobserved resources without which the gang of `root` cannot be judged."""
    resources = tuple(unobserved)
    if not resources:
        return ()
    kinds = {kind.resource.key: kind for kind in registry.owner_kinds()}
    objects = (root, *members)
    refs = {(item.meta.ref.group, item.meta.ref.kind) for item in objects}
    groupings = {
        resource.key: set(api.groups_of)
        for api in registry.grouping_apis()
        for resource in api.resources
        if api.groups_of
    }

    marked = {
        resource.key: kind
        for api in registry.grouping_apis()
        for resource in api.resources
        if (kind := f"{resource.kind}.{resource.group}") in registry.marked_kinds()
    }
    named = {item.group_kind for item in objects if isinstance(item, Pod)}
    named.update(f"{kind}.{group}" for group, kind in refs)

    def is_needed(missing: Unobserved) -> bool:
        if missing.resource in groupings:
            return bool(groupings[missing.resource] & refs)
        if missing.resource in marked:
            return marked[missing.resource] in named
        return missing.resource not in kinds or _is_concerned(
            kinds[missing.resource], root, objects
        )

    return tuple(filter(is_needed, resources))


def _is_concerned(kind: OwnerKind, root: Linked, objects: Iterable[Linked]) -> bool:
    wanted = kind.resource.group, kind.resource.kind
    if isinstance(root, Owner):
        own = registry.owner_kind(root.meta.ref.group, root.meta.ref.kind)
        if own is None or own.makes is None or wanted in own.makes:
            return True
    return any(_leads_to(item, kind, wanted) for item in objects)


def _leads_to(item: Linked, kind: OwnerKind, wanted: tuple[str, str]) -> bool:
    """Return whether an object is of the kind, is controlled by such an object, or names one by its label."""
    ref, controller = item.meta.ref, item.meta.controller
    if wanted in (
        (ref.group, ref.kind),
        (controller.group, controller.kind) if controller else None,
    ):
        return True
    return isinstance(item, Pod) and bool(kind.named_by(item.labels))


def found_elsewhere(rule: GangRule, gang: Gang) -> Finding | None:
    """Return the finding of `rule` if the owner runs in another cluster and has no Jobs or pods here.

    The owner names the dispatcher of an admission system (`spec.managedBy`), which switches its controller off and can
    copy the status of the run. Any other controller may run here, so missing pods are a finding of their own then.
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
    finding = gang_finding(
        rule,
        Health.UNKNOWN,
        f"{where}{counted}.",
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


def _left_to(owner: Owner, field: str) -> str:
    manager = shorten(owner.managed_by)
    return f"{label(owner.meta.ref)} is left to {manager} ({field}), and nothing of it is here"


def _count_text(reported: Reported) -> str:
    number = out_of(reported.up, reported.wanted, reported.noun)
    return f"{number} {is_or_are(reported.up)} {reported.state}"
