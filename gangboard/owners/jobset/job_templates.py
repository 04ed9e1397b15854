"""The ReplicatedJobs in the manifest of a JobSet."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from gangboard.domain.forecast import Manifest
from gangboard.plugins.child_manifests import items, number, section, size, text

IN_ORDER = "InOrder"


@dataclass(frozen=True, slots=True)
class ReplicatedJob:
    """One entry of `spec.replicatedJobs` with the webhook's defaults."""

    name: str
    replicas: int
    group: str
    template: Manifest
    has_dependencies: bool
    first_index: int
    """Index of its first Job among all Jobs of the JobSet."""
    first_group_index: int
    """Index of its first Job among the Jobs of its group."""

    @property
    def spec(self) -> Manifest:
        """Spec of its Jobs."""
        return section(self.template, "spec")

    @property
    def width(self) -> int:
        """Number of pods of each Job."""
        parallelism, completions = size(self.spec, "parallelism"), number(self.spec, "completions")
        return parallelism if completions is None else min(parallelism, max(0, completions))

    @property
    def pods(self) -> int:
        """Number of pods of all its Jobs."""
        return self.replicas * self.width


def replicated_jobs(spec: Manifest) -> list[ReplicatedJob]:
    """Return the entries of `spec.replicatedJobs` of a JobSet."""
    entries = items(spec, "replicatedJobs")
    starts = list(accumulate((size(entry, "replicas") for entry in entries), initial=0))
    in_groups: dict[str, int] = {}
    result = []
    for entry, first in zip(entries, starts, strict=False):
        group = text(entry, "groupName") or "default"
        replicas = size(entry, "replicas")
        result.append(
            ReplicatedJob(
                name=text(entry, "name"),
                replicas=replicas,
                group=group,
                template=section(entry, "template"),
                has_dependencies=bool(items(entry, "dependsOn")),
                first_index=first,
                first_group_index=in_groups.get(group, 0),
            )
        )
        in_groups[group] = in_groups.get(group, 0) + replicas
    return result
