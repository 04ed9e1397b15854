"""`not-ganged`: the owner requests a gang, but pods exist that belong to no group.

Two situations lead to this, and neither leaves an event (k8s-gang-api.md §2.4, §5.1; real-owners.md §1.2):

- The Job controller (1.37) falls back to plain scheduling if it finds several Workloads or groups for a Job.
- The `schedulingGroup` of a template is dropped, because the API server's feature gate is off or a CRD does not
  know the field.

Another API can also request a gang (`GangRequest.api`, or the name of a group of it). Only a scheduler that
reads such groups respects them. If the default scheduler places the pods one by one instead, some have a node
and others are refused.
"""

from __future__ import annotations

from gangboard.domain.advice import ChangeMethod
from gangboard.domain.group import Group, Policy, label_of_group, read_entry
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import GangRequest, Owner
from gangboard.domain.pod import STOCK_SCHEDULER, Pod
from gangboard.domain.text import count, is_or_are, label, names
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.state_since import first_creation
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule

_GATES = {
    (1, 36): (("GenericWorkload", "GangScheduling"), "v1alpha2"),
    (1, 37): (("GenericWorkload",), "v1beta1"),
}
"""Feature gates, all off by default, and API version that a cluster of this minor version needs to schedule gangs.

Later versions are not listed, because 1.38 serves the stable `v1` without a gate (KEP-4671).
"""
_WITHOUT_GROUPS = "v1alpha1"
"""The version (1.35) in which groups are not objects."""


def find(unit: Unit) -> Finding | None:
    """Return a finding if pods of the unit are scheduled one by one although a gang is requested."""
    request = unit.owner.gang_request
    if request is not None and request.api:
        return _find_ignored_request(unit, request)
    ignored = _ignored_gang(unit)
    if ignored is not None:
        return _find_ignored_group(unit, ignored)
    makers = {maker.meta.ref.uid: maker for maker in (*unit.jobs, unit.owner)}
    loose = [
        (pod, pod.meta.controller.uid)
        for pod in unit.current
        if not pod.group_name and pod.meta.controller is not None
    ]
    controllers = {uid for _, uid in loose} & makers.keys()
    requesters = {uid: makers[uid] for uid in controllers if _requests_gang(unit, makers[uid])}
    ungrouped = [(pod, requesters[uid]) for pod, uid in loose if uid in requesters]
    if not ungrouped:
        return None
    number = len(ungrouped)
    _, job = ungrouped[0]
    requested, source = _request_of(unit, job)
    message = (
        f"{label(source)} requests {requested}, but {count(number, 'pod')} "
        f"{is_or_are(number)} scheduled one by one: {_cause(unit, job)}."
    )
    return unit_finding(
        RULE,
        unit,
        message,
        advice=_advice(unit, job),
        evidence=(
            Evidence("asked for", requested, source),
            Evidence("pods without a group", str(number), ungrouped[0][0].meta.ref),
        ),
        since=first_creation(pod for pod, _ in ungrouped),
    )


def _find_ignored_request(unit: Unit, request: GangRequest) -> Finding | None:
    """Return a finding if the default scheduler places part of a gang that was never complete, and refuses the rest.

    A scheduler that knows the API binds no pod before all can be bound. Any scheduler places a member alone
    that replaces another one later.
    """
    loose = [pod for pod in unit.current if pod.ignores_group or not pod.group_name]
    pods = [pod for pod in loose if not request.mark or request.mark in pod.labels]
    if unit.memory.whole_at is not None or not _use_default_scheduler(pods):
        return None
    placed, wanted = [pod for pod in pods if pod.is_placed], unit.wanted
    if not placed:
        # In a gang of several units, pods of another unit may have the nodes.
        placed, wanted = (
            [pod for pod in unit.gang.pods if _is_placed_alone(pod, request)],
            unit.owner.desired,
        )
    refused = [pod for pod in unit.refused if pod in pods]
    if not placed or not refused:
        return None
    requester = request.asker or unit.owner.meta.ref
    return unit_finding(
        RULE,
        unit,
        f"{label(requester)} requests a gang ({request.api}), but {STOCK_SCHEDULER} places its pods one by one: "
        f"{len(placed)} of {wanted}.",
        evidence=(
            Evidence("asked for", f"a gang ({request.api})", requester),
            Evidence("spec.schedulerName", STOCK_SCHEDULER, placed[0].meta.ref),
            Evidence("pods refused alone", str(len(refused)), refused[0].meta.ref),
        ),
        since=first_creation(refused),
        named=False,
    )


def _ignored_gang(unit: Unit) -> Group | None:
    """Return the gang of another API that pods name and that their scheduler does not read."""
    named = {(pod.group_kind, pod.group_name) for pod in unit.current if pod.ignores_group}
    for kind_and_api, name in sorted(named):
        kind, _, api = kind_and_api.partition(".")
        group = unit.gang.objects_by_name.get((api, kind, name))
        if isinstance(group, Group) and group.policy is Policy.GANG:
            return group
    return None


def _find_ignored_group(unit: Unit, group: Group) -> Finding | None:
    """Return a finding if pods of the default scheduler name such a group.

    As above, the problem shows only if some members of a never complete gang have a node and others are
    refused.
    """
    pods = [pod for pod in unit.current if pod.ignores_group and pod.group_name == group.name]
    placed = [pod for pod in pods if pod.is_placed]
    refused = [pod for pod in unit.refused if pod in pods]
    if _was_complete(unit, group) or not (placed and refused):
        return None
    if not _use_default_scheduler(pods):
        return None
    return unit_finding(
        RULE,
        unit,
        f"{label_of_group(group.name)} requests a gang, but {STOCK_SCHEDULER} ignores it and "
        f"places its pods one by one: {len(placed)} of {unit.wanted}.",
        advice=(
            f"Give the pods the schedulerName of a scheduler that reads it ({ChangeMethod.RECREATE}).",
        ),
        evidence=(
            Evidence("asked for", f"a gang of {group.quorum}", group.meta.ref),
            Evidence("spec.schedulerName", STOCK_SCHEDULER, placed[0].meta.ref),
            Evidence("pods refused alone", str(len(refused)), refused[0].meta.ref),
        ),
        since=first_creation(refused),
    )


def _was_complete(unit: Unit, group: Group) -> bool:
    """Return whether the quorum of an ignored group has run.

    To the unit, which has no quorum then, the first pods are all of its pods until the next one is created.
    """
    memory = unit.memory
    if memory.whole_at is None or memory.whole_count is None:
        return memory.whole_at is not None
    return memory.whole_count >= (group.quorum or 0)


def _use_default_scheduler(pods: list[Pod]) -> bool:
    return all(pod.scheduler_name == STOCK_SCHEDULER for pod in pods)


def _is_placed_alone(pod: Pod, request: GangRequest) -> bool:
    is_in_request = not request.mark or request.mark in pod.labels
    is_loose = pod.ignores_group or not pod.group_name
    return is_in_request and is_loose and pod.is_live and pod.is_placed


def _requests_gang(unit: Unit, job: Owner) -> bool:
    requested = unit.gang.gang_requests.get(job.meta.ref.uid)
    is_requested = requested is not None and requested[0].policy == "gang"
    return bool(_template_group(unit, job)) or is_requested


def _template_group(unit: Unit, job: Owner) -> str:
    """Return the PodGroup that the template of the Job or of its role names."""
    role = unit.gang.roles.get(job.role_name)
    return job.group_name or (role.group_name if role is not None else "")


def _request_of(unit: Unit, job: Owner) -> tuple[str, ObjectRef]:
    """Return the requested gang and the object that requests it."""
    name = _template_group(unit, job)
    if name:
        return label_of_group(name), (job if job.group_name else unit.owner).meta.ref
    requested = unit.gang.gang_requests.get(job.meta.ref.uid)
    if requested is None:
        return "a gang", unit.owner.meta.ref
    request, requester = requested
    text = "a gang" if request.quorum is None else f"a gang of {request.quorum}"
    return text, request.asker or requester.meta.ref


def _cause(unit: Unit, job: Owner) -> str:
    if not unit.gang.cluster.gang_api_version:
        return "this cluster serves no PodGroups"
    if name := _template_group(unit, job):
        field = "schedulingGroup" if read_entry(name) is None else "workloadRef"
        return f"{field} was dropped on the way"
    return "no group was created for them"


def _advice(unit: Unit, job: Owner) -> tuple[str, ...]:
    """Return how the pods become a gang, or nothing if the cause of a dropped field is unknown.

    Feature gates and versions are those that serve PodGroups (k8s-gang-api.md §1.2, §1.3). A Job with a
    PodGroup of its own needs no controller that makes one.
    """
    template_group = _template_group(unit, job)
    recreate = f"re-create {label((job if job.meta.controller is None else unit.owner).meta.ref)}"
    if not unit.gang.cluster.gang_api_version:
        requirements = _GATES.get(unit.gang.cluster.kubernetes or (0, 0))
        if requirements is None:
            return ()
        gates, version = requirements
        listed = [*gates, *(() if template_group else ("WorkloadWithJob",))]
        noun = "gate" if len(listed) == 1 else "gates"
        return (
            f"Turn on the feature {noun} {names(listed)}, serve scheduling.k8s.io/{version} "
            f"(--runtime-config), and {recreate}.",
        )
    if template_group or unit.gang.cluster.gang_api_version == _WITHOUT_GROUPS:
        return ()
    return (
        f"Create a PodGroup, and {recreate} with its name as schedulingGroup in the pod template.",
    )


RULE = UnitRule(
    "not-ganged", Stage.FORMATION, "Not scheduled as a gang", 90, find, health=Health.DEGRADED
)
