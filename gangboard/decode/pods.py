"""Decoder of pods, the members of gangs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import msgspec

from gangboard.decode.in_place_resize import (
    ResizeStatus,
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
    # The attribute must not be named `annotations`, because `Meta.annotated` checks for that name.
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
    """`state.running`, of which only the presence is read."""


class _WireState(Wire):
    """`state` or `lastState` of a container, with at most one member set."""

    waiting: _WireReason | None = None
    running: _WireRunning | None = None
    terminated: _WireTerminated | None = None


class WireContainerStatus(WireResourceStatus):
    """Entry of `containerStatuses` or `initContainerStatuses`."""

    ready: bool = False
    restart_count: Int32 = 0
    state: _WireState | None = None
    last_state: _WireState | None = None


class WirePodStatus(WireResourceStatus):
    """`status` of a pod.

    Its lists stay bytes until a model is built. Most pods of a page are unchanged and never built, and the lists are a
    fifth of the cost of a page.
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
    """A pod."""

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
    statuses = {container.name: container for container in (*initial, *containers)}
    resize = ResizeStatus(statuses, status, is_infeasible(conditions))
    requests, unread = placed_requests(spec, resize)
    faults = list(unread.values())
    named = _GroupReference(spec.group_name)
    scheduler = spec.scheduler_name or ""
    labels: dict[str, str] = {}
    request = ""
    claims: tuple[PodClaim, ...] = ()
    try:
        request = (_CONSUMER.decode(wire.metadata.consumer) or WireConsumer()).request
        labels = _texts(wire.metadata.labels)
        if marks:
            candidates = _group_names(labels, wire.metadata.consumer, marks)
            named = _effective_group(spec.group_name, scheduler, candidates, marks)
        constraints = read_pod_constraints(spec, meta.ref.namespace, requests)
        claims = read_claims(spec, status.resource_claim_statuses, meta.ref.name, constraints)
    except (ValueError, RecursionError) as error:  # msgspec raises both for bad data
        constraints = _UNREAD
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
        queue=_queue_name(labels, wire.metadata.consumer, queues.get(scheduler, ())),
        scheduled=pick_condition(conditions, "PodScheduled"),
        ready=pick_condition(conditions, "Ready"),
        disruption=pick_condition(conditions, "DisruptionTarget"),
        set_up=pick_condition(conditions, "PodReadyToStartContainers"),
        containers=(
            *(_container(container, init=True) for container in initial),
            *(_container(container, init=False) for container in containers),
        ),
        requests=requests,
        grace_seconds=wire.metadata.deletion_grace_period_seconds,
        labels=labels,
        reason=status.reason or "",
        message=read_text(status.message),
        start_time=read_time(status.start_time),
        needs=constraints,
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
    """Decode labels or annotations."""
    texts = _LABELS.decode(data) or {}
    return {key: value for key, value in texts.items() if value is not None}


class _GroupReference(NamedTuple):
    """Group that a pod names, if any."""

    group: str = ""
    kind: str = ""
    """Value of `Pod.group_kind`."""
    is_ignored: bool = False
    other_scheduler: bool = False


def _group_names(
    labels: Mapping[str, str], annotations: msgspec.Raw, marks: Sequence[GroupMark]
) -> list[tuple[str, GroupMark]]:
    """Return the group names in the labels and annotations of a pod, in the order of the marks.

    Most pods have none, so the annotations are searched for the keys before they are decoded.
    """
    raw = bytes(annotations)
    has_mark = any(mark.key.encode() in raw for mark in marks if not mark.is_label)
    texts = _texts(annotations) if has_mark else {}
    names = ((labels if mark.is_label else texts).get(mark.key, "") for mark in marks)
    return [(name, mark) for name, mark in zip(names, marks, strict=True) if name]


def _is_placeholder(annotations: msgspec.Raw, keys: Sequence[str]) -> bool:
    """Return whether one of these annotations is true. They are decoded only if a key occurs in them."""
    raw = bytes(annotations)
    present = [key for key in keys if key.encode() in raw]
    texts = _texts(annotations) if present else {}
    return any(texts.get(key) == "true" for key in present)


def _queue_name(
    labels: Mapping[str, str], annotations: msgspec.Raw, marks: Sequence[QueueMark]
) -> str:
    """Return the queue in the first of these labels and annotations that a pod has, or an empty text."""
    if not marks:
        return ""
    raw = bytes(annotations)
    has_mark = any(mark.key.encode() in raw for mark in marks if not mark.is_label)
    texts = _texts(annotations) if has_mark else {}
    names = ((labels if mark.is_label else texts).get(mark.key, "") for mark in marks)
    return next(filter(None, names), "")


def _effective_group(
    core: str,
    scheduler: str,
    candidates: Sequence[tuple[str, GroupMark]],
    marks: Sequence[GroupMark],
) -> _GroupReference:
    """Return the group that the pod's scheduler reads, if the pod names several.

    `core` is the group in the pod's own field, which the schedulers of other APIs do not read. A name that the
    scheduler does not read is stored as ignored, because its author wanted a gang.
    """
    is_other = any(scheduler in mark.schedulers for mark in marks)
    for name, mark in candidates:
        if is_other:
            is_read = scheduler in mark.schedulers
        elif mark.any_name:
            is_read = scheduler not in ("", STOCK_SCHEDULER)
        else:
            is_read = not (mark.schedulers or core)
        if is_read:
            return _GroupReference(name, mark.kind, other_scheduler=is_other or mark.any_name)
    if core:
        return _GroupReference(core, "", is_other, is_other)
    name, kind = (candidates[0][0], candidates[0][1].kind) if candidates else ("", "")
    return _GroupReference(name, kind, bool(name), is_other)


def _stays(controller: Controller | None) -> bool:
    """Return whether a pod always returns to its node, as pods of a DaemonSet and static pods do.

    The mirror pod of a static pod has its node as controller.
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
"""Resource for pods.

A pod with a malformed quantity still counts as a member. Its requests omit that resource, and the decoder reports a
problem. The same applies to malformed labels and constraints.
"""


def pod_resource(
    marks: Sequence[GroupMark],
    placeholders: Sequence[str] = (),
    queues: Mapping[str, Sequence[QueueMark]] = _NO_QUEUES,
) -> Resource:
    """Return the resource for pods that name their groups with these labels and annotations.

    `placeholders` are those of `GroupingAPI`, and `queues` its `queue_marks` by scheduler name.
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
