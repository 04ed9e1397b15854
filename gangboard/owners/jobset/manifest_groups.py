"""PodGroups of a JobSet by `spec.scheduling` (KEP-969), which no release of JobSet has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gangboard.domain.forecast import CreationContext, Manifest
from gangboard.owners.jobset.job_templates import IN_ORDER, ReplicatedJob
from gangboard.owners.jobset.wire import child_name
from gangboard.plugins.child_manifests import (
    core_groups,
    group_version,
    has_section,
    items,
    name_of,
    section,
    text,
    texts,
)


class JobSetGroups:
    """The PodGroups that `spec.scheduling` asks for (KEP-969), and the group of each Job.

    Without entries in `replicatedJobs` the policy covers the whole JobSet, or each ReplicatedJob if they start one
    after the other. See `gang_requests`.
    """

    def __init__(
        self, manifest: Manifest, context: CreationContext, roles: list[ReplicatedJob]
    ) -> None:
        self._manifest, self._context = manifest, context
        self._jobset = name_of(manifest)
        self._templates: dict[str, Manifest] = {}
        self._of_role: dict[str, str] = {}
        """Role → its template, if all its Jobs are in one group."""
        self._of_jobs: dict[str, tuple[ReplicatedJob, str]] = {}
        """Role → itself and its template, if each of its Jobs has a group."""
        scheduling = section(manifest, "spec", "scheduling")
        if not has_section(manifest, "spec", "scheduling") or not group_version(context):
            return
        by_name = {role.name: role for role in roles}
        entries = items(scheduling, "replicatedJobs")
        for index, entry in enumerate(entries):
            targets = [
                by_name[name] for name in texts(entry, "targetReplicatedJobs") if name in by_name
            ]
            self._add(targets, entry, f"part-{index}")
        if entries:
            return
        in_turn = text(manifest, "spec", "startupPolicy", "startupPolicyOrder") == IN_ORDER
        if (in_turn or any(role.has_dependencies for role in roles)) and _is_gang(scheduling):
            for role in roles:
                self._add([role], {}, role.name)
        else:
            self._add(roles, scheduling, "all")

    def _add(self, roles: list[ReplicatedJob], entry: Manifest, template: str) -> None:
        """Add the group of an entry for these roles, or one for each of their Jobs."""
        per_job = has_section(entry, "job")
        wire = section(entry, "job") if per_job else entry
        pods = sum(role.width if per_job else role.pods for role in roles)
        self._templates[template] = _group_spec(wire, pods)
        for role in roles:
            if per_job:
                self._of_jobs[role.name] = role, template
            else:
                self._of_role[role.name] = template

    def name(self, role: ReplicatedJob, index: int) -> str:
        """Return the PodGroup of a Job, or an empty text."""
        if role.name in self._of_jobs:
            return child_name(self._jobset, role.name, index)
        template = self._of_role.get(role.name)
        return f"{self._jobset}-{template}" if template else ""

    def manifests(self) -> Iterator[dict[str, Any]]:
        """Yield the Workload and its PodGroups."""
        if self._templates:
            yield from core_groups(self._manifest, self._context, self._templates, self._groups())

    def _groups(self) -> Iterator[tuple[str, str]]:
        """Yield the names of each PodGroup and of its template."""
        for template in dict.fromkeys(self._of_role.values()):
            yield f"{self._jobset}-{template}", template
        for role, template in self._of_jobs.values():
            for index in range(role.replicas):
                yield child_name(self._jobset, role.name, index), template


def _is_gang(scheduling: Manifest) -> bool:
    return not has_section(scheduling, "schedulingPolicy", "basic")


def _group_spec(scheduling: Manifest, pods: int) -> Mapping[str, Any]:
    """Return the spec of a group. A gang without `minCount` needs all its pods."""
    fields = {
        name: scheduling[name]
        for name in ("schedulingConstraints", "disruptionMode")
        if name in scheduling
    }
    if not _is_gang(scheduling):
        return {**fields, "schedulingPolicy": {"basic": {}}}
    gang = {"minCount": pods, **section(scheduling, "schedulingPolicy", "gang")}
    return {**fields, "schedulingPolicy": {"gang": gang}}
