"""`not-ganged`: a gang was asked for, and pods exist that belong to no group.

Two ways lead here and neither leaves an event: the Job controller (1.37) falls back to plain
scheduling when it finds several Workloads or groups for a Job; and `schedulingGroup` of a template
is dropped where the gate of the API server is off or a CRD does not know the field
(k8s-gang-api.md §2.4, §5.1; real-owners.md §1.2).

A gang can also be asked for by another API (`GangRequest.api`, or a name of a group of it), whose groups mean
something to a scheduler that reads them. That the stock one placed one by one is seen: some hold a node, and it
refuses others.
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
"""What a cluster of that minor needs to schedule gangs: all off by default."""
_WITHOUT_GROUPS = "v1alpha1"
"""The version (1.35) in which groups are no objects."""


def find(unit: Unit) -> Finding | None:
    """Return a finding when pods of the unit are scheduled one by one against what was asked."""
    request = unit.owner.gang_request
    if request is not None and request.api:
        return _by_another_api(unit, request)
    ignored = _ignored_gang(unit)
    if ignored is not None:
        return _by_name_alone(unit, ignored)
    makers = {maker.meta.ref.uid: maker for maker in (*unit.jobs, unit.owner)}
    loose = [
        (pod, pod.meta.controller.uid)
        for pod in unit.current
        if not pod.group_name and pod.meta.controller is not None
    ]
    controllers = {uid for _, uid in loose} & makers.keys()
    asking = {uid: makers[uid] for uid in controllers if _asks(unit, makers[uid])}
    asked = [(pod, asking[uid]) for pod, uid in loose if uid in asking]
    if not asked:
        return None
    number = len(asked)
    _, job = asked[0]
    wish, source = _wish(unit, job)
    message = (
        f"{label(source)} asks for {wish}, but {count(number, 'pod')} "
        f"{is_or_are(number)} scheduled one by one: {_why(unit, job)}."
    )
    return unit_finding(
        RULE,
        unit,
        message,
        advice=_advice(unit, job),
        evidence=(
            Evidence("asked for", wish, source),
            Evidence("pods without a group", str(number), asked[0][0].meta.ref),
        ),
        since=first_creation(pod for pod, _ in asked),
    )


def _by_another_api(unit: Unit, request: GangRequest) -> Finding | None:
    """Return a finding where the stock scheduler places some of a gang that never was whole, and refuses others.

    A scheduler that knows the API binds nobody before all can be bound; a member that is replaced later is
    scheduled alone by any of them.
    """
    loose = [pod for pod in unit.current if pod.ignores_group or not pod.group_name]
    pods = [pod for pod in loose if not request.mark or request.mark in pod.labels]
    if unit.memory.whole_at is not None or not _are_of_stock_scheduler(pods):
        return None
    placed, wanted = [pod for pod in pods if pod.is_placed], unit.wanted
    if not placed:
        # A gang of several units: others of it have a node.
        placed, wanted = (
            [pod for pod in unit.gang.pods if _is_placed(pod, request)],
            unit.owner.desired,
        )
    refused = [pod for pod in unit.refused if pod in pods]
    if not placed or not refused:
        return None
    asker = request.asker or unit.owner.meta.ref
    return unit_finding(
        RULE,
        unit,
        f"{label(asker)} asks for a gang ({request.api}), but {STOCK_SCHEDULER} places its pods one by one: "
        f"{len(placed)} of {wanted}.",
        evidence=(
            Evidence("asked for", f"a gang ({request.api})", asker),
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


def _by_name_alone(unit: Unit, group: Group) -> Finding | None:
    """Return a finding where pods of the stock scheduler name such a group.

    As above it is told where that shows: some of a gang that never was whole hold a node, and others are refused.
    """
    pods = [pod for pod in unit.current if pod.ignores_group and pod.group_name == group.name]
    placed = [pod for pod in pods if pod.is_placed]
    refused = [pod for pod in unit.refused if pod in pods]
    if unit.memory.whole_at is not None or not (placed and refused):
        return None
    if not _are_of_stock_scheduler(pods):
        return None
    return unit_finding(
        RULE,
        unit,
        f"{label_of_group(group.name)} asks for a gang, and {STOCK_SCHEDULER}, which does not read it, "
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


def _are_of_stock_scheduler(pods: list[Pod]) -> bool:
    return all(pod.scheduler_name == STOCK_SCHEDULER for pod in pods)


def _is_placed(pod: Pod, request: GangRequest) -> bool:
    is_meant = not request.mark or request.mark in pod.labels
    is_loose = pod.ignores_group or not pod.group_name
    return is_meant and is_loose and pod.is_live and pod.is_placed


def _asks(unit: Unit, job: Owner) -> bool:
    requested = unit.gang.gang_requests.get(job.meta.ref.uid)
    is_requested = requested is not None and requested[0].policy == "gang"
    return bool(_template_group(unit, job)) or is_requested


def _template_group(unit: Unit, job: Owner) -> str:
    """Return the PodGroup that the template of the Job, or of its role, names."""
    role = unit.gang.roles.get(job.role_name)
    return job.group_name or (role.group_name if role is not None else "")


def _wish(unit: Unit, job: Owner) -> tuple[str, ObjectRef]:
    """Return what is asked for, and the object that asks for it."""
    name = _template_group(unit, job)
    if name:
        return label_of_group(name), (job if job.group_name else unit.owner).meta.ref
    requested = unit.gang.gang_requests.get(job.meta.ref.uid)
    if requested is None:
        return "a gang", unit.owner.meta.ref
    request, asking = requested
    wish = "a gang" if request.quorum is None else f"a gang of {request.quorum}"
    return wish, request.asker or asking.meta.ref


def _why(unit: Unit, job: Owner) -> str:
    if not unit.gang.cluster.gang_api_version:
        return "this cluster serves no PodGroups"
    if name := _template_group(unit, job):
        field = "schedulingGroup" if read_entry(name) is None else "workloadRef"
        return f"{field} was dropped on the way"
    return "no group was made for them"


def _advice(unit: Unit, job: Owner) -> tuple[str, ...]:
    """Return how it becomes a gang. Why a field was dropped is not known, so nothing is said then.

    Gates and versions as they serve PodGroups (k8s-gang-api.md §1.2, §1.3). A Job that brings its
    PodGroup along needs no controller to make one.
    """
    brought = _template_group(unit, job)
    again = f"re-create {label((job if job.meta.controller is None else unit.owner).meta.ref)}"
    if not unit.gang.cluster.gang_api_version:
        needed = _GATES.get(unit.gang.cluster.kubernetes or (0, 0))
        if needed is None:
            return ()
        gates, version = needed
        listed = [*gates, *(() if brought else ("WorkloadWithJob",))]
        noun = "gate" if len(listed) == 1 else "gates"
        return (
            f"Turn on the feature {noun} {names(listed)}, serve scheduling.k8s.io/{version} "
            f"(--runtime-config), and {again}.",
        )
    if brought or unit.gang.cluster.gang_api_version == _WITHOUT_GROUPS:
        return ()
    return (
        f"Create a PodGroup, and {again} with its name as schedulingGroup in the pod template.",
    )


RULE = UnitRule(
    "not-ganged", Stage.FORMATION, "Not scheduled as a gang", 90, find, health=Health.DEGRADED
)
