"""A log of a simulated cluster: when each Job asked for accelerators, and when each pod had them.

It is what an operator would sum up by hand, so tests compare gangboard's accelerator-hours with it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from simulator.clock import Clock
from simulator.placement import requests_of
from simulator.resources import JOBS, PODS, Resource
from simulator.store import Key, Record, Store, Written

DEVICE = "nvidia.com/gpu"
_FINISHED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class LogLine:
    """The state of a Job or a pod from a time on."""

    at: datetime
    kind: str
    """`Job` or `Pod`."""
    namespace: str
    name: str
    job: str
    """Name of the Job, also for a pod."""
    devices: int
    """Devices that an unfinished Job asks for, or that an unfinished pod has on its node."""
    done: int = 0
    """Devices of a succeeded pod."""
    suspended: bool = False


class PlacementLog:
    """Writes a line for each change of a Job or a pod, from now on."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.lines: list[LogLine] = []
        self._clock = clock
        with store.lock:
            store.subscribe(self._note)

    def _note(self, resource: Resource, record: Record) -> None:
        """Add a line. The store's lock is held."""
        if resource not in (JOBS, PODS) or not isinstance(record.stored, Written):
            return
        obj, is_deleted = json.loads(record.stored.raw), record.type == "DELETED"
        line = _job_line if resource == JOBS else _pod_line
        self.lines.append(line(self._clock.now(), record.key, obj, is_deleted))


def _job_line(at: datetime, key: Key, job: dict, is_deleted: bool) -> LogLine:  # type: ignore[type-arg]  # any JSON
    spec = job["spec"]
    conditions = job.get("status", {}).get("conditions", [])
    is_over = any(
        condition["type"] in ("Complete", "Failed") and condition["status"] == "True"
        for condition in conditions
    )
    pods = spec.get("completions") or spec["parallelism"]
    devices = pods * requests_of({"spec": spec["template"]["spec"]}).get(DEVICE, 0)
    return LogLine(
        at,
        "Job",
        *key,
        key[1],
        0 if is_over or is_deleted else devices,
        suspended=bool(spec.get("suspend")),
    )


def _pod_line(at: datetime, key: Key, pod: dict, is_deleted: bool) -> LogLine:  # type: ignore[type-arg]  # any JSON
    phase, devices = pod.get("status", {}).get("phase"), requests_of(pod).get(DEVICE, 0)
    has_place = bool(pod["spec"].get("nodeName")) and phase not in _FINISHED and not is_deleted
    jobs = [item["name"] for item in pod["metadata"].get("ownerReferences", ())]
    return LogLine(
        at,
        "Pod",
        *key,
        jobs[0] if jobs else key[1],
        devices if has_place else 0,
        done=devices if phase == "Succeeded" else 0,
    )
