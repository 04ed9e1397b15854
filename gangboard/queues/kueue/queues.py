"""LocalQueue, ClusterQueue and Cohort of Kueue: quotas, their usage, and stopped queues.

A namespace reaches a ClusterQueue through a LocalQueue. The ClusterQueue has the quotas. A Cohort shares quotas between
its ClusterQueues, and need not exist as an object. Fields are those of v1beta2; v1beta1 has other names for three.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

import msgspec

from gangboard.decode.managed_fields import NO_ENTRIES, field_writer
from gangboard.decode.problems import raise_for_faults
from gangboard.decode.quantities import Quantity, ResourceListReader
from gangboard.decode.selectors import WireLabelSelector
from gangboard.decode.wire import Int32, Wire, WireCondition, WireMeta, pick_condition, read_meta
from gangboard.domain.api_resource import Resource
from gangboard.domain.objects import Condition, ObjectRef
from gangboard.domain.quota import (
    FairShare,
    Queue,
    QueueLevel,
    QueueName,
    QueueState,
    Quota,
)
from gangboard.domain.suspension import FieldWriter
from gangboard.domain.text import names, shorten
from gangboard.facts.copied_commands import merge_patch
from gangboard.queues.kueue.policy import WireChecks, WireFungibility, WirePreemption, read_policy

GROUP = "kueue.x-k8s.io"
VERSIONS = ("v1beta2", "v1beta1")
_LOCAL, _CLUSTER, _COHORT = "LocalQueue", "ClusterQueue", "Cohort"
_NOTHING, _DEFAULT_WEIGHT = Decimal(0), Decimal(1)
_NO_WEIGHT = 2**63 - 1
"""Share of a queue that borrows and has the weight 0 (fair_sharing.go)."""

# Conditions `Active` of v0.19.2 (pkg/cache/scheduler/clusterqueue.go).
_MISSING_REFERENCE = re.compile(
    r"references (missing|inactive) (ResourceFlavor|AdmissionCheck)\(s\): ([^\s:]+)"
)
_CANNOT_ADMIT = re.compile(r"^Can't admit new workloads[:;]? *(.*)", re.DOTALL)
_INACTIVE_CAUSES = {
    "Terminating": "it is being deleted",
    "ClusterQueueIsInactive": f"its {_CLUSTER} is inactive",
    "ClusterQueueDoesNotExist": f"its {_CLUSTER} does not exist",
}
STOP_FIELD, NOT_STOPPED = "spec.stopPolicy", "None"
"""Field of a queue that stops it, and the value with which it admits workloads."""
_DRAIN_POLICY = "HoldAndDrain"
_RESOURCES = {_LOCAL: f"localqueues.{GROUP}", _CLUSTER: f"clusterqueues.{GROUP}"}
"""Kind of a queue that can be stopped → its name in kubectl."""


class _WireQuota(Wire):
    name: str = ""
    nominal_quota: Quantity | None = None
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


class _WireFlavor(Wire):
    name: str = ""
    resources: list[_WireQuota] | None = None


class _WireResourceGroup(Wire):
    flavors: list[_WireFlavor] | None = None


class _WireAdmissionScope(Wire):
    admission_mode: str | None = None


class _WireVariants(Wire):
    """`spec.concurrentAdmissionPolicy`. Only its existence matters."""


class _WireFairSharing(Wire):
    weight: Quantity | None = None


class _WireSpec(Wire):
    """`spec` of a LocalQueue, ClusterQueue or Cohort."""

    resource_groups: list[_WireResourceGroup] | None = None
    cluster_queue: str | None = None
    cohort_name: str | None = None
    cohort: str | None = None
    """In v1beta1."""
    parent_name: str | None = None
    stop_policy: str | None = None
    queueing_strategy: str | None = None
    admission_scope: _WireAdmissionScope | None = None
    namespace_selector: WireLabelSelector | None = None
    admission_checks: list[str] | None = None
    """In v1beta1, beside the strategy."""
    admission_checks_strategy: WireChecks | None = None
    preemption: WirePreemption | None = None
    flavor_fungibility: WireFungibility | None = None
    concurrent_admission_policy: _WireVariants | None = None
    fair_sharing: _WireFairSharing | None = None


class _WireUsage(Wire):
    name: str = ""
    total: Quantity | None = None
    borrowed: Quantity | None = None


class _WireFlavorUsage(Wire):
    name: str = ""
    resources: list[_WireUsage] | None = None


class _WireEffectiveQuotas(Wire):
    resource_groups: list[_WireResourceGroup] | None = None


class _WireShare(Wire):
    weighted_share: int | None = None


class _WireStatus(Wire):
    conditions: list[WireCondition] | None = None
    effective_quotas: _WireEffectiveQuotas | None = None
    """Replaces `spec.resourceGroups` if it exists, even if it is empty. It comes with v0.20 and the gate
    DynamicQuotaOrchestration, and was not observed."""
    flavors_usage: list[_WireFlavorUsage] | None = None
    flavor_usage: list[_WireFlavorUsage] | None = None
    """`flavorsUsage` of a LocalQueue in v1beta1."""
    flavors_reservation: list[_WireFlavorUsage] | None = None
    fair_sharing: _WireShare | None = None
    pending_workloads: Int32 | None = None
    reserving_workloads: Int32 | None = None
    admitted_workloads: Int32 | None = None


class _WireQueueMeta(WireMeta):
    managed_fields: msgspec.Raw = NO_ENTRIES


class WireQueue(Wire):
    """The fields of a LocalQueue, ClusterQueue or Cohort that gangboard reads."""

    metadata: _WireQueueMeta
    spec: _WireSpec | None = None
    status: _WireStatus | None = None


def _build_local(wire: WireQueue, version: str) -> Queue:
    spec = wire.spec or _WireSpec()
    return _build(wire, version, _LOCAL, QueueLevel.ALIAS, _CLUSTER, spec.cluster_queue)


def _build_cluster(wire: WireQueue, version: str) -> Queue:
    spec = wire.spec or _WireSpec()
    cohort = spec.cohort_name or spec.cohort
    queue = _build(wire, version, _CLUSTER, QueueLevel.QUEUE, _COHORT, cohort)
    policy = read_policy(
        spec.namespace_selector,
        spec.admission_checks_strategy,
        spec.admission_checks,
        spec.preemption,
        spec.flavor_fungibility,
        is_by_variant=spec.concurrent_admission_policy is not None,
    )
    return replace(queue, policy=policy)


def _build_cohort(wire: WireQueue, version: str) -> Queue:
    spec = wire.spec or _WireSpec()
    queue = _build(wire, version, _COHORT, QueueLevel.SHARED, _COHORT, spec.parent_name)
    # A Cohort cannot be stopped, and its status has no conditions.
    return replace(queue, state=QueueState.ACTIVE)


def _build(
    wire: WireQueue, version: str, kind: str, level: QueueLevel, above: str, parent: str | None
) -> Queue:
    spec, status = wire.spec or _WireSpec(), wire.status or _WireStatus()
    amounts = ResourceListReader()
    overridden = status.effective_quotas
    groups = spec.resource_groups if overridden is None else overridden.resource_groups
    active = pick_condition(status.conditions, "Active")
    state, cause, advice = _state(f"{kind} {wire.metadata.name}", spec.stop_policy, active)
    is_stopped = state is QueueState.STOPPED
    scope = spec.admission_scope or _WireAdmissionScope()
    queue = Queue(
        meta=read_meta(wire.metadata, GROUP, kind, version),
        level=level,
        parent=QueueName(GROUP, above, "", parent) if parent else None,
        quotas=_quotas(groups, status, amounts),
        is_quota_overridden=overridden is not None,
        pending=status.pending_workloads,
        reserving=status.reserving_workloads,
        admitted=status.admitted_workloads,
        state=state,
        cause=cause,
        advice=advice,
        command=start_command(kind, wire.metadata.namespace, wire.metadata.name)
        if is_stopped
        else (),
        stop_setting=f"{STOP_FIELD} {shorten(spec.stop_policy or '')}" if is_stopped else "",
        stopped_by=_stop_writer(wire.metadata, active) if is_stopped else None,
        is_strict=spec.queueing_strategy == "StrictFIFO",
        is_by_usage=scope.admission_mode == "UsageBasedAdmissionFairSharing",
        # Kueue writes no share of a LocalQueue, although the field exists (localqueue_controller.go).
        share=None
        if kind == _LOCAL
        else _read_share(spec.fair_sharing, status.fair_sharing, amounts),
    )
    return raise_for_faults(queue, amounts.faults)


def _read_share(
    settings: _WireFairSharing | None, reported: _WireShare | None, amounts: ResourceListReader
) -> FairShare | None:
    """Return the share of a ClusterQueue or Cohort. None: Kueue reports none, because fair sharing is off.

    Kueue removes `status.fairSharing` if its configuration has no fair sharing (clusterqueue_controller.go).
    """
    if reported is None or reported.weighted_share is None:
        return None
    weight = amounts.read("weight", "fairSharing", (settings or _WireFairSharing()).weight)
    share = reported.weighted_share
    return FairShare(
        share if share < _NO_WEIGHT else None, _DEFAULT_WEIGHT if weight is None else weight
    )


def start_command(kind: str, namespace: str, name: str) -> tuple[str, ...]:
    """Return the arguments of the command that ends the stop of a queue, or empty as `merge_patch`."""
    ref = ObjectRef(GROUP, kind, namespace, name, "")
    return merge_patch(_RESOURCES.get(kind, ""), ref, {STOP_FIELD: NOT_STOPPED})


def _state(
    name: str, stop_policy: str | None, active: Condition | None
) -> tuple[QueueState, str, str]:
    """Return the state of a queue, its cause and the advice.

    The spec goes before the condition, because Kueue updates the condition later.
    """
    if stop_policy not in (None, "", NOT_STOPPED):
        effect = (
            "admitted workloads are evicted"
            if stop_policy == _DRAIN_POLICY
            else "admitted workloads keep running"
        )
        advice = f"Set {STOP_FIELD} of {name} to {NOT_STOPPED}."
        return QueueState.STOPPED, effect, advice
    if active is None:
        return QueueState.UNKNOWN, "", ""
    if not active.is_false:
        return QueueState.ACTIVE, "", ""
    return QueueState.INACTIVE, *_inactive_cause(name, active)


def _stop_writer(metadata: _WireQueueMeta, active: Condition | None) -> FieldWriter | None:
    """Return the last writer of `spec.stopPolicy`.

    Kueue makes the queue inactive at once. So the time is exact if the condition became False after it.
    """
    writer = field_writer(metadata.managed_fields, "/spec/stopPolicy")
    noticed_at = active.since if active is not None and active.is_false else None
    if writer is None or writer.at is None or noticed_at is None:
        return writer
    return replace(writer, is_exact=noticed_at >= writer.at)


def _inactive_cause(name: str, active: Condition) -> tuple[str, str]:
    if active.reason in _INACTIVE_CAUSES:
        return _INACTIVE_CAUSES[active.reason], ""
    missing = _MISSING_REFERENCE.search(active.message)
    if missing is None:
        # After a cycle of cohorts the condition may be False with "Can admit new workloads" (observed), which is no cause.
        match = _CANNOT_ADMIT.match(active.message)
        return shorten(match[1]).rstrip(".") if match is not None else "", ""
    state, kind, listed_names = missing.groups()
    reference = f"{kind} {names(listed_names.rstrip('.,').split(','))}"
    if state == "missing":
        return f"{reference} does not exist", f"Create {reference}, or remove it from {name}."
    return f"{reference} is not active", f"Check condition Active of {reference}."


def _quotas(
    groups: Iterable[_WireResourceGroup] | None, status: _WireStatus, amounts: ResourceListReader
) -> tuple[Quota, ...]:
    """Return the quotas in the order of the spec, then the usage without a quota."""
    quotas = {(quota.flavor, quota.resource): quota for quota in _read_quotas(groups, amounts)}
    usage = status.flavors_usage if status.flavors_usage is not None else status.flavor_usage
    for flavor, entry in _read_usage(usage):
        used = amounts.read("usage", entry.name, entry.total) or _NOTHING
        quotas[flavor, entry.name] = replace(_quota_of(quotas, flavor, entry.name), used=used)
    for flavor, entry in _read_usage(status.flavors_reservation):
        reserved = amounts.read("reservation", entry.name, entry.total) or _NOTHING
        borrowed = amounts.read("borrowed quota", entry.name, entry.borrowed) or _NOTHING
        quota = _quota_of(quotas, flavor, entry.name)
        quotas[flavor, entry.name] = replace(quota, reserved=reserved, borrowed=borrowed)
    return tuple(quotas.values())


def _read_quotas(
    groups: Iterable[_WireResourceGroup] | None, amounts: ResourceListReader
) -> Iterator[Quota]:
    for group in groups or ():
        for flavor in group.flavors or ():
            for entry in flavor.resources or ():
                yield Quota(
                    flavor.name,
                    entry.name,
                    amounts.read("nominal quota", entry.name, entry.nominal_quota),
                    amounts.read("borrowing limit", entry.name, entry.borrowing_limit),
                    amounts.read("lending limit", entry.name, entry.lending_limit),
                )


def _read_usage(flavors: Iterable[_WireFlavorUsage] | None) -> Iterator[tuple[str, _WireUsage]]:
    for flavor in flavors or ():
        for usage in flavor.resources or ():
            yield flavor.name, usage


def _quota_of(quotas: Mapping[tuple[str, str], Quota], flavor: str, resource: str) -> Quota:
    return quotas.get((flavor, resource)) or Quota(flavor, resource)


def _resource(plural: str, kind: str, build: Callable[[WireQueue, str], Queue]) -> Resource:
    return Resource(GROUP, plural, kind, VERSIONS, WireQueue, Queue, build)


QUEUE_RESOURCES = (
    _resource("localqueues", _LOCAL, _build_local),
    _resource("clusterqueues", _CLUSTER, _build_cluster),
    _resource("cohorts", _COHORT, _build_cohort),
)
