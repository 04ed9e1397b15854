"""Pods: members of gangs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import msgspec

from gangboard.decode.in_place_resize import (
    Allocation,
    WireResourceStatus,
    is_infeasible,
    placed_requests,
)
from gangboard.decode.jobs import DEFAULT_GRACE
from gangboard.decode.pod_claims import read_claims
from gangboard.decode.pod_constraints import WirePlacedSpec, read_pod_constraints
from gangboard.decode.podspec import NULL
from gangboard.decode.problems import raise_for_faults
from gangboard.decode.provisioning_requests import WireConsumer
from gangboard.decode.wire import (
    Int32,
    Wire,
    WireCondition,
    WireMeta,
    pick_condition,
    read_meta,
    read_text,
    read_time,
)
from gangboard.domain.api_resource import Resource
from gangboard.domain.group import GroupMark, QueueMark
from gangboard.domain.objects import Controller
from gangboard.domain.pod import STOCK_SCHEDULER, Container, Pod
from gangboard.domain.pod_claims import PodClaim
from gangboard.domain.pod_constraints import PodConstraints

_UNREAD = PodConstraints(undecidable=("a part of its spec that could not be read",))


class WirePodMeta(WireMeta):
    """`metadata` of a pod."""

    labels: msgspec.Raw = NULL
    # Not `annotations`: that would say that something acts on them (`Meta.annotated`).
    consumer: msgspec.Raw = msgspec.field(default=NULL, name="annotations")


class _WireReason(Wire):
    """`state.waiting`."""

    reason: str | None = None
    message: str | None = None


class _WireTerminated(Wire):
    """`state.terminated`."""

    exit_code: Int32 | None = None
    reason: str | None = None
    message: str | None = None


class _WireRunning(Wire):
    """`state.running`: that it is there is all that is read."""


class _WireState(Wire):
    """`state` and `lastState` of a container: at most one member is set."""

    waiting: _WireReason | None = None
    running: _WireRunning | None = None
    terminated: _WireTerminated | None = None


class WireContainerStatus(WireResourceStatus):
    """One entry of `containerStatuses` or `initContainerStatuses`."""

    ready: bool = False
    restart_count: Int32 = 0
    state: _WireState | None = None
    last_state: _WireState | None = None


class WirePodStatus(WireResourceStatus):
    """`status` of a pod.

    Its lists stay bytes until a model is built: most pods of a page are unchanged and are never
    built, and the lists are a fifth of the cost of a page.
    """

    phase: str | None = None
    conditions: msgspec.Raw = NULL
    nominated_node_name: str | None = None
    container_statuses: msgspec.Raw = NULL
    init_container_statuses: msgspec.Raw = NULL
    reason: str | None = None
    message: str | None = None
    start_time: str | None = None
    resource_claim_statuses: msgspec.Raw = NULL


class WirePod(Wire):
    """A pod as narrow as it is kept."""

    metadata: WirePodMeta
    spec: WirePlacedSpec | None = None
    status: WirePodStatus | None = None


_CONSUMER = msgspec.json.Decoder(WireConsumer | None)
_LABELS = msgspec.json.Decoder(dict[str, str | None] | None)
_CONDITIONS = msgspec.json.Decoder(list[WireCondition] | None)
_STATUSES = msgspec.json.Decoder(list[WireContainerStatus] | None)


_NO_QUEUES: Mapping[str, Sequence[QueueMark]] = {}


def _build(
    wire: WirePod,
    version: str,
    marks: Sequence[GroupMark] = (),
    placeholders: Sequence[str] = (),
    queues: Mapping[str, Sequence[QueueMark]] = _NO_QUEUES,
) -> Pod:
    spec, status = wire.spec or WirePlacedSpec(), wire.status or WirePodStatus()
    conditions = _CONDITIONS.decode(status.conditions)
    containers = _STATUSES.decode(status.container_statuses) or []
    initial = _STATUSES.decode(status.init_container_statuses) or []
    meta = read_meta(wire.metadata, "", "Pod", version)
    given = {one.name: one for one in (*initial, *containers)}
    allocation = Allocation(given, status, is_infeasible(conditions))
    requests, unread = placed_requests(spec, allocation)
    faults = list(unread.values())
    named = _Named(spec.group_name)
    scheduler = spec.scheduler_name or ""
    labels: dict[str, str] = {}
    request = ""
    claims: tuple[PodClaim, ...] = ()
    try:
        request = (_CONSUMER.decode(wire.metadata.consumer) or WireConsumer()).request
        labels = _texts(wire.metadata.labels)
        if marks:
            given_names = _names_given(labels, wire.metadata.consumer, marks)
            named = _group_named(spec.group_name, scheduler, given_names, marks)
        needs = read_pod_constraints(spec, meta.ref.namespace, requests)
        claims = read_claims(spec, status.resource_claim_statuses, meta.ref.name, needs)
    except (ValueError, RecursionError) as error:  # what msgspec raises for bad data
        needs = _UNREAD
        faults.append(f"what it asks of a node is left out: {error}")
    stop = spec.termination_grace_period_seconds
    pod = Pod(
        meta=meta,
        phase=status.phase or "",
        node=spec.node_name or "",
        nominated_node=status.nominated_node_name or "",
        scheduler_name=scheduler,
        priority=spec.priority,
        priority_class=spec.priority_class_name or "",
        gates=tuple(gate.name for gate in spec.scheduling_gates or ()),
        group_name=named.group,
        group_kind=named.kind,
        ignores_group=named.is_ignored,
        other_scheduler=named.other_scheduler,
        is_placeholder=bool(named.group) and _is_placeholder(wire.metadata.consumer, placeholders),
        queue=_queue_named(labels, wire.metadata.consumer, queues.get(scheduler, ())),
        scheduled=pick_condition(conditions, "PodScheduled"),
        ready=pick_condition(conditions, "Ready"),
        disruption=pick_condition(conditions, "DisruptionTarget"),
        set_up=pick_condition(conditions, "PodReadyToStartContainers"),
        containers=(
            *(_container(one, init=True) for one in initial),
            *(_container(one, init=False) for one in containers),
        ),
        requests=requests,
        grace_seconds=wire.metadata.deletion_grace_period_seconds,
        labels=labels,
        reason=status.reason or "",
        message=read_text(status.message),
        start_time=read_time(status.start_time),
        needs=needs,
        unread_requests=tuple(sorted(unread)),
        stays=_stays(meta.controller),
        preempts=spec.preemption_policy != "Never",
        deadline_seconds=spec.active_deadline_seconds,
        stop_seconds=DEFAULT_GRACE if stop is None else stop,
        provisioning_request=request,
        claims=claims,
    )
    return raise_for_faults(pod, faults)


def _texts(data: msgspec.Raw) -> dict[str, str]:
    """Return labels or annotations."""
    found = _LABELS.decode(data) or {}
    return {key: value for key, value in found.items() if value is not None}


class _Named(NamedTuple):
    """The group that a pod names, if any."""

    group: str = ""
    kind: str = ""
    """As in `Pod.group_kind`."""
    is_ignored: bool = False
    other_scheduler: bool = False


def _names_given(
    labels: Mapping[str, str], annotations: msgspec.Raw, marks: Sequence[GroupMark]
) -> list[tuple[str, GroupMark]]:
    """Return the names of groups that a pod gives, in the order of the marks.

    Most pods have none: their annotations are only searched for the keys.
    """
    raw = bytes(annotations)
    has_mark = any(mark.key.encode() in raw for mark in marks if not mark.is_label)
    texts = _texts(annotations) if has_mark else {}
    found = ((labels if mark.is_label else texts).get(mark.key, "") for mark in marks)
    return [(name, mark) for name, mark in zip(found, marks, strict=True) if name]


def _is_placeholder(annotations: msgspec.Raw, keys: Sequence[str]) -> bool:
    """Whether one of these annotations is true; as `_names_given` it is rarely more than a search."""
    raw = bytes(annotations)
    found = [key for key in keys if key.encode() in raw]
    texts = _texts(annotations) if found else {}
    return any(texts.get(key) == "true" for key in found)


def _queue_named(
    labels: Mapping[str, str], annotations: msgspec.Raw, marks: Sequence[QueueMark]
) -> str:
    """Return the queue that a pod names, by the first of these labels and annotations that it has."""
    if not marks:
        return ""
    raw = bytes(annotations)
    has_mark = any(mark.key.encode() in raw for mark in marks if not mark.is_label)
    texts = _texts(annotations) if has_mark else {}
    found = ((labels if mark.is_label else texts).get(mark.key, "") for mark in marks)
    return next(filter(None, found), "")


def _group_named(
    core: str, scheduler: str, given: Sequence[tuple[str, GroupMark]], marks: Sequence[GroupMark]
) -> _Named:
    """Return the group that counts: of several names the one that the pod's scheduler reads.

    `core` is what its own field names, which the schedulers of other APIs do not read. A name that its scheduler
    does not read is kept: whoever gave it wanted a gang.
    """
    is_other = any(scheduler in mark.schedulers for mark in marks)
    for name, mark in given:
        if is_other:
            is_read = scheduler in mark.schedulers
        elif mark.any_name:
            is_read = scheduler not in ("", STOCK_SCHEDULER)
        else:
            is_read = not (mark.schedulers or core)
        if is_read:
            return _Named(name, mark.kind, other_scheduler=is_other or mark.any_name)
    if core:
        return _Named(core, "", is_other, is_other)
    name, kind = (given[0][0], given[0][1].kind) if given else ("", "")
    return _Named(name, kind, bool(name), is_other)


def _stays(controller: Controller | None) -> bool:
    """Whether a pod comes back to its node whatever is done: made by a DaemonSet, or static.

    The pod that stands for a static one in the API has its node as controller.
    """
    return controller is not None and (controller.group, controller.kind) in (
        ("apps", "DaemonSet"),
        ("", "Node"),
    )


def _container(status: WireContainerStatus, init: bool) -> Container:
    state = status.state or _WireState()
    detail = state.waiting or state.terminated
    last = status.last_state.terminated if status.last_state else None
    return Container(
        name=status.name,
        init=init,
        ready=status.ready,
        restarts=status.restart_count,
        state=_state_word(state),
        reason=(detail and detail.reason) or "",
        message=read_text(detail.message if detail else None),
        exit_code=state.terminated.exit_code if state.terminated else None,
        last_reason=(last and last.reason) or "",
        last_exit_code=last.exit_code if last else None,
    )


def _state_word(state: _WireState) -> str:
    if state.waiting is not None:
        return "waiting"
    if state.running is not None:
        return "running"
    return "terminated" if state.terminated is not None else ""


POD = Resource(
    group="",
    plural="pods",
    kind="Pod",
    versions=("v1",),
    wire=WirePod,
    model=Pod,
    build=_build,
    needed=True,
)
"""How pods are read.

A malformed quantity keeps the pod, so that it is counted as the member it is, leaves that resource
out of its requests, and is said as a problem. So do its labels and what it asks of a node where
these cannot be read.
"""


def pod_resource(
    marks: Sequence[GroupMark],
    placeholders: Sequence[str] = (),
    queues: Mapping[str, Sequence[QueueMark]] = _NO_QUEUES,
) -> Resource:
    """Return how pods are read that name their groups by these labels and annotations.

    `placeholders` are those of `GroupingAPI`, `queues` its `queue_marks` by the name of a scheduler.
    """
    if not marks:
        return POD
    return replace(
        POD,
        build=partial(
            _build, marks=tuple(marks), placeholders=tuple(placeholders), queues=dict(queues)
        ),
        reads=(repr((sorted(marks), sorted(placeholders), sorted(queues.items()))),),
    )
