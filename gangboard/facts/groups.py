"""Groups that pods name: which objects can be one, how many pods they have, and those of Kubernetes 1.35.

On 1.35 a group is an entry of a Workload and has no object of its own. A pod names a Workload, one of its
`podGroups` and perhaps a replica key (`spec.workloadRef`). Pods with the same three values are one group, with the
policy of the entry. gangboard finds the group by the pods and pod templates that name it, and gives it the metadata of
its Workload.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from gangboard.domain.group import Group, GroupTemplate, Policy, WorkloadEntry, read_entry
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.plugins import registry

CORE = "scheduling.k8s.io"
POD_GROUP, COMPOSITE, WORKLOAD = "PodGroup", "CompositePodGroup", "Workload"
_V135 = "v1alpha1"


def takes_pods(group: Group) -> bool:
    """Return whether pods can name it: a PodGroup, or an entry of a Workload."""
    return group.entry is not None or is_named_by_pods(group)


def is_named_by_pods(group: Group) -> bool:
    """Return whether pods can name such an object: a core PodGroup, or a group of a label or an annotation."""
    ref = group.meta.ref
    if ref.group == CORE:
        return ref.kind == POD_GROUP
    return f"{ref.kind}.{ref.group}" in registry.marked_kinds()


def has_entries(group: Group) -> bool:
    """Return whether it is a Workload of 1.35, whose entries pods name."""
    return group.meta.ref.kind == WORKLOAD and group.meta.api_version == _V135


def group_size(group: Group, pods: Sequence[Pod], foreign_pods: Sequence[Pod]) -> int:
    """Return the number of pods that a group without an owner should have: the existing ones, at least its quorum.

    `pods` and `foreign_pods` are in the group. Pods of other gangs count towards the quorum.
    """
    if group.name in loose_groups((group,), (*pods, *foreign_pods)):
        return len(pods)
    return max(len(pods), quorum_of(group) - len(foreign_pods))


def pods_by_group(pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """Return the pods by the name of their group. Pods without a group are under the empty name."""
    pods_of: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        pods_of[pod.group_name].append(pod)
    return dict(pods_of)


def loose_groups(groups: Iterable[Group], pods: Iterable[Pod]) -> frozenset[str]:
    """Return the names of groups that keep no pods together.

    No scheduler of their pods reads them, or they are of another API than the core one and have no quorum. Some
    schedulers make such a group for each pod.
    """
    ignored, read = set[str](), set[str]()
    for pod in pods:
        if pod.group_name:
            (ignored if pod.ignores_group else read).add(pod.group_name)
    without_quorum = {
        group.name
        for group in groups
        if group.meta.ref.group != CORE and group.policy is not Policy.GANG
    }
    return frozenset(ignored - read | without_quorum)


def quorum_of(group: Group) -> int:
    """Return `gang.minCount` of a PodGroup with gang policy, else 0."""
    return (group.quorum or 0) if group.policy is Policy.GANG else 0


def entry_groups(
    workloads: Sequence[Group],
    owners: Iterable[Owner],
    pods: Sequence[Pod],
    foreign_pods: Iterable[Pod],
    root: str,
) -> tuple[Group, ...]:
    """Return the groups without objects of one gang by name. Empty without a Workload of 1.35.

    `owners`, `pods` and `workloads` are those of the gang, `root` is the uid of its root. If the root is a Workload,
    each of its entries is a group, even one that no pod names: it waits for pods. A name without an entry gives no
    group: that group is missing.
    """
    # Of two Workloads with the same name the newer one counts, because gangboard has not seen the deletion yet.
    known = sorted(filter(has_entries, workloads), key=_age)
    if not known:
        return ()
    by_name = {workload.meta.ref.name: workload for workload in known}
    named = {pod.group_name for pod in pods} | _named_by_templates(owners)
    entries = {entry for name in named if (entry := read_entry(name)) is not None}
    for workload in known:
        if workload.meta.ref.uid == root:
            taken = named.union(pod.group_name for pod in foreign_pods)
            entries.update(_unnamed(workload, taken))
    groups = (_group(by_name.get(entry.workload), entry) for entry in entries)
    return tuple(sorted((group for group in groups if group), key=lambda group: group.name))


def _age(workload: Group) -> tuple[float, str]:
    created = workload.meta.created_at
    return created.timestamp() if created else 0.0, workload.meta.ref.uid


def _named_by_templates(owners: Iterable[Owner]) -> set[str]:
    return {
        name
        for owner in owners
        for name in (owner.group_name, *(role.group_name for role in owner.roles))
    }


def _unnamed(workload: Group, names: Iterable[str]) -> Iterator[WorkloadEntry]:
    entries = (read_entry(name) for name in names)
    taken = {
        entry.pod_group
        for entry in entries
        if entry is not None and entry.workload == workload.meta.ref.name
    }
    for template in workload.templates:
        if template.name not in taken:
            yield WorkloadEntry(workload.meta.ref.name, template.name)


def _group(workload: Group | None, entry: WorkloadEntry) -> Group | None:
    templates: tuple[GroupTemplate, ...] = workload.templates if workload is not None else ()
    template = next(
        (candidate for candidate in templates if candidate.name == entry.pod_group), None
    )
    if workload is None or template is None:
        return None
    return Group(
        meta=workload.meta,
        policy=template.policy,
        quorum=template.quorum,
        workload_name=entry.workload,
        template_name=entry.pod_group,
        entry=entry,
    )
