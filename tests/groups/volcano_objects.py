"""PodGroups and queues of Volcano, and their verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gangboard.domain.group import Group
from gangboard.domain.health import Health
from gangboard.domain.pod import Pod
from gangboard.domain.quota import Queue
from gangboard.groups.volcano import Volcano
from gangboard.queues.volcano import VolcanoQueues
from tests.decode.reading import Json, model
from tests.domain_objects import ago
from tests.groups.other_schedulers import member, verdict_of

(PODGROUP,) = Volcano.resources
# As the gang plugin writes it (gang.go, FitError of job_info.go, v1.14.1).
REFUSED = (
    "2/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 3 minAvailable; Pending: 1 "
    "Schedulable, 2 Unschedulable. Origin reason is ring-worker-1: 0/1 nodes are unavailable: 1 "
    "Insufficient cpu."
)


def condition(type_: str, since: str, message: str = "") -> Json:
    reason = "NotEnoughResources" if message else "tasks in gang are ready to be scheduled"
    time = f"2026-11-21T11:{since}:00Z"
    return {"type": type_, "status": "True", "reason": reason, "message": message,
            "transitionID": "t", "lastTransitionTime": time}  # fmt: skip


def ring(phase: str = "Inqueue", *conditions: Json, **spec: Any) -> Group:
    metadata = {"name": "ring", "namespace": "team-a", "uid": "r1", "resourceVersion": "4",
                "creationTimestamp": "2026-11-21T11:00:00Z"}  # fmt: skip
    status = {"phase": phase, "conditions": list(conditions)} if phase else {}
    obj = {"metadata": metadata, "spec": {"minMember": 3, "queue": "research", **spec}}
    result: Group = model(PODGROUP, {**obj, "status": status})
    return result


def queue(state: str = "Open", name: str = "research", **capability: str) -> Queue:
    (resource,) = VolcanoQueues.resources
    obj = {"metadata": {"name": name, "uid": "q1", "resourceVersion": "1"},
           "spec": {"capability": capability}, "status": {"state": state}}  # fmt: skip
    result: Queue = model(resource, obj)
    return result


def members(group: Group, number: int = 3, **fields: Any) -> list[Pod]:
    return [member(group, f"p{n}", "volcano", created_at=ago(300), **fields) for n in range(number)]


def finding_summary(
    group: Group, *rest: Any, pods: Sequence[Pod] | None = None, **known: Any
) -> tuple[str, Health, str]:
    pods = members(group) if pods is None else pods
    result = verdict_of(group, *pods, *rest, **known).finding
    return result.code, result.health, result.message
