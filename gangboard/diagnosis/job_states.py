"""State of each Job of a gang, with how its pods are scheduled: as a gang, or pod by pod.

Pods and groups show how the pods of a Job are scheduled. The reason follows the Job controller of each
Kubernetes release (k8s-gang-api.md §5.1, corrected by real-control-plane.md §4 and real-owners.md §4):

- 1.36 makes a gang for every Indexed Job with `completions` = `parallelism` > 1, including child Jobs.
- 1.37 makes a group for every Job without a controller owner. It is basic unless `spec.scheduling` requests a
  gang. 1.38 was not observed yet.
- Neither makes a group for a Job whose template names one. Suspended Jobs also get a group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from gangboard.domain.group import Group, Policy, label_of_group, read_entry
from gangboard.domain.hold import Hold
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.text import count, label, natural_key
from gangboard.domain.verdict import Finding, JobState, Scheduling
from gangboard.facts.gang import Gang
from gangboard.facts.groups import CORE, takes_pods
from gangboard.facts.job_holds import is_held
from gangboard.facts.unit import Unit

LABELS = {
    "gang": "Gang",
    "basic": "Basic group",
    "brought-along": "Group brought along",
    "opted-out": "Opted out",
    "not-eligible": "Not eligible",
    "owned": "Owned by another",
    "fallen-back": "Fallen back",
    "pod-by-pod": "Pod by pod",
    "unknown": "Not known",
}
"""Mode of scheduling → its label on pages."""

_V135, _V136 = "v1alpha1", "v1alpha2"
_NOT_BY_OWNER = (_V135, _V136)  # releases whose Job controller ignores a controller owner
_POD_BY_POD = "its pods are scheduled one by one"


def job_states(
    gang: Gang, units: Iterable[Unit], findings: Mapping[str, Finding]
) -> tuple[JobState, ...]:
    """Return the state of each Job of the gang, in its order. `findings` are by unit name."""
    unit_of = {job.meta.ref.uid: unit.name for unit in units for job in unit.jobs}
    groups = GroupIndex(gang.groups)
    return tuple(
        _job_state(
            gang,
            groups,
            job,
            gang.pods_by_job[job.meta.ref.uid],
            findings.get(unit_of[job.meta.ref.uid]),
            gang.hold_of(job),
        )
        for job in gang.jobs
    )


def _job_state(
    gang: Gang,
    groups: GroupIndex,
    job: Owner,
    pods: tuple[Pod, ...],
    finding: Finding | None,
    hold: Hold | None,
) -> JobState:
    nodes = {pod.node for pod in pods if pod.node and pod.phase not in ("Succeeded", "Failed")}
    queue = gang.queue_statuses[job.meta.ref.uid]
    has_own_entry = bool(queue.entries) and not queue.by_owner and job is not gang.owner
    return JobState(
        ref=job.meta.ref,
        generation=job.meta.generation,
        part=job.role_name,
        suspended=job.suspended,
        held=is_held(job, hold),
        finished=job.finish.outcome.value if job.finish is not None else "",
        desired=job.desired,
        created=len([pod for pod in pods if pod.meta.ref.uid in gang.member_pods]),
        ready=len([pod for pod in pods if pod.meta.ref.uid in gang.ready_pods]),
        nodes=tuple(sorted(nodes, key=natural_key)),
        restarts=gang.owner.job_restarts.get(job.meta.ref.name, 0) or job.retries,
        scheduling=scheduling_of(gang, job, pods, groups),
        finding=finding,
        hold=hold.meta.ref.name if hold else "",
        held_since=hold.meta.created_at if hold else None,
        held_by=hold.by if hold else "",
        held_reason=hold.reason if hold else "",
        held_until=hold.until if hold else None,
        queue=queue.queue if has_own_entry else "",
        queue_standing=queue.standing.value if has_own_entry else "",
    )


# Scheduling


class GroupIndex:
    """Groups of a gang by name and by maker, indexed once for all its Jobs."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.by_name = {group.name: group for group in groups if takes_pods(group)}
        self.by_maker: dict[str, Group] = {}
        for group in self.by_name.values():
            if (maker := _core_maker(group)) is not None:
                self.by_maker.setdefault(maker, group)


def scheduling_of(gang: Gang, job: Owner, pods: Sequence[Pod], groups: GroupIndex) -> Scheduling:
    """Return how the pods of a Job are scheduled. `pods` are those of the Job."""
    mode, reason = _mode(gang, job, pods, groups)
    return Scheduling(mode, LABELS[mode], reason)


def _mode(gang: Gang, job: Owner, pods: Sequence[Pod], groups: GroupIndex) -> tuple[str, str]:
    if gang.cluster.groups_unobserved:
        return "unknown", "PodGroups cannot be read, so how its pods are scheduled is not known."
    template = _template_group(gang, job)
    group = _group_of(groups, job, pods, template)
    if group is not None:
        return _grouped(job, group)
    if template:
        return _without_named_group(gang, pods, template)
    role = gang.roles.get(job.role_name)
    if role is not None and role.alone:
        return "not-eligible", role.alone
    if other_api := _requested_by_other_api(gang, pods):
        return other_api
    requester = _requester(gang, job)
    if pods and requester and not gang.cluster.gang_api_version:
        return "fallen-back", (
            f"{requester} requests a gang, but this cluster does not serve gang scheduling: "
            f"{_POD_BY_POD}."
        )
    if not gang.cluster.gang_api_version:
        return "pod-by-pod", "This cluster does not serve gang scheduling."
    return _ungrouped(gang, job, pods, requester)


def _ungrouped(gang: Gang, job: Owner, pods: Sequence[Pod], requester: str) -> tuple[str, str]:
    """Return why a Job has no group although the cluster serves them and its template names none."""
    if named := next(
        (pod.group_name for pod in pods if pod.group_name and not pod.ignores_group), ""
    ):
        return "unknown", f"Its pods name {label_of_group(named)}, which does not exist."
    if requester and pods:
        return (
            "fallen-back",
            f"{requester} requests a gang, but its pods name no PodGroup: {_POD_BY_POD}.",
        )
    if job.delegated_template and pods:
        return "fallen-back", (
            f"Its owner left its group to the Job controller (template {job.delegated_template}), "
            f"but its pods name no PodGroup: {_POD_BY_POD}."
        )
    if rule := _not_eligible(gang, job):
        return "not-eligible", rule
    if owner := _owner_reason(gang, job):
        return "owned", owner
    if gang.cluster.gang_api_version == _V135:
        return "pod-by-pod", (
            "Its template names no Workload, and Kubernetes 1.35 creates none for a Job."
        )
    if not pods:
        return "unknown", "It has no PodGroup and no pods yet."
    return "pod-by-pod", (
        "No PodGroup was created for it, because it does not request a gang: the Job controller of this "
        "cluster creates none."
    )


def _template_group(gang: Gang, job: Owner) -> str:
    """Return the PodGroup that the pod template of a Job or of its role names."""
    role = gang.roles.get(job.role_name)
    return job.group_name or (role.group_name if role is not None else "")


def _group_of(groups: GroupIndex, job: Owner, pods: Sequence[Pod], template: str) -> Group | None:
    """Return the group of the pods of a Job. Without pods it is the group made for the Job or named by it."""
    if pods:
        named = [pod.group_name for pod in pods if pod.group_name and not pod.ignores_group]
        if not named:
            return None
        names = Counter(named)
        name = max(names, key=lambda name: (names[name], name))
        return groups.by_name.get(name)
    if template:
        return groups.by_name.get(template)
    return groups.by_maker.get(job.meta.ref.uid)


def _core_maker(group: Group) -> str | None:
    """Return the uid of the controller of a core group, or None."""
    controller = group.meta.controller
    is_core = group.entry is None and group.meta.ref.group == CORE
    return controller.uid if is_core and controller is not None else None


def _grouped(job: Owner, group: Group) -> tuple[str, str]:
    """Return the mode of a Job whose pods are in an existing group."""
    name, policy = group.name, _policy_text(group)
    if _core_maker(group) != job.meta.ref.uid:
        return "brought-along", f"Its pods are in {label_of_group(name)}{_maker(group)}: {policy}."
    if group.policy is Policy.GANG:
        template = job.delegated_template
        source = f" from template {template} of Workload {group.workload_name}" if template else ""
        return "gang", f"The Job controller created PodGroup {name}{source}: {policy}."
    if group.policy is Policy.BASIC:
        is_requested = job.gang_request is not None and job.gang_request.policy == "basic"
        why = "spec.scheduling requests it" if is_requested else "spec.scheduling requests no gang"
        return "basic", f"The Job controller created PodGroup {name}: {policy}, because {why}."
    return "unknown", f"The Job controller created PodGroup {name}: {policy}."


def _policy_text(group: Group) -> str:
    """Return the effect of a group's policy on its pods."""
    if group.policy is Policy.GANG:
        return f"a gang of {count(group.quorum or 0, 'pod')}, placed together or not at all"
    if group.policy is Policy.BASIC:
        return "a basic group, whose pods are placed one by one"
    text = f" ({group.policy_text})" if group.policy_text else ""
    return f"its policy{text} is not known to this release of gangboard"


def _maker(group: Group) -> str:
    controller = group.meta.controller
    if controller is None:
        return ", which no controller created"
    return f", which {controller.kind} {controller.name} owns"


def _without_named_group(gang: Gang, pods: Sequence[Pod], template: str) -> tuple[str, str]:
    """Return the mode of a Job whose template names a group, but whose pods are not in it."""
    name = label_of_group(template)
    if pods and not any(pod.group_name for pod in pods):
        field = "workloadRef" if read_entry(template) is not None else "schedulingGroup"
        why = (
            f"{field} was dropped on the way to the pods"
            if gang.cluster.gang_api_version
            else "this cluster does not serve gang scheduling"
        )
        return "fallen-back", f"Its template names {name}, but {why}: {_POD_BY_POD}."
    if not gang.cluster.gang_api_version:
        return "pod-by-pod", (
            f"Its template names {name}, but this cluster does not serve gang scheduling."
        )
    if read_entry(template) is not None:
        return "brought-along", f"Its template names {name}, which does not exist."
    return "opted-out", (
        f"Its template names {name}, so the Job controller creates none for it; "
        "that PodGroup does not exist."
    )


def _requester(gang: Gang, job: Owner) -> str:
    """Return the label of the object whose spec requests a gang, or empty."""
    requested = gang.gang_requests.get(job.meta.ref.uid)
    if requested is None:
        return ""
    request, owner = requested
    if request.policy != "gang" or request.api:
        return ""
    if request.asker is not None:
        return label(request.asker)
    own = owner.gang_request
    field = "" if own is not None and own.words else "spec.scheduling of "
    return f"{field}{label(owner.meta.ref)}"


def _requested_by_other_api(gang: Gang, pods: Sequence[Pod]) -> tuple[str, str] | None:
    """Return the mode of pods in a gang of another API that their scheduler does not read."""
    ignoring = next((pod for pod in pods if pod.group_kind and pod.ignores_group), None)
    if ignoring is not None:
        return "pod-by-pod", (
            f"Its pods name {label_of_group(ignoring.group_name)}, which scheduler "
            f"{ignoring.scheduler_name} does not read: {_POD_BY_POD}."
        )
    request = gang.owner.gang_request
    if request is None or not request.api:
        return None
    requester = label(request.asker or gang.owner.meta.ref)
    return (
        "unknown",
        f"{requester} requests a gang by {request.api}, and no pod names a group of it.",
    )


def _not_eligible(gang: Gang, job: Owner) -> str:
    """Return why the Job controller makes no group for a Job of this shape, or empty."""
    if job.managed_by:
        return f"It is managed by {job.managed_by}, so the Job controller leaves it alone."
    if gang.cluster.gang_api_version != _V136:
        return ""
    if (job.parallelism or 0) < 2:
        shape = f"parallelism is {job.parallelism or 0}"
        rule = "more than 1"
    elif not job.indexed:
        shape, rule = "completionMode is NonIndexed", "Indexed"
    elif job.completions != job.parallelism:
        completions = "not set" if job.completions is None else str(job.completions)
        shape, rule = f"completions is {completions}", f"equal to parallelism ({job.parallelism})"
    else:
        return ""
    return f"Kubernetes 1.36 makes gangs only of Jobs that fit: {shape}, it must be {rule}."


def _owner_reason(gang: Gang, job: Owner) -> str:
    """Return why 1.37 and later make no group for a Job with a controller owner, or empty."""
    controller = job.meta.controller
    if (
        controller is None
        or gang.cluster.gang_api_version in _NOT_BY_OWNER
        or job.delegated_template
    ):
        return ""
    return (
        f"{controller.kind} {controller.name} owns it. Since Kubernetes 1.37 the Job controller creates no "
        "PodGroup for a Job that another controller owns."
    )
