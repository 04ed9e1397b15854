"""Python calls and files of the verdict on a healthy JobSet."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import FrameType

import gangboard
from gangboard.diagnosis.engine import assess
from gangboard.domain.health import Health
from gangboard.domain.node import Node
from gangboard.domain.objects import Condition, Controller, Meta, ObjectRef
from gangboard.domain.owner import Owner, PodRequests, Role
from gangboard.domain.pod import Container, Pod
from gangboard.facts.build_gang import GangObjects, build_gang
from gangboard.facts.cluster_view import ClusterView
from gangboard.facts.gang import Gang

_PACKAGE = Path(gangboard.__file__).parent
_LEFT_OUT = ("domain", "facts", "placement", "rules")
"""Packages that are read for their own sake: values, readings of a gang, arithmetic, and one file per reason."""
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
_JOBS, _PODS_OF_A_JOB = 50, 4
_REQUESTS = {"cpu": Decimal(1)}
_TRUE_SINCE = NOW - timedelta(minutes=1)


def verdict_calls() -> int:
    """Return the number of Python calls of the verdict on a healthy JobSet of 50 Jobs with 4 pods each.

    `sys.setprofile` reports the calls: of functions, properties and steps of generators. The first verdict
    fills the caches of the process, so the second one is counted.
    """
    assess(healthy_jobset())
    gang = healthy_jobset()
    calls = 0

    def count_call(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count_call)
    try:
        verdict = assess(gang)
    finally:
        sys.setprofile(None)
    if verdict.finding.health is not Health.RUNNING:
        raise AssertionError(f"the measured gang is not healthy: {verdict.finding.message}")
    return calls


def verdict_files() -> int:
    """Return the number of files that the verdict on the same JobSet executes."""
    assess(healthy_jobset())
    gang = healthy_jobset()
    with executed_files() as files:
        assess(gang)
    return len(files)


def healthy_jobset() -> Gang:
    """Return a healthy JobSet of 50 Jobs with 4 pods each."""
    names = tuple(f"run-workers-{number}" for number in range(_JOBS))
    role = Role("workers", _JOBS, _PODS_OF_A_JOB, _REQUESTS, child_names=names)
    jobset = Owner(
        _meta("jobset.x-k8s.io", "JobSet", "run", "v1alpha2"),
        desired=_JOBS * _PODS_OF_A_JOB,
        roles=(role,),
        pod_requests=(PodRequests(_JOBS * _PODS_OF_A_JOB, _REQUESTS),),
    )
    jobs = [_job(name, jobset) for name in names]
    pods = [_pod(number, job) for job in jobs for number in range(_PODS_OF_A_JOB)]
    nodes = [Node(_meta("", "Node", job.meta.ref.name), _condition("Ready")) for job in jobs]
    cluster = ClusterView(
        nodes={node.meta.ref.name: node for node in nodes}, gang_api_version="v1beta1"
    )
    objects = GangObjects([*jobs, *pods], memory_since=NOW - timedelta(minutes=10))
    return build_gang(jobset, objects, cluster, NOW)


def _meta(
    group: str, kind: str, name: str, version: str = "v1", owner_object: Owner | None = None
) -> Meta:
    ref = ObjectRef(group, kind, "" if kind == "Node" else "team", name, f"uid-{kind}-{name}")
    owner = owner_object.meta.ref if owner_object is not None else None
    controller = Controller(owner.group, owner.kind, owner.name, owner.uid) if owner else None
    owners = (controller.uid,) if controller else ()
    return Meta(version, ref, "1", 1, NOW - timedelta(minutes=10), None, controller, owners)


def _condition(type_: str) -> Condition:
    return Condition(type_, "True", since=_TRUE_SINCE)


def _job(name: str, jobset: Owner) -> Owner:
    return Owner(
        _meta("batch", "Job", name, owner_object=jobset),
        desired=_PODS_OF_A_JOB,
        pod_requests=(PodRequests(_PODS_OF_A_JOB, _REQUESTS),),
        completions=_PODS_OF_A_JOB,
        parallelism=_PODS_OF_A_JOB,
        indexed=True,
        max_retries=6,
        active_pods=_PODS_OF_A_JOB,
        role_name="workers",
        attempt="0",
    )


def _pod(number: int, job: Owner) -> Pod:
    """Return a ready pod on the node of its Job."""
    name = job.meta.ref.name
    return Pod(
        _meta("", "Pod", f"{name}-{number}", owner_object=job),
        phase="Running",
        node=name,
        scheduler_name="default-scheduler",
        priority=0,
        scheduled=_condition("PodScheduled"),
        ready=_condition("Ready"),
        containers=(Container("worker", init=False, ready=True, restarts=0, state="running"),),
        requests=_REQUESTS,
        labels={"batch.kubernetes.io/job-completion-index": str(number)},
    )


@contextmanager
def executed_files() -> Iterator[set[str]]:
    """Yield a set that receives the executed files by their path in the package, except those of `_LEFT_OUT`."""
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event != "call" or not file.is_relative_to(_PACKAGE):
            return
        path = file.relative_to(_PACKAGE)
        if path.parts[0] not in _LEFT_OUT:
            files.add(path.as_posix())

    sys.setprofile(note)
    try:
        yield files
    finally:
        sys.setprofile(None)
