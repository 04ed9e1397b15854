"""A JobSet with its child Jobs, stored as the poll does: what buttons and requests stand on."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from gangboard.domain.hold import Hold
from gangboard.domain.objects import Controller, Meta
from gangboard.domain.owner import Owner, Role
from gangboard.domain.verdict import JobState, Scheduling
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster, Gang
from tests.domain_objects import a_meta
from tests.factories import NOW, make_gang, make_resource, store_object

JOBSETS, JOBS, HOLDS = "jobsets.jobset.x-k8s.io", "jobs.batch", "holds.gangboard.dev"
GENERATION = 3
"""The generation of every child Job."""


def _meta(group: str, kind: str, name: str, uid: str, **fields: Any) -> Meta:
    values = {"generation": GENERATION, "created_at": NOW - timedelta(hours=3), **fields}
    return a_meta(group, kind, name, uid=uid, **values)


def make_jobset(
    cluster: Cluster,
    name: str = "llama",
    *,
    namespace: str = "research",
    jobs: int = 3,
    now: datetime = NOW,
    suspended: frozenset[str] | set[str] = frozenset(),
    nodes: dict[str, tuple[str, ...]] | None = None,
    owner: dict[str, Any] | None = None,
    **columns: Any,
) -> Gang:
    """Store a running JobSet of `jobs` workers with two pods each, and its gang.

    Job `{name}-workers-{i}` has uid `{uid}-job-{i}`; `nodes` says where its pods are; `owner` are fields of the JobSet.
    """
    uid = f"{cluster.name}-{namespace}-{name}"
    names = [f"{name}-workers-{index}" for index in range(jobs)]
    role = Role("workers", replicas=jobs, pods=2, child_names=tuple(names))
    store_object(
        cluster,
        JOBSETS,
        Owner(
            meta=_meta(
                "jobset.x-k8s.io", "JobSet", name, uid, version="v1alpha2", namespace=namespace
            ),
            desired=2 * jobs,
            roles=(role,),
            **(owner or {}),
        ),
    )
    above = Controller("jobset.x-k8s.io", "JobSet", name, uid)
    states = []
    for index, job in enumerate(names):
        child = make_job_object(job, f"{uid}-job-{index}", above, namespace, job in suspended)
        store_object(cluster, JOBS, child)
        states.append(_state(child, (nodes or {}).get(job, ())))
    values = {
        "health": "running",
        "stage": "run",
        "code": "running",
        "desired": 2 * jobs,
        "generation": GENERATION,
        "detail": Detail(jobs=tuple(states)),
    }
    return make_gang(cluster, name, now=now, uid=uid, namespace=namespace, **{**values, **columns})


def make_job_object(
    name: str, uid: str, above: Controller, namespace: str = "research", suspended: bool = False
) -> Owner:
    """Return a child Job of two pods."""
    return Owner(
        meta=_meta("batch", "Job", name, uid, namespace=namespace, of=above),
        suspended=suspended,
        desired=2,
        role_name="workers",
        completions=2,
        parallelism=2,
        indexed=True,
    )


def _state(job: Owner, nodes: tuple[str, ...]) -> JobState:
    return JobState(
        ref=job.meta.ref,
        generation=job.meta.generation,
        part="workers",
        suspended=job.suspended,
        held=False,
        finished="",
        desired=2,
        created=0 if job.suspended else 2,
        ready=0 if job.suspended else 2,
        nodes=nodes,
        restarts=0,
        scheduling=Scheduling("gang", "as a gang", "The Job controller made its PodGroup."),
    )


def make_hold(cluster: Cluster, gang: Gang, job: str, **fields: Any) -> Hold:
    """Store a Hold on one Job of a JobSet; its owner reference is not that of a controller."""
    values: dict[str, Any] = {
        "job_name": job,
        "owner_uid": gang.uid,
        "by": "olga",
        "reason": "gpu-07 throws ECC errors",
        "action": "0a1",
    }
    meta = _meta(
        "gangboard.dev",
        "Hold",
        f"hold-{job}",
        f"hold-uid-{cluster.name}-{job}",
        version="v1alpha1",
        namespace=gang.namespace,
        created_at=NOW - timedelta(minutes=20),
        owner_uids=(gang.uid,),
    )
    hold = Hold(meta=meta, **{**values, **fields})
    store_object(cluster, HOLDS, hold)
    return hold


def make_readable(cluster: Cluster, *resources: str) -> None:
    """Mark JobSets, Jobs and the named resources as readable."""
    for resource, version in (
        (JOBSETS, "v1alpha2"),
        (JOBS, "v1"),
        *((item, "v1") for item in resources),
    ):
        make_resource(cluster, resource, version=version)
